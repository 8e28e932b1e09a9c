/* The heap state against a model that is slow and plain (state_model.h), in random runs. */
#include <stdlib.h>
#include <string.h>

#include "feed.h"
#include "state_model.h"
#include "test.h"

static struct feed feeds[PROCESSES];
static uint32_t heaps[PROCESSES][HEAPS], names[PROCESSES][NAMES];
static uint64_t seed, clock_now; /* one clock for all processes */

static uint64_t pick(uint64_t n)
{
    return test_random(&seed) % n;
}
/* ---- one random event into both ---- */

static int64_t run_ns(int process)
{
    return (int64_t)(feeds[process].now - FEED_START);
}

static int64_t innermost(int process)
{
    return model_here(process) ? model_here(process)->begin_seq : 0;
}

static uint64_t some_address(void)
{
    return BASE + pick(PAGES) * PAGE;
}

static int64_t feed_heap_event(int p, int heap, unsigned kind, unsigned flags, uint64_t address,
                               int64_t size)
{
    int64_t seq = feed_event(&feeds[p], (struct event){.kind = kind & 0xff,
                                                       .flags = flags & 0xff,
                                                       .heap = heaps[p][heap] & 0xffffff,
                                                       .addr = address,
                                                       .size = (uint64_t)size});
    model_reach(p, seq, innermost(p));
    return seq;
}

static void random_free(int p, int heap, uint64_t address)
{
    int device = device_of_heap[heap];
    struct m_block *b = model_living(p, device, address);
    bool waits = pick(4) == 0;
    int64_t seq = feed_heap_event(p, heap, EVENT_BLOCK_FREE, waits ? EVENT_F_WAITS : 0, address, 0);
    m->unknown_frees += !model_end(p, device, address, seq, run_ns(p));
    if (b && waits)
        b->waits = m->waits[p][device] = true;
}

static void random_idle(int p)
{
    int heap = (int)pick(HEAPS);
    uint64_t address = some_address();
    for (int tries = 0; tries < 50 && !model_waiting(p, device_of_heap[heap], address); tries++)
        address = some_address();
    int64_t seq = feed_heap_event(p, heap, EVENT_BLOCK_IDLE, 0, address, 0);
    m->unknown_idles += !model_idle(p, device_of_heap[heap], address, seq, run_ns(p));
}

static void random_segment(int p)
{
    int heap = (int)pick(HEAPS), device = device_of_heap[heap];
    uint64_t address = BASE + pick(PAGES / SEGMENT_PAGES) * SEGMENT_PAGES * PAGE;
    int at = model_segment(p, device, address);
    bool gives = at >= 0 ? pick(20) != 0 : pick(20) == 0;
    int64_t size = gives ? 0 : (int64_t)(pick(SEGMENT_PAGES) + 1) * PAGE;
    int64_t seq = feed_heap_event(p, heap, gives ? EVENT_SEGMENT_FREE : EVENT_SEGMENT_ALLOC, 0,
                                  address, size);
    if (at >= 0) {
        m->segments[at].free_seq = seq;
        m->segments[at].free_ns = run_ns(p);
    }
    m->unknown_segments += gives && at < 0;
    m->segments_twice += !gives && at >= 0;
    if (gives)
        return;
    m->reserves[p][device] = true;
    m->segments[m->segment_count++] = (struct m_segment){
        .process = p, .heap = heap, .address = address, .size = size, .seq = seq, .ns = run_ns(p)};
}

static void random_mapping(int p)
{
    int heap = (int)pick(HEAPS), device = device_of_heap[heap];
    struct m_mapping mapping = {.heap = heap, .mapped = pick(2), .page = (int64_t)pick(PAGES)};
    mapping.pages = (int64_t)pick(pick(8) ? 6 : PAGES) + 1;
    if (mapping.page + mapping.pages > PAGES)
        mapping.pages = PAGES - mapping.page;
    bool *pages = &m->mapped[p][device][mapping.page];
    int64_t before = 0;
    for (int64_t i = 0; i < mapping.pages; i++) {
        before += pages[i];
        pages[i] = mapping.mapped;
    }
    m->mapped_twice += mapping.mapped && before;
    m->not_mapped += !mapping.mapped && before < mapping.pages;
    m->reserves[p][device] |= mapping.mapped;
    mapping.seq =
        feed_heap_event(p, heap, mapping.mapped ? EVENT_SEGMENT_ALLOC : EVENT_SEGMENT_FREE,
                        EVENT_F_MAP, BASE + (uint64_t)mapping.page * PAGE, mapping.pages * PAGE);
    mapping.ns = run_ns(p);
    m->mappings[m->mapping_count++] = mapping;
}

static void random_block(int p, int t)
{
    int heap = (int)pick(HEAPS);
    uint64_t address = some_address();
    bool lives = model_living(p, device_of_heap[heap], address) != NULL;
    /* Mostly what a program does; now and then what none should. */
    if (lives ? pick(20) != 0 : pick(20) == 0) {
        random_free(p, heap, address);
    } else {
        int64_t size = (int64_t)pick(0x1000) + 1; /* blocks do not overlap */
        int64_t seq = feed_alloc(&feeds[p], heaps[p][heap], address, (uint64_t)size);
        model_reach(p, seq, innermost(p));
        model_alloc(p, t, heap, address, size, seq, run_ns(p));
    }
}

static void random_phase(int p, int t)
{
    int name = (int)pick(NAMES);
    if (pick(2) && m->stacks[p][t].count < DEPTH) {
        int64_t seq = feed_phase(&feeds[p], names[p][name]);
        model_reach(p, seq, 0);
        model_phase(p, t, name, seq, run_ns(p));
        m->events[seq].innermost = innermost(p);
    } else {
        bool any = pick(2);
        int64_t seq = feed_phase_end(&feeds[p], any ? 0 : names[p][name]);
        model_reach(p, seq, innermost(p));
        model_phase_end(p, t, any ? -1 : name, seq, run_ns(p));
    }
}

static void random_step(int p)
{
    if (m->step[p] == BATCH_NULL || pick(3)) {
        m->step[p] = m->next_step[p] += (int64_t)pick(2);
        model_reach(p, feed_step(&feeds[p], (uint64_t)m->step[p]), innermost(p));
    } else {
        model_reach(p, feed_event(&feeds[p], (struct event){.kind = EVENT_STEP_END}), innermost(p));
        m->step[p] = BATCH_NULL;
    }
}

static void random_tag(int p)
{
    int heap = (int)pick(HEAPS);
    uint64_t address = some_address() + (pick(4) ? 0 : 0x10);
    uint64_t size = pick(3) ? 1 : pick(0x8000) + 1;
    int64_t category = (int64_t)pick(8) + 1;
    model_reach(p,
                feed_event(&feeds[p], (struct event){.kind = EVENT_TAG,
                                                     .heap = heaps[p][heap] & 0xffffff,
                                                     .addr = address,
                                                     .size = size,
                                                     .a = (uint64_t)category}),
                innermost(p));
    model_tag(p, device_of_heap[heap], address, size, category);
}

static void random_event(int p)
{
    int thread = (int)pick(THREADS);
    uint64_t what = pick(100);
    feeds[p].thread = 100 + (uint32_t)thread;
    feeds[p].now = clock_now - (pick(4) ? 0 : 10); /* it stands still now and then */
    if (what < 64)
        random_block(p, thread);
    else if (what < 67)
        random_idle(p);
    else if (what < 72)
        random_segment(p);
    else if (what < 78)
        random_mapping(p);
    else if (what < 92)
        random_phase(p, thread);
    else if (what < 95)
        random_step(p);
    else
        random_tag(p);
    for (int d = 0; d < DEVICES; d++)
        model_sums(p, d);
    clock_now = feeds[p].now;
}

/* ---- a run ---- */

static void begin_run(struct rows *rows)
{
    static const char *const texts[NAMES] = {"forward", "backward", "mine", "loss"};
    struct state *state = feed_state(100);
    m = calloc(1, sizeof *m);
    clock_now = FEED_START;
    for (int p = 0; p < PROCESSES; p++)
        for (int d = 0; d < DEVICES; d++)
            m->sums[0][p][d] = (struct m_sums){ROW_NULL, ROW_NULL, ROW_NULL};
    for (int p = 0; p < PROCESSES; p++) {
        feed_begin(&feeds[p], state, rows);
        m->owner[p] = -1;
        m->step[p] = BATCH_NULL;
        for (int n = 0; n < NAMES; n++)
            names[p][n] = feed_string(&feeds[p], texts[n]);
        for (int h = 0; h < HEAPS; h++)
            heaps[p][h] = feed_heap(&feeds[p], DEVICE_CUDA, device_of_heap[h], (uint64_t)h);
    }
}

static void end_process(int p)
{
    feeds[p].now = clock_now;
    model_reach(p, feed_event(&feeds[p], (struct event){.kind = EVENT_MARK, .name = names[p][0]}),
                innermost(p));
    clock_now = feeds[p].now += 10;
    feed_end(&feeds[p], false);
    m->ended[p] = true;
    /* The end may have taken a number for the last `other`. */
    int64_t seq = state_seq(feeds[0].state);
    for (int64_t s = m->seq + 1; s <= seq; s++) {
        memcpy(m->allocated[s], m->allocated[s - 1], sizeof m->allocated[s]);
        memcpy(m->sums[s], m->sums[s - 1], sizeof m->sums[s]);
        m->events[s].process = -1;
    }
    m->seq = m->end_seq[p] = seq;
}

static void run(uint64_t first_seed, int events)
{
    struct rows rows = {0};
    seed = first_seed;
    begin_run(&rows);
    for (int i = 0; i < events; i++) {
        int p;
        do
            p = (int)pick(PROCESSES);
        while (m->ended[p]);
        random_event(p);
        if (pick(60) == 0)
            feed_flush(&feeds[p]);
        if (i == events * 2 / 3)
            end_process(2);
    }
    end_process(0);
    model_check_totals(feeds[0].state);
    end_process(1);
    model_check_rows(&rows);
    state_free(feeds[0].state);
    rows_clear(&rows);
    free(m);
}

TEST(random_runs_equal_the_model)
{
    for (uint64_t i = 1; i <= 12; i++)
        run(i, 1200);
}

TEST(a_longer_run_equals_the_model)
{
    run(4711, 6000);
}

TEST_MAIN(TEST_CASE(random_runs_equal_the_model), TEST_CASE(a_longer_run_equals_the_model))
