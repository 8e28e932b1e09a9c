/*
 * writer_sink.h - what the writer thread needs of a sink beyond writer.h.
 */
#ifndef TIDEMARK_RECORDER_WRITER_SINK_H
#define TIDEMARK_RECORDER_WRITER_SINK_H

#include "writer.h"

struct writer_rows { /* sent to the database, committed or not */
    uint64_t inserted, updated;
};

const struct writer_rows *writer_sink_rows(const struct writer_sink *sink);

#endif
