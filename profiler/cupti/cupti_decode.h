/* cupti_decode.h - from a call of the driver and its parameters to what it does with memory. */
#ifndef TIDEMARK_PROFILER_CUPTI_DECODE_H
#define TIDEMARK_PROFILER_CUPTI_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "cupti_calls.h"
#include "cupti_live.h"

/* Enter: what is taken back. Returns whether it was known, for the exit. */
bool decode_enter(const struct call *call, const void *params, const struct live_call *who);

/* Exit: what was given, and what was not taken back after all. */
void decode_exit(const struct call *call, const void *params, const struct live_call *who,
                 bool known, bool failed);

/* Enter of a destruction of a graph; exit of a successful instantiation. */
void decode_graph_end(const struct call *call, const void *params, uint32_t name);
/* Exit of a call that begins or ends a capture. */
void decode_capture(const struct call *call, const void *params, const void *context, int result);
void decode_graph_ready(const void *params);

/* Whether anything is to be told at the enter, or of a call that failed. */
bool decode_takes(const struct call *call);

/* The bytes of the elements of an array; of an unknown format 0. */
uint64_t decode_array_bytes(uint64_t width, uint64_t height, uint64_t depth, uint32_t format,
                            uint32_t channels);

#endif
