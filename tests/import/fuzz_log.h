/*
 * fuzz_log.h - what the fuzzers of logs of blocks share: records through the heap state.
 */
#ifndef TIDEMARK_TESTS_FUZZ_LOG_H
#define TIDEMARK_TESTS_FUZZ_LOG_H

#include "block_log.h"

/* Feeds it, checks the state, and clears the log. */
void fuzz_feed_log(struct block_log *log);

#endif
