/*
 * emit_parts.h - what the files of the emitter share; see emit.h.
 */
#ifndef TIDEMARK_VIEWER_EMIT_PARTS_H
#define TIDEMARK_VIEWER_EMIT_PARTS_H

#include "emit.h"
#include "emit_text.h"

struct emit_value {
    enum { VALUE_NULL, VALUE_INT, VALUE_REAL, VALUE_TEXT } kind;
    int64_t integer;
    double real;
    const char *text;
    size_t bytes;
};

/* A double that reads back as the same double. */
void emit_put_real(struct buf *out, double value);

void emit_pad(struct buf *out, unsigned blanks);
/* A cell's text, as its column's flags have it cut. */
void emit_put_shorter(struct buf *out, const char *text, size_t bytes, unsigned width,
                      unsigned flags);
/* Some rows kept so far are not the same in this column, and are once they are cut to its width. */
bool emit_is_cut_alike(const struct emit *emit, size_t column);

void emit_table_open(struct emit *emit, const char *title);
void emit_table_value(struct emit *emit, const struct emit_value *value);
void emit_table_row(struct emit *emit);
void emit_table_flush(struct emit *emit);
void emit_table_close(struct emit *emit);
void emit_table_end(struct emit *emit);

void emit_csv_open(struct emit *emit, const char *key);
void emit_csv_value(struct emit *emit, const struct emit_value *value);
void emit_csv_end(struct emit *emit);

void emit_json_begin(struct emit *emit);
void emit_json_open(struct emit *emit, const char *key);
void emit_json_value(struct emit *emit, const struct emit_value *value);
void emit_json_close(struct emit *emit);
void emit_json_end(struct emit *emit);

#endif
