/* cupti_start.h - one attempt to get CUPTI, and to let it go. */
#ifndef TIDEMARK_PROFILER_CUPTI_START_H
#define TIDEMARK_PROFILER_CUPTI_START_H

#include <stdbool.h>
#include <stdint.h>

enum start_result {
    START_CALLBACKS, /* subscribed */
    START_RECORDS,   /* no callbacks; memory records */
    START_HELD,      /* another tool has CUPTI */
    START_REFUSED,
    START_NO_LIBRARY,
};

/* Opens CUPTI and subscribes. Not in a callback. */
enum start_result start_begin(void);
/* The same with the library that start_begin found. */
enum start_result start_again(void);
/* Unsubscribes; buffers are back when it returns. */
void start_end(void);

/* A sentence on the last attempt: "cupti 130001: driver callbacks", or why not. */
const char *start_text(void);

#endif
