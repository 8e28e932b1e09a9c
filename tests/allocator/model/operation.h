/*
 * operation.h - one thing done to both allocators, as a plain record: a list of them can be run
 * again, and some can be left out. A block is named by the operation that asked for it (its slot),
 * so that an operation whose block was never handed out simply does nothing.
 */
#ifndef TIDEMARK_TESTS_OPERATION_H
#define TIDEMARK_TESTS_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alloc.h"

#define OPERATION_STREAMS 5

enum operation_kind {
    OP_MALLOC,     /* a bytes, on b */
    OP_GIVE,       /* slot a, b bytes behind its address */
    OP_RECORD,     /* slot a, on stream b */
    OP_LOOK,       /* slot a, b bytes behind its address: size and base */
    OP_COMPLETE,   /* stream a, b events */
    OP_EMPTY,      /* empty the cache */
    OP_FAIL_QUERY, /* the next event_query of the device says -a */
    OP_LIMIT,      /* a bytes */
    OP_CONFIGURE,  /* settings number a */
    OP_CAPACITY,   /* the device has a bytes from now on */
    OP_FAIL,       /* the next take or map of the device says -a */
    OP_BEGIN,      /* pool a for the streams in mask b, 0 = all */
    OP_END,        /* pool a */
    OP_RELEASE,    /* pool a */
    OP_RESET_PEAKS,
    OP_RESET_ACCUMULATED,
    OP_GIVE_AWAITING, /* slot a, to be settled */
    OP_SETTLE         /* slot a */
};

struct operation {
    enum operation_kind kind;
    unsigned slot; /* its own number when it was made */
    uint64_t a, b;
};

/* What a run begins with. */
struct setup {
    uint64_t capacity, total, limit, settings;
    bool downwards, one_thread;
    bool spoilt; /* the model gets a wrong limit: the comparison must see it */
};

uint64_t operation_stream(unsigned number);
unsigned operation_stream_number(uint64_t stream);
/* The settings of a number: 0 is the default. */
void operation_settings(uint64_t number, struct alloc_config *config);
void operation_print(const struct operation *operation);
void operation_print_setup(const struct setup *setup);

#endif
