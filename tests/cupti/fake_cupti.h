/*
 * fake_cupti.h - a CUPTI and a driver of our own. The driver loads what CUDA_INJECTION64_PATH names
 * when it starts, as the real one does, and makes callbacks through the CUPTI that TIDEMARK_CUPTI
 * names, if that is loaded.
 *
 * One tool subscribes; one pair of functions gets all buffers, whoever asked for the records. A
 * buffer is asked for with the first record and comes back with a flush, to whom the pair belongs
 * by then.
 */
#ifndef TIDEMARK_TESTS_FAKE_CUPTI_H
#define TIDEMARK_TESTS_FAKE_CUPTI_H

#include <stddef.h>
#include <stdint.h>

#include "cupti_abi.h"

/* What libcupti shows as `fake_cupti`. */
struct fake_cupti {
    uint32_t version;
    int subscribe_result; /* what the next subscription gets */
    int enable_result;    /* of callbacks */
    int activity_result;
    const char *holder;       /* who has it, for ABI_HELD */
    abi_callback_fn callback; /* NULL: nobody has subscribed */
    int subscribed, unsubscribed, flushes, forced, dropped;
    int enabled;         /* callbacks that were asked for */
    uint64_t kinds;      /* bit n: activity of kind n is on */
    uint64_t attributes; /* bit n: attribute n is 1 */
    abi_request_fn request;
    abi_complete_fn complete;
    int registered;      /* how often */
    char queued[8][256]; /* records that a flush brings */
    size_t queued_bytes[8];
    int queued_count;
    uint8_t *buffer; /* that is being filled */
    size_t buffer_bytes, buffer_used;
    int dirty;           /* buffers that were said to be zeroed, and were not */
    int left_out;        /* records for which there was no buffer */
    uint64_t now;        /* counts memory records */
    uint8_t heard[1024]; /* calls of the driver whose callbacks are on */
    /* Before a callback or a kind changes: what happens in other threads meanwhile. */
    void (*on_enable)(int domain, uint32_t cbid);
    void (*on_disable)(int kind);
};

/* A record of memory, if anybody asked for them. By libcupti. */
typedef void (*fake_memory_fn)(uint32_t operation, uint32_t kind, uint64_t address, uint64_t bytes,
                               uint32_t correlation);

/* A call of the driver: enter, then exit with the result. By libcupti. */
typedef void (*fake_call_fn)(int domain, int place, uint32_t cbid, const void *params,
                             const void *context, int result, uint32_t correlation);

#endif
