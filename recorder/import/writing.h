/*
 * writing.h - the recording that an import makes: one database, the heap state that fills it, and
 * the facts of the run. Every format writes by it, and by nothing else.
 *
 * Order: writing_open, writing_begin, then events into `state` (writing_flush whenever it wants
 * one), writing_finish; writing_clear in any case.
 */
#ifndef TIDEMARK_IMPORT_WRITING_H
#define TIDEMARK_IMPORT_WRITING_H

#include <stdbool.h>
#include <stdint.h>

#include "db.h"
#include "import.h"
#include "state.h"
#include "writer.h"

struct writing {
    struct import_result *result;
    struct db *db;
    struct state *state;
    struct writer_sink *sink;
};

/* Each returns a base_err, with result->message and, if it was the database, result->wrote. */
int writing_open(struct writing *writing, const char *output, struct import_result *result);
int writing_begin(struct writing *writing, int64_t base_us); /* since 1970; 0 = not known */
int writing_flush(void *writing);                            /* a struct writing */
/* `ended` is a sentence: "the snapshot was taken". */
int writing_finish(struct writing *writing, int64_t run_ns, const char *ended);
void writing_clear(struct writing *writing);

#endif
