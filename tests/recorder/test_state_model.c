/*
 * The heap state against a model that is slow and plain: it keeps every block, every segment, every
 * page and every phase that ever was and the sums after every event, and answers by looking at all
 * of them.
 */
#include <stdlib.h>
#include <string.h>

#include "feed.h"
#include "test.h"

enum { PROCESSES = 3, THREADS = 3, DEVICES = 2, HEAPS = 3, NAMES = 4, MAX_SEQ = 12000, DEPTH = 64 };
enum { PAGE = 0x1000, PAGES = 60, SEGMENT_PAGES = 4 };
#define BASE 0x7f0000000000ull

static const int device_of_heap[HEAPS] = {0, 0, 1};

struct m_block {
    int process, heap;
    uint64_t address;
    int64_t size, seq, ns, free_seq, free_ns; /* free_seq 0 = lives */
    int64_t category;                         /* 0 = not tagged */
    int64_t phase;                            /* begin_seq of the thread's own, 0 = none */
    int segment;                              /* index + 1, 0 = none */
    bool waits;
    int64_t idle_seq, idle_ns; /* 0 = it never waited, or waits still */
};

struct m_segment {
    int process, heap;
    uint64_t address;
    int64_t size, seq, ns, free_seq, free_ns; /* free_seq 0 = it is there */
};

struct m_mapping {
    int heap;
    bool mapped;
    int64_t page, pages, seq, ns;
};

struct m_sums { /* of a process on a device after an event; ROW_NULL = not known */
    int64_t reserved, active, split;
};

struct m_phase {
    int process, thread, name;
    bool process_scope;
    int64_t begin_seq, begin_ns, end_seq, end_ns, step, parent; /* parent: begin_seq, 0 = none */
    int64_t ordinal;
    const char *ended;
};

struct m_stack {
    int phases[DEPTH]; /* indexes into model.phases */
    int count;
};

struct m_event {
    int process;
    int64_t innermost; /* begin_seq of the phase of scope process, 0 = other */
};

static struct model {
    struct m_block blocks[MAX_SEQ];
    struct m_phase phases[MAX_SEQ];
    int block_count, phase_count;
    struct m_stack stacks[PROCESSES][THREADS];
    int owner[PROCESSES]; /* thread with the phases of scope process, -1 = none */
    int64_t step[PROCESSES], next_step[PROCESSES];
    struct m_segment segments[MAX_SEQ];
    struct m_mapping mappings[MAX_SEQ];
    int segment_count, mapping_count;
    bool mapped[PROCESSES][DEVICES][PAGES];
    bool reserves[PROCESSES][DEVICES], waits[PROCESSES][DEVICES]; /* something was seen */
    int64_t allocated[MAX_SEQ][PROCESSES][DEVICES];               /* after event seq */
    struct m_sums sums[MAX_SEQ][PROCESSES][DEVICES];
    struct m_event events[MAX_SEQ]; /* process -1 = a number without an event */
    int64_t seq;
    int64_t unknown_frees, twice, bad_ends, unknown_idles, reused;
    int64_t segments_twice, unknown_segments, mapped_twice, not_mapped;
    bool ended[PROCESSES];
    int64_t end_seq[PROCESSES];
} * m;

static struct feed feeds[PROCESSES];
static uint32_t heaps[PROCESSES][HEAPS], names[PROCESSES][NAMES];
static uint64_t seed, clock_now; /* one clock for all processes */

static uint64_t pick(uint64_t n)
{
    return test_random(&seed) % n;
}

/* ---- the model ---- */

static struct m_phase *top_of(int process, int thread)
{
    struct m_stack *stack = &m->stacks[process][thread];
    return stack->count ? &m->phases[stack->phases[stack->count - 1]] : NULL;
}

static struct m_phase *here(int process)
{
    return m->owner[process] < 0 ? NULL : top_of(process, m->owner[process]);
}

/* Numbers up to seq are taken; what was between had no event of this run's. */
static void model_reach(int process, int64_t seq, int64_t innermost)
{
    REQUIRE(seq < MAX_SEQ);
    for (int64_t s = m->seq + 1; s <= seq; s++) {
        memcpy(m->allocated[s], m->allocated[s - 1], sizeof m->allocated[s]);
        memcpy(m->sums[s], m->sums[s - 1], sizeof m->sums[s]);
        m->events[s] = (struct m_event){-1, 0};
    }
    m->seq = seq;
    m->events[seq] = (struct m_event){process, innermost};
}

static struct m_block *find_living(int process, int device, uint64_t address)
{
    for (int i = 0; i < m->block_count; i++) {
        struct m_block *b = &m->blocks[i];
        if (b->process == process && device_of_heap[b->heap] == device && b->address == address &&
            !b->free_seq)
            return b;
    }
    return NULL;
}

static bool model_end(int process, int device, uint64_t address, int64_t seq, int64_t ns)
{
    struct m_block *b = find_living(process, device, address);
    if (!b)
        return false;
    b->free_seq = seq;
    b->free_ns = ns;
    m->allocated[seq][process][device] -= b->size;
    return true;
}

static struct m_block *find_waiting(int process, int device, uint64_t address)
{
    for (int i = 0; i < m->block_count; i++) {
        struct m_block *b = &m->blocks[i];
        if (b->process == process && device_of_heap[b->heap] == device && b->address == address &&
            b->waits)
            return b;
    }
    return NULL;
}

static bool model_idle(int process, int device, uint64_t address, int64_t seq, int64_t ns)
{
    struct m_block *b = find_waiting(process, device, address);
    if (!b)
        return false;
    b->waits = false;
    b->idle_seq = seq;
    b->idle_ns = ns;
    return true;
}

/* Index of the segment that is there and has the address, -1 = none. */
static int find_segment(int process, int device, uint64_t address)
{
    for (int i = 0; i < m->segment_count; i++) {
        const struct m_segment *s = &m->segments[i];
        if (s->process == process && device_of_heap[s->heap] == device && !s->free_seq &&
            address - s->address < (uint64_t)s->size)
            return i;
    }
    return -1;
}

static void model_alloc(int process, int thread, int heap, uint64_t address, int64_t size,
                        int64_t seq, int64_t ns)
{
    int device = device_of_heap[heap];
    m->twice += model_end(process, device, address, seq, ns);
    m->reused += model_idle(process, device, address, seq, ns);
    struct m_phase *own = top_of(process, thread);
    m->blocks[m->block_count++] = (struct m_block){
        .process = process,
        .heap = heap,
        .address = address,
        .size = size,
        .seq = seq,
        .ns = ns,
        .phase = own && own != here(process) ? own->begin_seq : 0,
        .segment = find_segment(process, device, address) + 1,
    };
    m->allocated[seq][process][device] += size;
}

static void model_phase(int process, int thread, int name, int64_t seq, int64_t ns)
{
    struct m_phase *own = top_of(process, thread);
    bool process_scope = m->owner[process] < 0 || m->owner[process] == thread;
    struct m_phase *parent = own ? own : process_scope ? NULL : here(process);
    int64_t ordinal = 0;
    for (int i = 0; i < m->phase_count; i++)
        ordinal += m->phases[i].process == process && m->phases[i].name == name &&
                   m->phases[i].step == m->step[process];
    m->phases[m->phase_count] = (struct m_phase){
        .process = process,
        .thread = thread,
        .name = name,
        .process_scope = process_scope,
        .begin_seq = seq,
        .begin_ns = ns,
        .step = m->step[process],
        .parent = parent ? parent->begin_seq : 0,
        .ordinal = ordinal,
    };
    if (process_scope)
        m->owner[process] = thread;
    struct m_stack *stack = &m->stacks[process][thread];
    stack->phases[stack->count++] = m->phase_count++;
}

static void model_pop(int process, int thread, int64_t seq, int64_t ns, const char *ended)
{
    struct m_phase *top = top_of(process, thread);
    top->end_seq = seq;
    top->end_ns = ns;
    top->ended = ended;
    m->stacks[process][thread].count--;
    struct m_phase *below = top_of(process, thread);
    if (top->process_scope && !(below && below->process_scope))
        m->owner[process] = -1;
}

/* name -1 = the innermost */
static void model_phase_end(int process, int thread, int name, int64_t seq, int64_t ns)
{
    struct m_stack *stack = &m->stacks[process][thread];
    int at = stack->count - 1;
    while (at >= 0 && name >= 0 && m->phases[stack->phases[at]].name != name)
        at--;
    if (at < 0) {
        m->bad_ends++;
        return;
    }
    while (stack->count > at + 1)
        model_pop(process, thread, seq, ns, "unbalanced");
    model_pop(process, thread, seq, ns, "end");
}

static void model_tag(int process, int device, uint64_t address, uint64_t size, int64_t category)
{
    for (int i = 0; i < m->block_count; i++) {
        struct m_block *b = &m->blocks[i];
        if (b->process == process && device_of_heap[b->heap] == device && !b->free_seq &&
            b->address >= address && b->address - address < size)
            b->category = category;
    }
}

static int64_t split_of(int segment)
{
    int64_t used = 0, held = 0;
    for (int i = 0; i < m->block_count; i++) {
        const struct m_block *b = &m->blocks[i];
        bool holds = b->segment == segment + 1 && (!b->free_seq || b->waits);
        held += holds;
        used += holds ? b->size : 0;
    }
    return held ? m->segments[segment].size - used : 0;
}

static void model_sums(int process, int device)
{
    struct m_sums *sums = &m->sums[m->seq][process][device];
    int64_t reserved = 0, split = 0, active = m->allocated[m->seq][process][device];
    for (int i = 0; i < m->segment_count; i++) {
        const struct m_segment *s = &m->segments[i];
        if (s->process != process || device_of_heap[s->heap] != device || s->free_seq)
            continue;
        reserved += s->size;
        split += split_of(i);
    }
    for (int i = 0; i < PAGES; i++)
        reserved += m->mapped[process][device][i] ? PAGE : 0;
    for (int i = 0; i < m->block_count; i++) {
        const struct m_block *b = &m->blocks[i];
        if (b->process == process && device_of_heap[b->heap] == device && b->waits)
            active += b->size;
    }
    bool reserves = m->reserves[process][device];
    sums->reserved = reserves ? reserved : ROW_NULL;
    sums->split = reserves ? split : ROW_NULL;
    sums->active = m->waits[process][device] ? active : ROW_NULL;
}

/* ---- one random event into both ---- */

static int64_t run_ns(int process)
{
    return (int64_t)(feeds[process].now - FEED_START);
}

static int64_t innermost(int process)
{
    return here(process) ? here(process)->begin_seq : 0;
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
    struct m_block *b = find_living(p, device, address);
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
    for (int tries = 0; tries < 50 && !find_waiting(p, device_of_heap[heap], address); tries++)
        address = some_address();
    int64_t seq = feed_heap_event(p, heap, EVENT_BLOCK_IDLE, 0, address, 0);
    m->unknown_idles += !model_idle(p, device_of_heap[heap], address, seq, run_ns(p));
}

static void random_segment(int p)
{
    int heap = (int)pick(HEAPS), device = device_of_heap[heap];
    uint64_t address = BASE + pick(PAGES / SEGMENT_PAGES) * SEGMENT_PAGES * PAGE;
    int at = find_segment(p, device, address);
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
    bool lives = find_living(p, device_of_heap[heap], address) != NULL;
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

/* ---- what the rows say ---- */

static void check_blocks(const struct rows *rows)
{
    CHECK_INT(rows->alloc_count, m->block_count);
    size_t exact_phases = 0;
    for (int i = 0; i < m->block_count; i++) {
        const struct m_block *b = &m->blocks[i];
        const struct batch_alloc *row = rows_alloc(rows, b->seq);
        REQUIRE(row != NULL);
        CHECK_INT(row->address, b->address);
        CHECK_INT(row->size, b->size);
        CHECK_INT(row->alloc_ns, b->ns);
        CHECK_INT(row->free_seq, b->free_seq ? b->free_seq : DB_LIVING_SEQ);
        CHECK_INT(row->life_ns, b->free_seq ? b->free_ns - b->ns : DB_LIVING_NS);
        CHECK_INT(row->requested, BATCH_NOT_KNOWN);
        const struct row *heap = rows_find(rows, SCH_HEAP, 1, (const int64_t[]){row->heap});
        REQUIRE(heap != NULL);
        CHECK_INT(heap->at[1], b->process + 1);
        const struct row *tag = rows_find(rows, SCH_TAG, 1, (const int64_t[]){row->tag});
        CHECK_INT(tag ? tag->at[1] : 0, b->category);
        CHECK_INT(row->segment, b->segment ? m->segments[b->segment - 1].seq : BATCH_NOT_KNOWN);
        const struct row *idle = rows_find(rows, SCH_IDLE, 1, (const int64_t[]){b->seq});
        CHECK_INT(idle ? idle->at[1] : 0, b->idle_seq);
        CHECK_INT(idle ? idle->at[2] : 0, b->idle_ns);
        const struct row *own = rows_find(rows, SCH_ALLOCATION_PHASE, 1, (const int64_t[]){b->seq});
        CHECK((own != NULL) == (b->phase != 0));
        exact_phases += own != NULL;
        if (own && b->phase) {
            own = rows_find(rows, SCH_PHASE, 1, (const int64_t[]){own->at[1]});
            CHECK_INT(own ? own->at[PHASE_BEGIN_SEQ] : 0, b->phase);
        }
    }
    CHECK_INT(rows->tables[SCH_ALLOCATION_PHASE].count, exact_phases);
}

static void check_segments(const struct rows *rows)
{
    CHECK_INT(rows->tables[SCH_SEGMENT].count, m->segment_count);
    for (int i = 0; i < m->segment_count; i++) {
        const struct m_segment *s = &m->segments[i];
        const struct row *row = rows_find(rows, SCH_SEGMENT, 1, &s->seq);
        REQUIRE(row != NULL);
        CHECK_INT(row->at[2], s->address);
        CHECK_INT(row->at[3], s->size);
        CHECK_INT(row->at[4], s->ns);
        CHECK_INT(row->at[5], s->free_seq ? s->free_ns - s->ns : ROW_NULL);
        CHECK_INT(row->at[6], s->free_seq ? s->free_seq : ROW_NULL);
    }
    CHECK_INT(rows->tables[SCH_MAPPING].count, m->mapping_count);
    for (int i = 0; i < m->mapping_count; i++) {
        const struct m_mapping *mapping = &m->mappings[i];
        const struct row *row = &rows->tables[SCH_MAPPING].rows[i];
        CHECK_INT(row->at[0], mapping->seq);
        CHECK_INT(row->at[2], BASE + (uint64_t)mapping->page * PAGE);
        CHECK_INT(row->at[3], mapping->pages * PAGE);
        CHECK_INT(row->at[4], mapping->ns);
        CHECK_INT(row->at[5], mapping->mapped);
    }
}

/* The process's row of a phase that begins with this number. */
static const struct row *phase_at(const struct rows *rows, int process, int64_t begin_seq)
{
    for (size_t i = 0; i < rows->tables[SCH_PHASE].count; i++) {
        const struct row *row = &rows->tables[SCH_PHASE].rows[i];
        if (row->at[PHASE_PROCESS_ID] == process + 1 && row->at[PHASE_BEGIN_SEQ] == begin_seq)
            return row;
    }
    return NULL;
}

static void check_phases(const struct rows *rows)
{
    static const char *const texts[NAMES] = {"forward", "backward", "mine", "loss"};
    for (int i = 0; i < m->phase_count; i++) {
        const struct m_phase *p = &m->phases[i];
        const struct row *row = phase_at(rows, p->process, p->begin_seq);
        REQUIRE(row != NULL);
        CHECK_STR(row->text[PHASE_NAME], texts[p->name]);
        CHECK_STR(row->text[PHASE_KIND], p->name == 2 ? "user" : texts[p->name]);
        CHECK_STR(row->text[PHASE_SCOPE], p->process_scope ? "process" : "thread");
        CHECK_STR(row->text[PHASE_ENDED], p->ended ? p->ended : "process end");
        CHECK_INT(row->at[PHASE_THREAD_ID], 100 + p->thread);
        CHECK_INT(row->at[PHASE_STEP], p->step);
        CHECK_INT(row->at[PHASE_ORDINAL], p->ordinal);
        CHECK_INT(row->at[PHASE_END_SEQ], p->ended ? p->end_seq : m->end_seq[p->process]);
        CHECK_INT(row->at[PHASE_BEGIN_NS], p->begin_ns);
        if (p->ended)
            CHECK_INT(row->at[PHASE_END_NS], p->end_ns);
        const struct row *parent = p->parent ? phase_at(rows, p->process, p->parent) : NULL;
        CHECK_INT(row->at[PHASE_PARENT], parent ? parent->at[0] : ROW_NULL);
    }
}

static int64_t device_id(const struct rows *rows, int device)
{
    const struct row_table *devices = &rows->tables[SCH_DEVICE];
    for (size_t i = 0; i < devices->count; i++)
        if (devices->rows[i].at[2] == device)
            return devices->rows[i].at[0];
    return 0;
}

/* What is reserved, waits, and lies between blocks as the phase ends; `highest` is the seq of its
 * peak, ROW_NULL = as it began. */
static void check_sums(const struct row *part, const struct row *phase, int process, int device,
                       int64_t highest)
{
    int64_t begin = phase->at[PHASE_BEGIN_SEQ], end = phase->at[PHASE_END_SEQ];
    const struct m_sums *sums = &m->sums[end][process][device];
    int64_t most = ROW_NULL;
    for (int64_t s = 1; s <= end; s++)
        if (m->sums[s][process][device].reserved > most)
            most = m->sums[s][process][device].reserved;
    CHECK_INT(part->at[PART_RESERVED], sums->reserved);
    CHECK_INT(part->at[PART_ACTIVE], sums->active);
    CHECK_INT(part->at[PART_SPLIT], sums->split);
    CHECK_INT(part->at[PART_MAX_RESERVED], most);
    CHECK_INT(part->at[PART_PEAK_RESERVED],
              m->sums[highest == ROW_NULL ? begin - 1 : highest][process][device].reserved);
}

/* One phase on one device, from the allocated bytes after each number. */
static void check_part(const struct rows *rows, const struct row *phase, int process, int device)
{
    int64_t begin = phase->at[PHASE_BEGIN_SEQ], end = phase->at[PHASE_END_SEQ];
    const struct row *part = rows_phase_device(rows, phase->at[0], device_id(rows, device));
    int64_t before = m->allocated[begin - 1][process][device];
    int64_t peak = before, peak_seq = ROW_NULL, highest = 0, highest_seq = ROW_NULL;
    for (int64_t s = 1; s <= end; s++) {
        int64_t now = m->allocated[s][process][device];
        if (now > highest) {
            highest = now;
            highest_seq = s;
        }
        if (s >= begin && now > peak) {
            peak = now;
            peak_seq = s;
        }
    }
    CHECK((part != NULL) == (highest > 0));
    if (!part)
        return;
    int64_t allocs = 0, frees = 0, bytes = 0;
    for (int i = 0; i < m->block_count; i++) {
        const struct m_block *b = &m->blocks[i];
        if (b->process != process || device_of_heap[b->heap] != device)
            continue;
        bool born = b->seq >= begin && b->seq <= end;
        allocs += born;
        bytes += born ? b->size : 0;
        frees += b->free_seq >= begin && b->free_seq <= end;
    }
    CHECK_INT(part->at[PART_BEGIN_ALLOCATED], before);
    CHECK_INT(part->at[PART_ALLOCATED], m->allocated[end][process][device]);
    CHECK_INT(part->at[PART_MAX], highest);
    CHECK_INT(part->at[PART_MAX_SEQ], highest_seq);
    CHECK_INT(part->at[PART_PEAK], peak);
    CHECK_INT(part->at[PART_PEAK_SEQ], peak_seq);
    CHECK_INT(part->at[PART_ALLOCS], allocs);
    CHECK_INT(part->at[PART_FREES], frees);
    CHECK_INT(part->at[PART_BYTES], bytes);
    check_sums(part, phase, process, device, peak_seq);
}

static void check_parts(const struct rows *rows)
{
    for (size_t i = 0; i < rows->tables[SCH_PHASE].count; i++) {
        const struct row *phase = &rows->tables[SCH_PHASE].rows[i];
        REQUIRE(phase->at[PHASE_END_SEQ] >= phase->at[PHASE_BEGIN_SEQ]);
        for (int d = 0; d < DEVICES; d++)
            check_part(rows, phase, (int)phase->at[PHASE_PROCESS_ID] - 1, d);
    }
}

static int by_begin(const void *a, const void *b)
{
    const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;
    int64_t difference = x->at[PHASE_BEGIN_SEQ] - y->at[PHASE_BEGIN_SEQ];
    return difference < 0 ? -1 : difference > 0;
}

/* The outermost phases of scope process follow each other without a gap, in time and in numbers
 * but for those that the process has no event with. */
static void check_partition(const struct rows *rows, int process)
{
    static const struct row *list[MAX_SEQ];
    size_t count = 0;
    for (size_t i = 0; i < rows->tables[SCH_PHASE].count; i++) {
        const struct row *row = &rows->tables[SCH_PHASE].rows[i];
        if (row->at[PHASE_PROCESS_ID] != process + 1 || strcmp(row->text[PHASE_SCOPE], "process"))
            continue;
        const struct row *parent =
            rows_find(rows, SCH_PHASE, 1, (const int64_t[]){row->at[PHASE_PARENT]});
        if (!parent || strcmp(parent->text[PHASE_SCOPE], "process") != 0)
            list[count++] = row;
    }
    qsort(list, count, sizeof *list, by_begin);
    const struct row *own = rows_find(rows, SCH_PROCESS, 1, (const int64_t[]){process + 1});
    REQUIRE(count > 0 && own);
    CHECK_INT(list[0]->at[PHASE_BEGIN_NS], own->at[PROCESS_START]);
    CHECK_INT(list[count - 1]->at[PHASE_END_NS], own->at[PROCESS_END]);
    for (size_t i = 1; i < count; i++) {
        CHECK_INT(list[i]->at[PHASE_BEGIN_NS], list[i - 1]->at[PHASE_END_NS]);
        CHECK_INT(list[i]->at[PHASE_BEGIN_SEQ], list[i - 1]->at[PHASE_END_SEQ] + 1);
    }
}

static void check_stretches(const struct rows *rows)
{
    const struct row_table *table = &rows->tables[SCH_STRETCH];
    for (int64_t s = 1; s <= m->seq; s++) {
        if (m->events[s].process < 0)
            continue;
        const struct row *best = NULL;
        for (size_t i = 0; i < table->count; i++) {
            const struct row *row = &table->rows[i];
            if (row->at[0] == m->events[s].process + 1 && row->at[1] <= s &&
                (!best || row->at[1] > best->at[1]))
                best = row;
        }
        REQUIRE(best != NULL);
        const struct row *phase = rows_find(rows, SCH_PHASE, 1, (const int64_t[]){best->at[2]});
        REQUIRE(phase != NULL);
        if (m->events[s].innermost)
            CHECK_INT(phase->at[PHASE_BEGIN_SEQ], m->events[s].innermost);
        else
            CHECK_STR(phase->text[PHASE_KIND], "other");
        CHECK(phase->at[PHASE_BEGIN_SEQ] <= s && s <= phase->at[PHASE_END_SEQ]);
    }
}

static void check_keyframes(const struct rows *rows)
{
    const struct row_table *table = &rows->tables[SCH_KEYFRAME];
    CHECK(table->count > 0);
    for (size_t i = 0; i < table->count;) {
        int64_t seq = table->rows[i].at[0];
        size_t rows_of_it = 0, living = 0;
        for (; i < table->count && table->rows[i].at[0] == seq; i++)
            rows_of_it++;
        for (int k = 0; k < m->block_count; k++) {
            const struct m_block *b = &m->blocks[k];
            bool gone = seq >= m->end_seq[b->process];
            bool lives = b->seq <= seq && (!b->free_seq || b->free_seq > seq) && !gone;
            living += lives;
            if (lives)
                CHECK(rows_find(rows, SCH_KEYFRAME, 2, (const int64_t[]){seq, b->seq}) != NULL);
        }
        CHECK_INT(rows_of_it, living);
    }
}

static void check_totals(void)
{
    struct state_totals totals;
    state_totals(feeds[0].state, &totals);
    int64_t highest = 0, living = 0, now = 0;
    for (int64_t s = 1; s <= m->seq; s++)
        for (int p = 0; p < PROCESSES; p++)
            for (int d = 0; d < DEVICES; d++)
                if (m->allocated[s][p][d] > highest)
                    highest = m->allocated[s][p][d];
    for (int i = 0; i < m->block_count; i++) {
        living += !m->blocks[i].free_seq;
        if (!m->blocks[i].free_seq && !m->ended[m->blocks[i].process])
            now += m->blocks[i].size;
    }
    CHECK_INT(totals.peak_allocated, highest);
    CHECK_INT(totals.living, living);
    CHECK_INT(totals.allocated, now);
    CHECK_INT(totals.allocs, m->block_count);
    CHECK_INT(totals.lost, 0);
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
    check_totals();
    end_process(1);
    CHECK_INT(rows_anomalies(&rows, "free without allocation"), m->unknown_frees);
    CHECK_INT(rows_anomalies(&rows, "address handed out twice"), m->twice);
    CHECK_INT(rows_anomalies(&rows, "phase end without begin"), m->bad_ends);
    CHECK_INT(rows_anomalies(&rows, "idle without free"), m->unknown_idles);
    CHECK_INT(rows_anomalies(&rows, "handed out while waiting"), m->reused);
    CHECK_INT(rows_anomalies(&rows, "segment taken twice"), m->segments_twice);
    CHECK_INT(rows_anomalies(&rows, "segment free without allocation"), m->unknown_segments);
    CHECK_INT(rows_anomalies(&rows, "mapped twice"), m->mapped_twice);
    CHECK_INT(rows_anomalies(&rows, "unmapped without mapping"), m->not_mapped);
    check_blocks(&rows);
    check_segments(&rows);
    check_phases(&rows);
    check_parts(&rows);
    check_stretches(&rows);
    check_keyframes(&rows);
    for (int p = 0; p < PROCESSES; p++)
        check_partition(&rows, p);
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
