/*
 * An allocator that plays: it hands out slots of segments, on two devices, keeps blocks waiting,
 * gives segments back, and writes a history. The hook's events go to the state at once, the history
 * in portions; a flush may come between any two. At the end every row must say what the player
 * knows.
 */
#include <stdlib.h>
#include <string.h>

#include "feed.h"
#include "state_types.h"
#include "test.h"

enum { DEVICES = 2, SEGMENTS = 6, SLOTS = 8, STREAMS = 2, MAX = 20000 };
#define SLOT ((uint64_t)0x1000)

struct life { /* of a block */
    int64_t seq, requested;
    int segment;            /* index into segments */
    int64_t idle;           /* seq of the row, 0 = it never waited */
    uint64_t idle_ns;       /* monotonic */
    bool gone, told, waits; /* told: its entry was sent */
};

struct taken { /* a segment */
    int64_t seq, free_seq;
    uint64_t address, slots;
    uint64_t ns, free_ns; /* monotonic */
    int stream;
    bool told;
};

static struct player {
    struct life lives[MAX];
    struct taken segments[MAX];
    int life_count, segment_count;
    int at[DEVICES][SEGMENTS];          /* segment in the place, -1 = none */
    int slot[DEVICES][SEGMENTS][SLOTS]; /* life in the slot, -1 = free */
    struct event log[DEVICES][MAX];     /* entries */
    int logged[DEVICES], sent[DEVICES];
    /* What the next event of the hook will be the seq of: 0 = nothing. */
    int64_t *open[DEVICES][MAX];
    int open_count[DEVICES];
} * p;

static struct feed feed;
static struct rows rows;
static uint32_t heaps[DEVICES][STREAMS];
static uint64_t seed;

static uint64_t pick(uint64_t n)
{
    return test_random(&seed) % n;
}

static void write_log(int device, enum history_action action, uint64_t address, uint64_t size)
{
    feed.now += 1 + pick(3);
    REQUIRE(p->logged[device] < MAX);
    p->log[device][p->logged[device]++] = (struct event){.kind = EVENT_HISTORY,
                                                         .heap = heaps[device][0] & 0xffffff,
                                                         .addr = address,
                                                         .size = size,
                                                         .a = feed.now,
                                                         .b = action};
}

static void at_next(int device, int64_t *seq)
{
    p->open[device][p->open_count[device]++] = seq;
}

static int64_t hook(int device, int stream, struct event event)
{
    event.heap = heaps[device][stream] & 0xffffff;
    event.flags = EVENT_F_TOTALS & 0xff;
    event.a = 0;
    event.b = 1 << 30;
    int64_t seq = feed_event(&feed, event);
    for (int i = 0; i < p->open_count[device]; i++)
        *p->open[device][i] = seq;
    p->open_count[device] = 0;
    return seq;
}

static uint64_t place_address(int device, int place)
{
    return 0x7f0000000000ull + (uint64_t)device * 0x100000 + (uint64_t)place * SLOTS * SLOT;
}

/* ---- what an allocator does ---- */

static void end_waits(int device)
{
    for (int place = 0; place < SEGMENTS; place++)
        for (int slot = 0; slot < SLOTS; slot++) {
            int at = p->slot[device][place][slot];
            if (at < 0 || !p->lives[at].waits || pick(3))
                continue;
            struct life *life = &p->lives[at];
            uint64_t address = place_address(device, place) + (uint64_t)slot * SLOT;
            /* With nothing in between nobody can tell that it waited. */
            const struct event *last = &p->log[device][p->logged[device] - 1];
            bool seen = last->b != HISTORY_FREE || last->addr != address;
            write_log(device, HISTORY_IDLE, address, (uint64_t)life->requested);
            life->waits = false;
            life->idle_ns = feed.now;
            if (seen)
                at_next(device, &life->idle);
            p->slot[device][place][slot] = -1;
        }
}

static void take_segment(int device, int place, int stream)
{
    struct taken *segment = &p->segments[p->segment_count];
    *segment = (struct taken){
        .address = place_address(device, place), .slots = 1 + pick(SLOTS), .stream = stream};
    write_log(device, HISTORY_SEGMENT_ALLOC, segment->address, segment->slots * SLOT);
    segment->ns = feed.now;
    at_next(device, &segment->seq);
    p->at[device][place] = p->segment_count++;
}

static void give_segment(int device, int place)
{
    if (p->at[device][place] < 0)
        return;
    struct taken *segment = &p->segments[p->at[device][place]];
    for (uint64_t slot = 0; slot < segment->slots; slot++)
        if (p->slot[device][place][slot] >= 0)
            return;
    write_log(device, HISTORY_SEGMENT_FREE, segment->address, segment->slots * SLOT);
    segment->free_ns = feed.now;
    at_next(device, &segment->free_seq);
    p->at[device][place] = -1;
}

static void hand_out(int device)
{
    int place = (int)pick(SEGMENTS);
    end_waits(device);
    if (p->at[device][place] < 0)
        take_segment(device, place, (int)pick(STREAMS));
    struct taken *segment = &p->segments[p->at[device][place]];
    int slot = (int)pick(segment->slots);
    if (p->slot[device][place][slot] >= 0 && segment->seq)
        return; /* taken: what was written so far happened before another event */
    while (p->slot[device][place][slot] >= 0)
        slot = (int)pick(segment->slots);
    struct life *life = &p->lives[p->life_count];
    uint64_t address = segment->address + (uint64_t)slot * SLOT;
    *life = (struct life){.requested = 1 + (int64_t)pick(SLOT), .segment = p->at[device][place]};
    write_log(device, HISTORY_ALLOC, address, (uint64_t)life->requested);
    life->seq = hook(device, segment->stream,
                     (struct event){.kind = EVENT_BLOCK_ALLOC, .addr = address, .size = SLOT});
    p->slot[device][place][slot] = p->life_count++;
}

static void give_back(int device)
{
    int place = (int)pick(SEGMENTS), slot = (int)pick(SLOTS), at = p->slot[device][place][slot];
    if (at < 0 || p->lives[at].gone)
        return;
    struct life *life = &p->lives[at];
    uint64_t address = place_address(device, place) + (uint64_t)slot * SLOT;
    life->gone = true;
    write_log(device, HISTORY_FREE, address, (uint64_t)life->requested);
    if (pick(3) == 0) {
        life->waits = true;
    } else {
        write_log(device, HISTORY_IDLE, address, (uint64_t)life->requested);
        p->slot[device][place][slot] = -1;
    }
    hook(device, 0, (struct event){.kind = EVENT_BLOCK_FREE, .addr = address});
}

/* ---- the history goes out ---- */

static void send_some(int device, uint64_t most)
{
    uint64_t left = (uint64_t)(p->logged[device] - p->sent[device]);
    uint64_t count = most < left ? most : left;
    for (uint64_t i = 0; i < count; i++)
        feed_event(&feed, p->log[device][p->sent[device]++]);
}

static void play(int events)
{
    for (int i = 0; i < events; i++) {
        int device = (int)pick(DEVICES);
        uint64_t what = pick(100);
        if (what < (i / 200 % 2 ? 10u : 55u)) /* the heap fills, then empties */
            hand_out(device);
        else if (what < 85)
            give_back(device);
        else if (what < 92)
            give_segment(device, (int)pick(SEGMENTS));
        else if (what < 97)
            send_some(device, pick(80));
        else
            feed_flush(&feed);
    }
    for (int device = 0; device < DEVICES; device++) {
        while (p->open_count[device]) /* what is open ends with an event of the hook */
            hand_out(device);
        send_some(device, MAX);
    }
}

/* ---- what the rows say ---- */

static int64_t run_ns(uint64_t ns)
{
    return (int64_t)(ns - FEED_START);
}

static void check_lives(void)
{
    size_t idle = 0;
    for (int i = 0; i < p->life_count; i++) {
        const struct life *life = &p->lives[i];
        const struct batch_alloc *row = rows_alloc(&rows, life->seq);
        REQUIRE(row != NULL);
        CHECK_INT(row->requested, life->requested);
        CHECK_INT(row->segment, p->segments[life->segment].seq);
        if (!life->idle)
            continue;
        const struct row *found = rows_find(&rows, SCH_IDLE, 1, &life->seq);
        REQUIRE(found != NULL);
        CHECK_INT(found->at[1], life->idle);
        CHECK_INT(found->at[2], run_ns(life->idle_ns));
        idle++;
    }
    CHECK_INT(rows.tables[SCH_IDLE].count, idle);
    CHECK(idle > 20);
}

static void check_segments(void)
{
    int gone = 0;
    CHECK_INT(rows.tables[SCH_SEGMENT].count, p->segment_count);
    for (int i = 0; i < p->segment_count; i++) {
        const struct taken *segment = &p->segments[i];
        const struct row *row = rows_find(&rows, SCH_SEGMENT, 1, &segment->seq);
        REQUIRE(row != NULL);
        const struct row *heap = rows_find(&rows, SCH_HEAP, 1, (const int64_t[]){row->at[1]});
        REQUIRE(heap != NULL);
        CHECK_INT(heap->at[3], segment->stream ? 35 : 0);
        CHECK_INT(row->at[2], segment->address);
        CHECK_INT(row->at[3], segment->slots * SLOT);
        CHECK_INT(row->at[4], run_ns(segment->ns));
        CHECK_INT(row->at[5],
                  segment->free_seq ? (int64_t)(segment->free_ns - segment->ns) : ROW_NULL);
        CHECK_INT(row->at[6], segment->free_seq ? segment->free_seq : ROW_NULL);
        gone += segment->free_seq > 0;
    }
    CHECK(gone > 5);
}

static void run(uint64_t first_seed, int events)
{
    seed = first_seed;
    p = calloc(1, sizeof *p);
    memset(p->at, 0xff, sizeof p->at);
    memset(p->slot, 0xff, sizeof p->slot);
    feed_begin(&feed, NULL, &rows);
    uint32_t name = feed_string(&feed, "history=1");
    feed_event(&feed, (struct event){.kind = EVENT_MARK, .flags = EVENT_F_SETTING, .name = name});
    for (int device = 0; device < DEVICES; device++)
        for (int stream = 0; stream < STREAMS; stream++)
            heaps[device][stream] = feed_heap(&feed, DEVICE_CUDA, device, stream ? 35 : 0);
    play(events);
    feed_end(&feed, true);
    CHECK_INT(rows_anomalies(&rows, "history without event"), 0);
    check_lives();
    check_segments();
    rows_clear(&rows);
    free(p);
}

TEST(every_row_says_what_the_allocator_knows)
{
    for (uint64_t i = 1; i <= 20; i++)
        run(i, 3000);
}

TEST_MAIN(TEST_CASE(every_row_says_what_the_allocator_knows))
