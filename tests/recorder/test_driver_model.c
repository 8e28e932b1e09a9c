/*
 * The driver's memory against a model that is slow and plain: it keeps every piece of memory and
 * every page, and looks at all of them for each question. Two devices and the host; memory at
 * addresses and behind handles; mappings of any part, also over others; frees of what never was;
 * blocks anywhere; and a source that tells of some segments itself.
 */
#include <stdlib.h>
#include <string.h>

#include "feed.h"
#include "state_types.h"
#include "test.h"

enum { DEVICES = 2, HEAPS = 3, PAGES = 64, HANDLES = 10, MAX = 6000, LIVING = 200 };
#define PAGE ((uint64_t)0x1000)
#define WHOLE 0x7f0000000000ull /* memory that has addresses of its own */
#define SHOWN 0x7e0000000000ull /* addresses that memory is mapped to */

static const int device_of_heap[HEAPS] = {0, 0, 1};

struct m_piece {
    unsigned kind;
    int device; /* DEVICES = the host */
    uint64_t address;
    int64_t pages, seq, free_seq; /* 0 = it is there */
    int64_t told;                 /* seq of the segment that the source told, 0 = none */
    int heap;                     /* -1 = nobody's */
    int64_t blocks;
    bool released;
};

struct m_page {  /* that something is mapped to; map 0 = nothing */
    int64_t map; /* seq */
    int piece;   /* -1 = not known */
    int device, heap;
};

struct m_block {
    uint64_t address;
    int64_t seq;
    int heap;
};

static struct model {
    struct m_piece pieces[MAX];
    int count;
    struct m_page pages[PAGES];
    struct m_block living[LIVING];
    int living_count;
    int64_t segments[MAX]; /* of blocks, by seq: of what segment; 0 = none; -1 = no block */
    int64_t unknown_frees, unknown_unmaps, twice;
} * m;

static struct feed feed;
static struct rows rows;
static uint32_t heaps[HEAPS], drivers[DEVICES], library;
static uint64_t seed;

static int pick(int n)
{
    return (int)(test_random(&seed) % (uint64_t)n);
}

static bool has_handle(unsigned kind)
{
    return kind == DRIVER_PHYSICAL || kind == DRIVER_ARRAY;
}

static int64_t next_seq(void)
{
    return state_seq(feed.state) + 1;
}

/* ---- pieces ---- */

static bool meets(const struct m_piece *piece, uint64_t begin, uint64_t end)
{
    return !piece->free_seq && !has_handle(piece->kind) && piece->address < end &&
           piece->address + (uint64_t)piece->pages * PAGE > begin;
}

static struct m_piece *by_handle(unsigned kind, uint64_t handle)
{
    for (int i = 0; i < m->count; i++) {
        struct m_piece *piece = &m->pieces[i];
        if (piece->kind == kind && piece->address == handle && !piece->free_seq && !piece->released)
            return piece;
    }
    return NULL;
}

static bool is_shown(const struct m_piece *piece)
{
    for (int i = 0; i < PAGES; i++)
        if (m->pages[i].map && m->pages[i].piece == (int)(piece - m->pieces))
            return true;
    return false;
}

static void untell(struct m_piece *piece)
{
    if (!piece->told)
        return;
    piece->told = 0;
    feed_event(&feed, (struct event){.kind = EVENT_SEGMENT_FREE,
                                     .heap = heaps[piece->heap] & 0xffffff,
                                     .addr = piece->address});
}

static void let_go(struct m_piece *piece, int64_t seq)
{
    if (is_shown(piece))
        piece->released = true;
    else
        piece->free_seq = seq;
}

static void tell(struct m_piece *piece)
{
    int heap = piece->device ? 2 : pick(2);
    piece->told = next_seq();
    piece->heap = heap;
    feed_event(&feed, (struct event){.kind = EVENT_SEGMENT_ALLOC,
                                     .heap = heaps[heap] & 0xffffff,
                                     .addr = piece->address,
                                     .size = (uint64_t)piece->pages * PAGE});
}

static void take(void)
{
    static const unsigned kinds[] = {DRIVER_DEVICE, DRIVER_DEVICE,  DRIVER_DEVICE,
                                     DRIVER_ASYNC,  DRIVER_MANAGED, DRIVER_PHYSICAL,
                                     DRIVER_ARRAY,  DRIVER_PHYSICAL};
    struct m_piece piece = {
        .kind = kinds[pick(8)], .device = pick(DEVICES), .pages = 1 + pick(6), .heap = -1};
    bool handle = has_handle(piece.kind);
    if (pick(12) == 0 && !handle) {
        piece.kind = DRIVER_HOST;
        piece.device = DEVICES;
    }
    piece.address = handle ? 1 + (uint64_t)pick(HANDLES) : WHOLE + (uint64_t)pick(PAGES) * PAGE;
    uint64_t end = piece.address + (uint64_t)piece.pages * PAGE;
    for (int i = 0; i < m->count; i++)
        if (!handle && meets(&m->pieces[i], piece.address, end))
            untell(&m->pieces[i]);
    piece.seq = next_seq();
    struct m_piece *old = handle ? by_handle(piece.kind, piece.address) : NULL;
    m->twice += old != NULL;
    if (old)
        let_go(old, piece.seq);
    for (int i = 0; i < m->count && !handle; i++)
        if (meets(&m->pieces[i], piece.address, end)) {
            m->pieces[i].free_seq = piece.seq;
            m->twice++;
        }
    m->pieces[m->count] = piece;
    feed_event(&feed,
               (struct event){.kind = EVENT_DRIVER_ALLOC,
                              .heap = piece.device < DEVICES ? drivers[piece.device] & 0xffffff : 0,
                              .addr = piece.address,
                              .size = (uint64_t)piece.pages * PAGE,
                              .a = (uint64_t)library << 32 | piece.kind});
    if (piece.kind == DRIVER_DEVICE && pick(4) == 0)
        tell(&m->pieces[m->count]);
    m->count++;
}

static void give(void)
{
    unsigned kind = (unsigned[]){DRIVER_DEVICE, DRIVER_PHYSICAL, DRIVER_ARRAY}[pick(3)];
    uint64_t address =
        has_handle(kind) ? 1 + (uint64_t)pick(HANDLES) : WHOLE + (uint64_t)pick(PAGES) * PAGE;
    struct m_piece *piece = has_handle(kind) ? by_handle(kind, address) : NULL;
    for (int i = 0; i < m->count && !has_handle(kind); i++)
        if (!m->pieces[i].free_seq && !has_handle(m->pieces[i].kind) &&
            m->pieces[i].address == address)
            piece = &m->pieces[i];
    if (piece)
        untell(piece);
    if (piece)
        let_go(piece, next_seq());
    else if (kind != DRIVER_PHYSICAL) /* a handle may have been released before */
        m->unknown_frees++;
    else
        return;
    feed_event(&feed, (struct event){.kind = EVENT_DRIVER_FREE,
                                     .heap = drivers[0] & 0xffffff,
                                     .addr = address,
                                     .a = kind});
}

/* ---- pages ---- */

static bool take_out(int first, int count)
{
    bool all = true;
    for (int i = first; i < first + count; i++) {
        struct m_page *page = &m->pages[i];
        int at = page->piece;
        all = all && page->map;
        page->map = 0;
        if (at >= 0 && m->pieces[at].released && !m->pieces[at].free_seq &&
            !is_shown(&m->pieces[at]))
            m->pieces[at].free_seq = next_seq();
        page->piece = -1;
    }
    return all;
}

static void map(void)
{
    int first = pick(PAGES), count = 1 + pick(6), device = pick(DEVICES);
    uint64_t handle = 1 + (uint64_t)pick(HANDLES + 2); /* some are not known */
    count = count < PAGES - first ? count : PAGES - first;
    bool meets_any = false;
    for (int i = first; i < first + count; i++)
        meets_any = meets_any || m->pages[i].map;
    m->twice += meets_any;
    take_out(first, count);
    const struct m_piece *piece = by_handle(DRIVER_PHYSICAL, handle);
    for (int i = first; i < first + count; i++)
        m->pages[i] = (struct m_page){.map = next_seq(),
                                      .piece = piece ? (int)(piece - m->pieces) : -1,
                                      .device = device,
                                      .heap = -1};
    feed_event(&feed, (struct event){.kind = EVENT_DRIVER_MAP,
                                     .heap = drivers[device] & 0xffffff,
                                     .addr = SHOWN + (uint64_t)first * PAGE,
                                     .size = (uint64_t)count * PAGE,
                                     .b = handle});
}

static void unmap(void)
{
    int first = pick(PAGES), count = 1 + pick(8);
    count = count < PAGES - first ? count : PAGES - first;
    m->unknown_unmaps += !take_out(first, count);
    feed_event(&feed, (struct event){.kind = EVENT_DRIVER_UNMAP,
                                     .heap = drivers[0] & 0xffffff,
                                     .addr = SHOWN + (uint64_t)first * PAGE,
                                     .size = (uint64_t)count * PAGE});
}

/* ---- blocks ---- */

/* All pages that came with one mapping and still touch. */
static void own_range(int at, int heap)
{
    int first = at, last = at;
    while (first > 0 && m->pages[first - 1].map == m->pages[at].map)
        first--;
    while (last + 1 < PAGES && m->pages[last + 1].map == m->pages[at].map)
        last++;
    for (int i = first; i <= last; i++)
        m->pages[i].heap = heap;
}

/* Each range is counted once, and so is its memory, however many pages the block has of it. */
static void own_pages(uint64_t address, uint64_t size, int heap)
{
    int first = (int)((address - SHOWN) / PAGE), last = (int)((address + size - 1 - SHOWN) / PAGE);
    for (int i = first; i <= last && i < PAGES; i++) {
        struct m_page *page = &m->pages[i];
        if (!page->map || page->device != device_of_heap[heap])
            continue;
        if (page->heap < 0)
            own_range(i, heap);
        if (i > first && m->pages[i - 1].map == page->map)
            continue;
        struct m_piece *piece = page->piece < 0 ? NULL : &m->pieces[page->piece];
        if (!piece || piece->device != device_of_heap[heap])
            continue;
        piece->heap = piece->heap < 0 ? heap : piece->heap;
        piece->blocks++;
    }
}

static int64_t own_piece(uint64_t address, int heap)
{
    for (int i = 0; i < m->count; i++) {
        struct m_piece *piece = &m->pieces[i];
        if (!meets(piece, address, address + 1) || piece->device != device_of_heap[heap])
            continue;
        piece->heap = piece->heap < 0 ? heap : piece->heap;
        piece->blocks++;
        bool whole = piece->kind == DRIVER_DEVICE || piece->kind == DRIVER_MANAGED;
        return piece->told ? piece->told : whole ? piece->seq : 0;
    }
    return 0;
}

static void hand_out(void)
{
    int heap = pick(HEAPS);
    bool shown = pick(2);
    uint64_t address =
        (shown ? SHOWN : WHOLE) + (uint64_t)pick(PAGES) * PAGE + (uint64_t)pick(200) * 16;
    uint64_t size = 16 + (uint64_t)pick(2) * (uint64_t)pick(3) * PAGE;
    if (m->living_count == LIVING)
        return;
    for (int i = 0; i < m->living_count; i++)
        if (m->living[i].address == address)
            return;
    int64_t seq = next_seq();
    if (shown)
        own_pages(address, size, heap);
    else
        m->segments[seq] = own_piece(address, heap);
    m->living[m->living_count++] = (struct m_block){address, seq, heap};
    if (shown)
        m->segments[seq] = 0;
    feed_alloc(&feed, heaps[heap], address, size);
}

static void give_back(void)
{
    if (!m->living_count)
        return;
    int at = pick(m->living_count);
    feed_free(&feed, heaps[m->living[at].heap], m->living[at].address);
    m->living[at] = m->living[--m->living_count];
}

/* ---- what must be so ---- */

static int64_t reserved_of(int device)
{
    int64_t sum = 0;
    for (int i = 0; i < m->count; i++) {
        const struct m_piece *piece = &m->pieces[i];
        bool whole = piece->kind == DRIVER_DEVICE || piece->kind == DRIVER_MANAGED;
        if (piece->device == device && !piece->free_seq && piece->heap >= 0 && whole)
            sum += piece->pages * (int64_t)PAGE;
    }
    for (int i = 0; i < PAGES; i++)
        if (m->pages[i].map && m->pages[i].device == device && m->pages[i].heap >= 0)
            sum += (int64_t)PAGE;
    return sum;
}

static void check_now(void)
{
    CHECK(state_is_valid(feed.state));
    for (int device = 0; device < DEVICES; device++)
        CHECK_INT(feed.process->heaps.devices[device]->segment_bytes, reserved_of(device));
}

static void check_rows(void)
{
    int owned = 0, gone = 0;
    CHECK_INT(rows.tables[SCH_DRIVER_MEMORY].count, m->count);
    for (int i = 0; i < m->count; i++) {
        const struct m_piece *piece = &m->pieces[i];
        const struct row *row = rows_find(&rows, SCH_DRIVER_MEMORY, 1, &piece->seq);
        REQUIRE(row != NULL);
        CHECK_INT(row->at[MEMORY_SIZE], piece->pages * (int64_t)PAGE);
        CHECK_INT(row->at[MEMORY_DEVICE], piece->device < DEVICES ? piece->device + 1 : ROW_NULL);
        CHECK_INT(row->at[MEMORY_FREE_SEQ], piece->free_seq ? piece->free_seq : ROW_NULL);
        CHECK_INT(row->at[MEMORY_HEAP], piece->heap < 0 ? ROW_NULL : piece->heap + 1);
        CHECK_INT(row->at[MEMORY_BLOCKS], piece->blocks);
        owned += piece->heap >= 0;
        gone += piece->free_seq > 0;
    }
    CHECK(owned > 20 && gone > 20 && owned < m->count);
    for (size_t i = 0; i < rows.alloc_count; i++) {
        const struct batch_alloc *row = &rows.allocs[i];
        int64_t segment = m->segments[row->seq];
        CHECK_INT(row->segment, segment ? segment : BATCH_NOT_KNOWN);
    }
}

static void begin(uint64_t first_seed)
{
    seed = first_seed;
    m = calloc(1, sizeof *m);
    feed_begin(&feed, NULL, &rows);
    library = feed_string(&feed, "libmine.so");
    for (int i = 0; i < HEAPS; i++)
        heaps[i] = feed_heap(&feed, DEVICE_CUDA, device_of_heap[i], (uint64_t)i);
    for (int i = 0; i < DEVICES; i++)
        drivers[i] = feed_heap(&feed, DEVICE_CUDA, i, 77);
    for (int i = 0; i < PAGES; i++)
        m->pages[i].piece = -1;
}

static void run(uint64_t first_seed, int events)
{
    static void (*const what[])(void) = {take,     take,      give,     give,     map,
                                         map,      unmap,     unmap,    hand_out, hand_out,
                                         hand_out, give_back, give_back};
    begin(first_seed);
    for (int i = 0; i < events; i++) {
        what[pick(sizeof what / sizeof *what)]();
        if (i % 7 == 0)
            check_now();
        if (i % 150 == 0)
            feed_flush(&feed);
    }
    check_now();
    CHECK_INT(feed.process->driver.unknown_frees, m->unknown_frees);
    CHECK_INT(feed.process->driver.unknown_unmaps, m->unknown_unmaps);
    feed_end(&feed, true);
    check_rows();
    CHECK_INT(rows_anomalies(&rows, "driver memory taken twice"), m->twice);
    CHECK_INT(rows_anomalies(&rows, "segment taken twice"), 0);
    CHECK_INT(rows_anomalies(&rows, "unmapped without mapping"), 0);
    CHECK_INT(rows_anomalies(&rows, "segment free without allocation"), 0);
    rows_clear(&rows);
    free(m);
}

TEST(every_row_says_what_the_model_knows)
{
    for (uint64_t i = 1; i <= 20; i++)
        run(i * 7919, 1500);
}

TEST_MAIN(TEST_CASE(every_row_says_what_the_model_knows))
