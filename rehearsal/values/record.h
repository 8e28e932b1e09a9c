/*
 * record.h - what a kernel or a copy would write, for later: a graph is captured once, and whenever
 * it is launched, what lies in those places is not known any more. Inputs may be others by then, so
 * nothing is computed.
 *
 * Invariant: while a thread records, its calls of values.h that write note where, and change
 * nothing; those that read find nothing known.
 */
#ifndef TIDEMARK_REHEARSAL_RECORD_H
#define TIDEMARK_REHEARSAL_RECORD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record_range {
    uint64_t at, count; /* 0: from here to the first byte that is not known */
};

struct record {
    pthread_mutex_t lock;
    struct record_range *list;
    size_t count, cap;
    bool everything; /* nobody knows where it writes, or there was no memory to say it */
};

#define RECORD_NEW                                                                                 \
    (struct record)                                                                                \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER                                                          \
    }

/* From now on this thread records there; NULL: not any more. */
void record_to(struct record *record);
/* Where this thread records; NULL: it does not. */
struct record *record_of_thread(void);
void record_add(struct record *record, uint64_t at, uint64_t count);
void record_everything(struct record *record);
void record_copy(struct record *to, struct record *from);
/* It happens now: what lies there is forgotten. */
void record_replay(struct record *record);
void record_drop(struct record *record);

#endif
