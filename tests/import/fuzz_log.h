/*
 * fuzz_log.h - what the fuzzers of logs of blocks share: records through the heap state, and one
 * length in sixteen on into a database, of which every view can be read.
 */
#ifndef TIDEMARK_TESTS_FUZZ_LOG_H
#define TIDEMARK_TESTS_FUZZ_LOG_H

#include "block_log.h"

/* Feeds it, checks the state, and clears the log. */
void fuzz_feed_log(struct block_log *log);
/* The whole way; `readable`: the reader took it. */
void fuzz_import_whole(const uint8_t *bytes, size_t count, bool readable);

#endif
