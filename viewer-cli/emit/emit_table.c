/*
 * The emitter's format for people.
 *
 * Rows are kept until the section ends or SETTLE_ROWS of them are there; then the widths of the
 * columns are settled (emit_widths.c) and rows go out as they come. A row takes as many lines as
 * its highest cell; numbers are never broken or cut.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emit_parts.h"
#include "human.h"
#include "mem.h"

enum { SETTLE_ROWS = 2000 };

void emit_table_open(struct emit *emit, const char *title)
{
    if (title) {
        const struct emit_column *columns = emit->columns;
        emit->columns = NULL;
        emit_heading(emit, "%s", title);
        emit->columns = columns;
    } else if (emit->more && !emit->headed) {
        buf_text(&emit->out, "\n");
    }
    emit->fixed = false;
    if (!MEM_GROW(emit->layout, emit->layout_cap, emit->column_count)) {
        emit->out.broken = true;
        return;
    }
    for (size_t i = 0; i < emit->column_count; i++) {
        const struct emit_column *column = &emit->columns[i];
        emit->layout[i] = (struct emit_layout){.numbers = column->kind != EMIT_TEXT};
    }
}

/* ---- one cell ---- */

static void put_int(struct buf *out, enum emit_kind kind, int64_t value)
{
    char text[HUMAN_MAX];
    switch (kind) {
    case EMIT_SHORT:
        human_bytes(text, value);
        buf_add(out, text, emit_make_brief(text, strlen(text)));
        return;
    case EMIT_BYTES:
        buf_text(out, human_bytes(text, value));
        return;
    case EMIT_DELTA:
        buf_text(out, human_delta(text, value));
        return;
    case EMIT_COUNT:
        buf_text(out, human_count(text, value));
        return;
    case EMIT_NS:
        buf_text(out, human_ns(text, value));
        return;
    case EMIT_RATIO:
        buf_text(out, human_percent(text, (double)value));
        return;
    case EMIT_TEXT:
    case EMIT_PLAIN:
    case EMIT_ANY:
        break;
    }
    buf_print(out, "%" PRId64, value);
}

static void put_real(struct buf *out, enum emit_kind kind, double value)
{
    char text[HUMAN_MAX];
    if (kind == EMIT_RATIO)
        buf_text(out, human_percent(text, value));
    else
        emit_put_real(out, value);
}

static const char *null_text(struct emit *emit, const struct emit_column *column)
{
    if (column->kind == EMIT_ANY)
        return "NULL";
    if (column->flags & (EMIT_NONE | EMIT_PROGRAMS))
        return "";
    if (column->flags & EMIT_IF_KNOWN && emit->style == EMIT_RECORD)
        return "";
    return "-";
}

void emit_table_value(struct emit *emit, const struct emit_value *value)
{
    const struct emit_column *column = &emit->columns[emit->at];
    if (emit->out.broken || !MEM_GROW(emit->cells, emit->cell_cap, emit->cell_count + 1)) {
        emit->out.broken = true;
        return;
    }
    struct emit_layout *layout = &emit->layout[emit->at];
    struct emit_cell *cell = &emit->cells[emit->cell_count++];
    *cell = (struct emit_cell){.text = emit->text.count, .null = value->kind == VALUE_NULL};
    if (value->kind == VALUE_TEXT)
        cell->width = emit_put_safe(&emit->text, value->text, value->bytes);
    else if (value->kind == VALUE_INT)
        put_int(&emit->text, column->kind, value->integer);
    else if (value->kind == VALUE_REAL)
        put_real(&emit->text, column->kind, value->real);
    else
        buf_text(&emit->text, null_text(emit, column));
    cell->bytes = (uint32_t)(emit->text.count - cell->text);
    if (value->kind != VALUE_TEXT)
        cell->width = cell->bytes;
    layout->known = layout->known || !cell->null;
    layout->numbers = layout->numbers && value->kind != VALUE_TEXT;
    if (layout->brief && value->kind != VALUE_TEXT && value->kind != VALUE_NULL &&
        emit->text.data) {
        cell->bytes = cell->width =
            (uint32_t)emit_make_brief(emit->text.data + cell->text, cell->bytes);
        emit->text.count = cell->text + cell->bytes;
    }
    if (!emit->fixed && cell->width > layout->cells)
        layout->cells = cell->width;
}

/* ---- lines ---- */

/* Only a row of several lines is broken: one that a terminal has no room for, and of a text. */
static bool goes_on(const struct emit *emit, size_t i)
{
    const struct emit_column *column = &emit->columns[i];
    return !emit->layout[i].numbers && (emit->layout[i].wraps || (column->kind == EMIT_TEXT &&
                                                                  !(column->flags & EMIT_COMMAND)));
}

/* The next line of a cell, into its column; what is before it is still to be padded. */
static void put_part(struct emit *emit, size_t i, unsigned *blanks, bool header)
{
    struct emit_layout *layout = &emit->layout[i];
    const char *text = layout->rest;
    size_t bytes = layout->after ? 0 : layout->left, n = bytes;
    layout->after -= layout->after > 0;
    unsigned columns = emit_columns_of(text, n);
    bool several = n && memchr(text, '\n', n);
    if (several || (emit->width && columns > layout->width && (header || goes_on(emit, i)))) {
        n = emit_line_of(header ? &(struct emit_column){0} : &emit->columns[i], text, bytes,
                         layout->width);
        columns = emit_columns_of(text, n);
    }
    bool cut = emit->width && columns > layout->width && !layout->numbers && !header;
    columns = cut ? layout->width : columns;
    unsigned room = layout->width > columns ? layout->width - columns : 0;
    if (!n) {
        *blanks += layout->width;
        return;
    }
    emit_pad(&emit->out, *blanks + (layout->numbers ? room : 0));
    *blanks = layout->numbers ? 0 : room;
    if (cut)
        emit_put_shorter(&emit->out, text, n, layout->width, emit->columns[i].flags);
    else
        buf_add(&emit->out, text, n);
    while (n < bytes && (text[n] == ' ' || text[n] == '\n'))
        n++;
    layout->rest += n;
    layout->left -= n;
}

static bool is_over(const struct emit *emit)
{
    for (size_t i = 0; i < emit->column_count; i++)
        if (emit->layout[i].shown && emit->layout[i].left)
            return false;
    return true;
}

/* All lines of a row: nothing stands at the end of one. */
static void put_lines(struct emit *emit, bool header)
{
    const char *before = header && emit->colour ? "\033[4m" : "";
    const char *behind = header && emit->colour ? "\033[0m\n" : "\n";
    do {
        unsigned blanks = 0, shown = 0;
        buf_text(&emit->out, before);
        for (size_t i = 0; i < emit->column_count; i++) {
            if (!emit->layout[i].shown)
                continue;
            blanks += shown++ ? EMIT_GAP : 0;
            put_part(emit, i, &blanks, header);
        }
        buf_text(&emit->out, behind);
    } while (!is_over(emit));
}

static unsigned header_lines(const struct emit *emit, size_t i)
{
    const char *text = emit_header(emit, i);
    return emit->width
               ? emit_lines_of(&(struct emit_column){0}, text, strlen(text), emit->layout[i].width)
               : 1;
}

/* Headers end on one line. */
static void put_header(struct emit *emit)
{
    unsigned most = 1;
    for (size_t i = 0; i < emit->column_count; i++)
        if (emit->layout[i].shown && header_lines(emit, i) > most)
            most = header_lines(emit, i);
    for (size_t i = 0; i < emit->column_count; i++) {
        struct emit_layout *layout = &emit->layout[i];
        layout->rest = emit_header(emit, i);
        layout->left = strlen(layout->rest);
        layout->after = layout->shown ? most - header_lines(emit, i) : 0;
    }
    put_lines(emit, true);
}

static void note_unknown(struct emit *emit, const struct emit_cell *cell, size_t i)
{
    if (cell->null && cell->bytes == 1 && emit->layout[i].shown)
        emit->unknown = true;
}

/* Of a text that would take too many lines, beginning and end. */
static void shorten(struct emit *emit, size_t i, struct buf *shorter)
{
    struct emit_layout *layout = &emit->layout[i];
    unsigned most = layout->width * (EMIT_MOST_LINES - 1);
    if (!emit->width || emit->columns[i].flags & EMIT_WRAP || !goes_on(emit, i) ||
        emit_columns_of(layout->rest, layout->left) <= most)
        return;
    shorter->count = 0;
    emit_put_shorter(shorter, layout->rest, layout->left, most, EMIT_NAME);
    layout->rest = buf_string(shorter);
    layout->left = shorter->count;
}

static void put_row(struct emit *emit, const struct emit_cell *cells)
{
    struct buf *shorter = mem_alloc(emit->column_count + 1, sizeof *shorter);
    emit->out.broken = emit->out.broken || !shorter;
    for (size_t i = 0; i < emit->column_count && shorter; i++) {
        struct emit_layout *layout = &emit->layout[i];
        layout->rest = buf_string(&emit->text) + cells[i].text;
        layout->left = cells[i].bytes;
        layout->after = 0;
        note_unknown(emit, &cells[i], i);
        shorten(emit, i, &shorter[i]);
    }
    put_lines(emit, false);
    for (size_t i = 0; i < emit->column_count && shorter; i++) {
        emit->out.broken = emit->out.broken || shorter[i].broken;
        buf_clear(&shorter[i]);
    }
    mem_free(shorter);
}

static void put_record(struct emit *emit, const struct emit_cell *cells)
{
    unsigned label = 0;
    for (size_t i = 0; i < emit->column_count; i++)
        if (cells[i].bytes && emit_header_width(emit, i) > label)
            label = emit_header_width(emit, i);
    for (size_t i = 0; i < emit->column_count; i++) {
        const char *header = emit_header(emit, i);
        if (!cells[i].bytes || emit->columns[i].flags & EMIT_PROGRAMS)
            continue;
        note_unknown(emit, &cells[i], i);
        buf_text(&emit->out, header);
        emit_pad(&emit->out, label - emit_header_width(emit, i) + EMIT_GAP);
        unsigned room =
            emit->width > label + EMIT_GAP + EMIT_LEAST_TEXT ? emit->width - label - EMIT_GAP : 0;
        emit_put_wrapped(&emit->out, buf_string(&emit->text) + cells[i].text, cells[i].bytes, room,
                         label + EMIT_GAP);
        buf_text(&emit->out, "\n");
    }
}

static void put_rows(struct emit *emit)
{
    for (size_t at = 0; at + emit->column_count <= emit->cell_count; at += emit->column_count) {
        if (emit->style == EMIT_RECORD) {
            if (at)
                buf_text(&emit->out, "\n");
            put_record(emit, emit->cells + at);
        } else {
            put_row(emit, emit->cells + at);
        }
    }
    emit->cell_count = 0;
    emit->text.count = 0;
}

static void fix(struct emit *emit)
{
    emit_settle(emit);
    if (emit->style == EMIT_ROWS)
        put_header(emit);
    emit->fixed = true;
}

void emit_table_row(struct emit *emit)
{
    if (emit->out.broken)
        return;
    if (!emit->fixed && emit->rows >= SETTLE_ROWS)
        fix(emit);
    else if (emit->fixed)
        emit_join_row(emit, emit->cells);
    if (emit->fixed)
        put_rows(emit);
}

void emit_table_flush(struct emit *emit)
{
    if (emit->out.broken)
        return;
    if (!emit->fixed)
        fix(emit);
    put_rows(emit);
}

void emit_table_close(struct emit *emit)
{
    if (emit->out.broken)
        return;
    emit_table_flush(emit);
    emit->more = true;
    emit->headed = false;
}

static void put_spared(struct emit *emit)
{
    const char *at = buf_string(&emit->spared);
    for (const char *join = "columns left out: "; *at; join = ", ") {
        size_t n = strcspn(++at, "\n");
        buf_text(&emit->out, join);
        buf_add(&emit->out, at, n);
        at += n + 1;
    }
    if (emit->spared.count)
        buf_text(&emit->out, "\n");
    emit->out.broken = emit->out.broken || emit->spared.broken;
}

void emit_table_end(struct emit *emit)
{
    const char *at = buf_string(&emit->notes);
    if ((emit->unknown || emit->spared.count || *at) && emit->more)
        buf_text(&emit->out, "\n");
    put_spared(emit);
    if (emit->unknown)
        buf_text(&emit->out, "- = not known from this source\n");
    /* Warnings last: they are the last word on the numbers above. */
    for (const char *kinds = "nw"; *kinds; kinds++) {
        for (const char *note = at; *note; note += strcspn(note, "\n") + 1) {
            if (*note != *kinds)
                continue;
            size_t n = strcspn(note + 1, "\n");
            emit_put_wrapped(&emit->out, note + 1, n, emit->width, 0);
            buf_text(&emit->out, "\n");
        }
    }
}
