/* state_model.c - see state_model.h. */
#include "state_model.h"

#include <string.h>

#include "test.h"

const int device_of_heap[HEAPS] = {0, 0, 1};
struct model *m;

static struct m_phase *top_of(int process, int thread)
{
    struct m_stack *stack = &m->stacks[process][thread];
    return stack->count ? &m->phases[stack->phases[stack->count - 1]] : NULL;
}

struct m_phase *model_here(int process)
{
    return m->owner[process] < 0 ? NULL : top_of(process, m->owner[process]);
}

/* Numbers up to seq are taken; what was between had no event of this run's. */
void model_reach(int process, int64_t seq, int64_t innermost)
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

struct m_block *model_living(int process, int device, uint64_t address)
{
    for (int i = 0; i < m->block_count; i++) {
        struct m_block *b = &m->blocks[i];
        if (b->process == process && device_of_heap[b->heap] == device && b->address == address &&
            !b->free_seq)
            return b;
    }
    return NULL;
}

bool model_end(int process, int device, uint64_t address, int64_t seq, int64_t ns)
{
    struct m_block *b = model_living(process, device, address);
    if (!b)
        return false;
    b->free_seq = seq;
    b->free_ns = ns;
    m->allocated[seq][process][device] -= b->size;
    return true;
}

struct m_block *model_waiting(int process, int device, uint64_t address)
{
    for (int i = 0; i < m->block_count; i++) {
        struct m_block *b = &m->blocks[i];
        if (b->process == process && device_of_heap[b->heap] == device && b->address == address &&
            b->waits)
            return b;
    }
    return NULL;
}

bool model_idle(int process, int device, uint64_t address, int64_t seq, int64_t ns)
{
    struct m_block *b = model_waiting(process, device, address);
    if (!b)
        return false;
    b->waits = false;
    b->idle_seq = seq;
    b->idle_ns = ns;
    return true;
}

/* Index of the segment that is there and has the address, -1 = none. */
int model_segment(int process, int device, uint64_t address)
{
    for (int i = 0; i < m->segment_count; i++) {
        const struct m_segment *s = &m->segments[i];
        if (s->process == process && device_of_heap[s->heap] == device && !s->free_seq &&
            address - s->address < (uint64_t)s->size)
            return i;
    }
    return -1;
}

void model_alloc(int process, int thread, int heap, uint64_t address, int64_t size, int64_t seq,
                 int64_t ns)
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
        .phase = own && own != model_here(process) ? own->begin_seq : 0,
        .segment = model_segment(process, device, address) + 1,
    };
    m->allocated[seq][process][device] += size;
}

void model_phase(int process, int thread, int name, int64_t seq, int64_t ns)
{
    struct m_phase *own = top_of(process, thread);
    bool process_scope = m->owner[process] < 0 || m->owner[process] == thread;
    struct m_phase *parent = own ? own : process_scope ? NULL : model_here(process);
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
void model_phase_end(int process, int thread, int name, int64_t seq, int64_t ns)
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

void model_tag(int process, int device, uint64_t address, uint64_t size, int64_t category)
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

void model_sums(int process, int device)
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
