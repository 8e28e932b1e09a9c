/* cupti_start.h - one attempt to get CUPTI, and to let it go. */
#ifndef TIDEMARK_PROFILER_CUPTI_START_H
#define TIDEMARK_PROFILER_CUPTI_START_H

#include <stdbool.h>
#include <stdint.h>

enum start_result {
    START_CALLBACKS, /* subscribed */
    START_RECORDS,   /* no callbacks; memory records */
    START_BESIDE,    /* memory records, while another has the subscription */
    START_HELD,      /* another tool has CUPTI */
    START_REFUSED,
    START_NO_LIBRARY,
};

/* Opens CUPTI and subscribes. Not in a callback. */
enum start_result start_begin(void);
/* The same with the library that start_begin found. */
enum start_result start_again(void);
/* Memory records, and what --kernels wants, without a subscription: activity needs none. False: not
 * to be had. */
bool start_beside(void);
/* From there to callbacks: START_CALLBACKS, or it is as it was. Nothing is told twice: what
 * callbacks have told from the first of them on is not told by the last records. */
enum start_result start_over(void);
/* Unsubscribes; buffers are back when it returns. */
void start_end(void);

/* A sentence on the last attempt: "cupti 130001: driver callbacks", or why not. */
const char *start_text(void);

#endif
