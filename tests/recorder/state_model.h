/*
 * state_model.h - the heap state once more, slow and plain: it keeps every block, every segment,
 * every page and every phase that ever was and the sums after every event, and answers by looking
 * at all of them. test_state_model.c gives the same random events to both.
 */
#ifndef TIDEMARK_TESTS_STATE_MODEL_H
#define TIDEMARK_TESTS_STATE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "rows.h"
#include "state.h"

enum { PROCESSES = 3, THREADS = 3, DEVICES = 2, HEAPS = 3, NAMES = 4, MAX_SEQ = 12000, DEPTH = 64 };
enum { PAGE = 0x1000, PAGES = 60, SEGMENT_PAGES = 4 };
#define BASE 0x7f0000000000ull

extern const int device_of_heap[HEAPS];

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

struct model {
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
};

extern struct model *m; /* of the run that is on */

struct m_phase *model_here(int process);
void model_reach(int process, int64_t seq, int64_t innermost);
struct m_block *model_living(int process, int device, uint64_t address);
bool model_end(int process, int device, uint64_t address, int64_t seq, int64_t ns);
struct m_block *model_waiting(int process, int device, uint64_t address);
bool model_idle(int process, int device, uint64_t address, int64_t seq, int64_t ns);
int model_segment(int process, int device, uint64_t address);
void model_alloc(int process, int thread, int heap, uint64_t address, int64_t size, int64_t seq,
                 int64_t ns);
void model_phase(int process, int thread, int name, int64_t seq, int64_t ns);
void model_phase_end(int process, int thread, int name, int64_t seq, int64_t ns);
void model_tag(int process, int device, uint64_t address, uint64_t size, int64_t category);
void model_sums(int process, int device);

/* ---- what the rows say ---- */

void model_check_rows(const struct rows *rows); /* all of them, at the end */
void model_check_totals(const struct state *state);

#endif
