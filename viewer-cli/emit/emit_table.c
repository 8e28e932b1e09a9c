/*
 * The emitter's format for people.
 *
 * Rows are kept until the section ends or SETTLE_ROWS of them are there; then the widths of the
 * columns are settled and rows go out as they come. On a terminal spare columns give way first, the
 * last one first, as long as some text would be cut below what can be read of it; then the
 * widest texts, never below LEAST_TEXT; numbers are never cut. A wrapped last column takes what is
 * left.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emit_parts.h"
#include "human.h"
#include "mem.h"

enum {
    SETTLE_ROWS = 2000,
    LEAST_TEXT = 8,
    READABLE_TEXT = 18,
    READABLE_SITE = 30,
    READABLE_CODE = 56, /* of a wrapped text, before it is broken inside of names */
    LEAST_WRAP = 24,
    GAP = 2
};

static const char *header_of(const struct emit_column *column)
{
    return column->header ? column->header : column->key;
}

static unsigned header_width(const struct emit_column *column)
{
    return emit_columns_of(header_of(column), strlen(header_of(column)));
}

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
        emit->layout[i] = (struct emit_layout){
            .width = header_width(column),
            .numbers = column->kind != EMIT_TEXT,
        };
    }
}

/* ---- one cell ---- */

/* "78.0 MiB" as "78.0M", "12 B" as "12". */
static const char *short_bytes(char text[HUMAN_MAX], int64_t value)
{
    char *space = strchr(human_bytes(text, value), ' ');
    if (space) {
        space[0] = space[1] == 'B' ? '\0' : space[1];
        space[1] = '\0';
    }
    return text;
}

static void put_int(struct buf *out, enum emit_kind kind, int64_t value)
{
    char text[HUMAN_MAX];
    switch (kind) {
    case EMIT_SHORT:
        buf_text(out, short_bytes(text, value));
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
    if (!emit->fixed && cell->width > layout->width)
        layout->width = cell->width;
}

/* ---- widths ---- */

static bool gives_way(const struct emit *emit, size_t i)
{
    const struct emit_layout *layout = &emit->layout[i];
    return layout->shown && !layout->numbers && layout->width > LEAST_TEXT &&
           layout->width > header_width(&emit->columns[i]);
}

/* A text of this many columns can still be read. */
static unsigned readable(const struct emit *emit, size_t i)
{
    unsigned flags = emit->columns[i].flags;
    if (!(flags & EMIT_ROOMY))
        return READABLE_TEXT;
    return flags & EMIT_WRAP ? READABLE_CODE : READABLE_SITE;
}

static int slack(const struct emit *emit, size_t i)
{
    return (int)emit->layout[i].width - (int)readable(emit, i);
}

static void shrink(struct emit *emit, unsigned excess, size_t last)
{
    struct emit_layout *tail = &emit->layout[last];
    if (emit->columns[last].flags & EMIT_WRAP && tail->width > LEAST_WRAP) {
        unsigned most = tail->width - LEAST_WRAP;
        unsigned take = most < excess ? most : excess;
        tail->width -= take;
        excess -= take;
    }
    while (excess > 0) {
        size_t widest = emit->column_count;
        for (size_t i = 0; i < emit->column_count; i++) {
            if (!gives_way(emit, i))
                continue;
            if (widest == emit->column_count || slack(emit, i) > slack(emit, widest))
                widest = i;
        }
        if (widest == emit->column_count)
            return;
        emit->layout[widest].width--;
        excess--;
    }
}

/* Width of the line; with `least`, when texts are as short as they can be and still be read. */
static unsigned total_width(const struct emit *emit, bool least)
{
    unsigned total = 0;
    for (size_t i = 0; i < emit->column_count; i++) {
        const struct emit_layout *layout = &emit->layout[i];
        bool shorter = least && gives_way(emit, i) && layout->width > readable(emit, i);
        if (layout->shown)
            total += (shorter ? readable(emit, i) : layout->width) + (total ? GAP : 0);
    }
    return total;
}

static void spare(struct emit *emit, size_t i)
{
    char line[64];
    snprintf(line, sizeof line, "\n%.60s\n", header_of(&emit->columns[i]));
    emit->layout[i].shown = false;
    if (!strstr(buf_string(&emit->spared), line))
        buf_text(&emit->spared, line);
}

/* The last one that can be left out goes, with the one that it is a pair with. */
static bool spare_one(struct emit *emit)
{
    for (size_t i = emit->column_count; i-- > 0;)
        if (emit->layout[i].shown && emit->columns[i].flags & EMIT_SPARE) {
            spare(emit, i);
            if (i > 0 && emit->columns[i - 1].flags & EMIT_PAIR)
                spare(emit, i - 1);
            return true;
        }
    return false;
}

static void fit_width(struct emit *emit, size_t last)
{
    for (size_t i = 0; i < emit->column_count; i++)
        emit->layout[i].width = emit->layout[i].whole;
    unsigned total = total_width(emit, false);
    if (total > emit->width)
        shrink(emit, total - emit->width, last);
}

/* Names of a column that are not the same, and would be once they are cut, have more room: that of
 * columns that can be left out; then the last column goes on below itself, and another one is as
 * wide as they need. */
static void keep_apart(struct emit *emit, size_t i, size_t last)
{
    struct emit_layout *layout = &emit->layout[i];
    if (!layout->shown || !(emit->columns[i].flags & EMIT_MIDDLE))
        return;
    while (layout->width < layout->whole && emit_is_cut_alike(emit, i)) {
        if (i == last) {
            layout->wraps = true;
            return;
        }
        if (spare_one(emit))
            fit_width(emit, last);
        else
            layout->width++;
    }
}

static void settle(struct emit *emit)
{
    size_t last = 0;
    for (size_t i = 0; i < emit->column_count; i++) {
        struct emit_layout *layout = &emit->layout[i];
        unsigned flags = emit->columns[i].flags;
        layout->whole = layout->width;
        layout->wraps = false;
        layout->shown = !(flags & EMIT_PROGRAMS) && (layout->known || !(flags & EMIT_IF_KNOWN));
        last = layout->shown ? i : last;
    }
    if (!emit->width)
        return;
    while (total_width(emit, true) > emit->width && spare_one(emit))
        ;
    fit_width(emit, last);
    for (size_t i = 0; i <= last && emit->style == EMIT_ROWS && !emit->out.broken; i++)
        keep_apart(emit, i, last);
}

/* ---- lines ---- */

/* What a line has still to pad before its next column: nothing stands at the end of a line. */
struct line {
    unsigned column; /* where the next cell begins */
    unsigned blanks;
};

static void put_cell(struct emit *emit, struct line *line, size_t i, const char *text, size_t bytes,
                     unsigned width)
{
    const struct emit_layout *layout = &emit->layout[i];
    unsigned flags = emit->columns[i].flags;
    if (line->column)
        line->blanks += GAP, line->column += GAP;
    unsigned room = layout->width > width ? layout->width - width : 0;
    if (bytes) {
        emit_pad(&emit->out, line->blanks + (layout->numbers ? room : 0));
        line->blanks = layout->numbers ? 0 : room;
        if (width <= layout->width || !emit->width || layout->numbers)
            buf_add(&emit->out, text, bytes);
        else if (flags & EMIT_WRAP || layout->wraps)
            emit_put_wrapped(&emit->out, text, bytes, layout->width, line->column);
        else
            emit_put_shorter(&emit->out, text, bytes, layout->width, flags);
    } else {
        line->blanks += layout->width;
    }
    line->column += layout->width;
}

static void put_header(struct emit *emit)
{
    struct line line = {0};
    buf_text(&emit->out, emit->colour ? "\033[4m" : "");
    for (size_t i = 0; i < emit->column_count; i++) {
        const char *header = header_of(&emit->columns[i]);
        if (emit->layout[i].shown)
            put_cell(emit, &line, i, header, strlen(header), header_width(&emit->columns[i]));
    }
    buf_text(&emit->out, emit->colour ? "\033[0m\n" : "\n");
}

static void note_unknown(struct emit *emit, const struct emit_cell *cell, size_t i)
{
    if (cell->null && cell->bytes == 1 && emit->layout[i].shown)
        emit->unknown = true;
}

static void put_row(struct emit *emit, const struct emit_cell *cells)
{
    struct line line = {0};
    for (size_t i = 0; i < emit->column_count; i++) {
        if (!emit->layout[i].shown)
            continue;
        note_unknown(emit, &cells[i], i);
        put_cell(emit, &line, i, buf_string(&emit->text) + cells[i].text, cells[i].bytes,
                 cells[i].width);
    }
    buf_text(&emit->out, "\n");
}

static void put_record(struct emit *emit, const struct emit_cell *cells)
{
    unsigned label = 0;
    for (size_t i = 0; i < emit->column_count; i++)
        if (cells[i].bytes && header_width(&emit->columns[i]) > label)
            label = header_width(&emit->columns[i]);
    for (size_t i = 0; i < emit->column_count; i++) {
        const char *header = header_of(&emit->columns[i]);
        if (!cells[i].bytes || emit->columns[i].flags & EMIT_PROGRAMS)
            continue;
        note_unknown(emit, &cells[i], i);
        buf_text(&emit->out, header);
        emit_pad(&emit->out, label - header_width(&emit->columns[i]) + GAP);
        unsigned room = emit->width > label + GAP + LEAST_TEXT ? emit->width - label - GAP : 0;
        emit_put_wrapped(&emit->out, buf_string(&emit->text) + cells[i].text, cells[i].bytes, room,
                         label + GAP);
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
    settle(emit);
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
    for (const char *join = "no room here for: "; *at; join = ", ") {
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
