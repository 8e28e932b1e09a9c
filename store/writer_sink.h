/*
 * writer_sink.h - what the writer thread needs of a sink beyond writer.h.
 */
#ifndef TIDEMARK_STORE_WRITER_SINK_H
#define TIDEMARK_STORE_WRITER_SINK_H

#include "writer.h"

struct writer_rows { /* sent to the database, committed or not */
    uint64_t inserted, updated;
};

/* The queue that is told now and then that rows are being written; NULL = nobody. */
void writer_sink_tick(struct writer_sink *sink, struct queue *queue);
const struct writer_rows *writer_sink_rows(const struct writer_sink *sink);
/* After a rollback: as it was at the last commit. */
void writer_sink_back_to(struct writer_sink *sink, const struct writer_rows *rows);

#endif
