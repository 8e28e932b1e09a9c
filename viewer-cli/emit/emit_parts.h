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

/* The longest beginning of a text, or of a name, that fits and ends where it may be broken. */
size_t emit_wrap_at(const char *text, size_t bytes, unsigned width);
size_t emit_name_at(const char *text, size_t bytes, unsigned width);
/* Columns of the longest piece that is broken only where nothing else is left. */
unsigned emit_piece_of(const char *text, size_t bytes, bool name);
/* So much of a cell, or of its column's header, is on the next line of `width` columns. */
size_t emit_line_of(const struct emit_column *column, const char *text, size_t bytes,
                    unsigned width);
unsigned emit_lines_of(const struct emit_column *column, const char *text, size_t bytes,
                       unsigned width);

const char *emit_header(const struct emit *emit, size_t column);
unsigned emit_header_width(const struct emit *emit, size_t column);
/* Widths of the columns for the rows that are kept. */
void emit_settle(struct emit *emit);
/* A row's cells that stand above those of another column go there, each on a line of its own. */
void emit_join_row(struct emit *emit, struct emit_cell *cells);
/* In place: "78.0 MiB" as "78.0M", "12 B" as "12B", "0 B" as "0"; the bytes it has then. */
size_t emit_make_brief(char *text, size_t bytes);
enum { EMIT_GAP = 2 /* between columns */, EMIT_LEAST_TEXT = 8 };

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
