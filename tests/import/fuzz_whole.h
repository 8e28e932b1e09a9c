/*
 * fuzz_whole.h - what the fuzzers of importers share: rows of the heap state are checked and
 * dropped, or the bytes go the whole way into a database, of which every view is read.
 */
#ifndef TIDEMARK_TESTS_FUZZ_WHOLE_H
#define TIDEMARK_TESTS_FUZZ_WHOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A `flush` of feeds whose `self` is the state. */
int fuzz_drop_rows(void *self);
/* A file that can be read (`readable`: its reader took it) becomes a recording; of another nothing
   is said to be written. */
void fuzz_import_whole(const uint8_t *bytes, size_t count, bool readable, bool all_frames);

#endif
