/*
 * Text that is longer than there is room for: cut in its middle or at its end, or wrapped; and
 * whether the texts of a column are still told apart when they are cut. Names are wrapped in
 * emit_name.c.
 */
#include <stdlib.h>
#include <string.h>

#include "emit_parts.h"
#include "mem.h"

enum { LEAST_CUT = 8 };

void emit_pad(struct buf *out, unsigned n)
{
    static const char blanks[] = "                                ";
    for (; n > 0; n -= n < 32 ? n : 32)
        buf_add(out, blanks, n < 32 ? n : 32);
}

/* ---- one line ---- */

/* Cut in the middle, a command keeps its program and its last arguments. */
static void put_cut(struct buf *out, const char *text, size_t bytes, unsigned width, bool middle)
{
    unsigned room = width - 3, whole = emit_columns_of(text, bytes);
    unsigned end = middle ? room * 3 / 5 : 0;
    buf_add(out, text, emit_fit(text, bytes, room - end));
    buf_text(out, "...");
    size_t skip = emit_fit(text, bytes, whole - end);
    buf_add(out, text + skip, bytes - skip);
}

void emit_put_shorter(struct buf *out, const char *text, size_t bytes, unsigned width,
                      unsigned flags)
{
    put_cut(out, text, bytes, width, flags & (EMIT_COMMAND | EMIT_NAME));
}

void emit_put_cut(struct buf *out, const char *text, unsigned width)
{
    struct buf safe = {0};
    unsigned whole = emit_put_safe(&safe, text, strlen(text));
    width = width && width < LEAST_CUT ? LEAST_CUT : width;
    if (!width || whole <= width)
        buf_add(out, buf_string(&safe), safe.count);
    else
        put_cut(out, buf_string(&safe), safe.count, width, true);
    out->broken = out->broken || safe.broken;
    buf_clear(&safe);
}

/* ---- several lines ---- */

/* A number and its unit stay on one line. */
static bool is_before_unit(const char *text, size_t bytes, size_t at)
{
    size_t left = bytes - at - 1;
    const char *unit = text + at + 1;
    if (!at || text[at - 1] < '0' || text[at - 1] > '9' || !left)
        return false;
    return *unit == 'B' || *unit == '%' || (left > 1 && strchr("KMGT", *unit) && unit[1] == 'i');
}

/* The longest beginning that ends at a blank and fits; where none does, that which ends behind a
 * bracket, a comma or a dot of code, or what fits. */
size_t emit_wrap_at(const char *text, size_t bytes, unsigned width)
{
    size_t fits = emit_fit(text, bytes, width);
    if (fits == bytes)
        return bytes;
    for (size_t at = fits; at > 0; at--)
        if (text[at] == ' ' && !is_before_unit(text, bytes, at))
            return at;
    for (size_t at = fits; at > fits / 3; at--)
        if ((text[at - 1] == '(' && text[at] != ')') || text[at - 1] == ',')
            return at;
    for (size_t at = fits; at > fits / 3; at--)
        if (text[at - 1] == '.' && text[at] > ' ')
            return at;
    return fits ? fits : 1;
}

void emit_put_wrapped(struct buf *out, const char *text, size_t bytes, unsigned width,
                      unsigned indent)
{
    for (;;) {
        size_t n = width ? emit_wrap_at(text, bytes, width) : bytes;
        buf_add(out, text, n);
        text += n;
        bytes -= n;
        while (bytes && *text == ' ') {
            text++;
            bytes--;
        }
        if (!bytes)
            return;
        buf_text(out, "\n");
        emit_pad(out, indent);
    }
}

/* The most that fits with three dots behind it, ended at a blank if that is not far off. */
static void put_end(struct buf *out, const char *text, size_t bytes, unsigned width)
{
    size_t fits = emit_fit(text, bytes, width > 3 ? width - 3 : width), at = fits;
    while (at > fits / 2 && text[at] != ' ')
        at--;
    buf_add(out, text, at > fits / 2 ? at : fits);
    buf_text(out, "...");
}

void emit_put_cut_lines(struct buf *out, const char *text, unsigned width, unsigned lines)
{
    struct buf safe = {0};
    unsigned whole = emit_put_safe(&safe, text, strlen(text));
    const char *rest = buf_string(&safe), *begin = rest;
    size_t bytes = safe.count;
    if (!width || whole <= width)
        lines = 0; /* all of it */
    for (; lines > 1 && bytes; lines--) {
        size_t n = emit_wrap_at(rest, bytes, width);
        while (n < bytes && rest[n] == ' ')
            n++;
        rest += n;
        bytes -= n;
    }
    buf_add(out, begin, (size_t)(rest - begin));
    if (lines && emit_columns_of(rest, bytes) > width)
        put_end(out, rest, bytes, width);
    else
        buf_add(out, rest, bytes);
    out->broken = out->broken || safe.broken;
    buf_clear(&safe);
}

/* ---- alike ---- */

struct shown_name { /* as a row has it, and what is left of it */
    const char *text;
    size_t bytes;
    size_t at, count; /* in the texts that are shown */
};

struct shown_names {
    struct shown_name *names;
    size_t count;
    struct buf texts;
};

static int by_shown(const void *a, const void *b, void *texts)
{
    const struct shown_name *x = a, *y = b;
    const char *all = texts;
    size_t least = x->count < y->count ? x->count : y->count;
    int order = least ? memcmp(all + x->at, all + y->at, least) : 0;
    return order ? order : (x->count > y->count) - (x->count < y->count);
}

static void show_names(const struct emit *emit, size_t column, struct shown_names *all)
{
    unsigned width = emit->layout[column].width;
    for (size_t row = 0; row < all->count; row++) {
        const struct emit_cell *cell = &emit->cells[row * emit->column_count + column];
        struct shown_name *name = &all->names[row];
        *name = (struct shown_name){
            .text = emit->text.data + cell->text, .bytes = cell->bytes, .at = all->texts.count};
        if (cell->width <= width)
            buf_add(&all->texts, name->text, name->bytes);
        else
            emit_put_shorter(&all->texts, name->text, name->bytes, width,
                             emit->columns[column].flags);
        name->count = all->texts.count - name->at;
    }
}

bool emit_is_cut_alike(const struct emit *emit, size_t column)
{
    struct shown_names all = {.count = emit->cell_count / emit->column_count};
    bool alike = false;
    all.names = mem_alloc(all.count + 1, sizeof *all.names);
    if (!all.names || !emit->text.count) {
        mem_free(all.names);
        return false;
    }
    show_names(emit, column, &all);
    if (!all.texts.broken)
        qsort_r(all.names, all.count, sizeof *all.names, by_shown, all.texts.data);
    for (size_t i = 1; i < all.count && !alike && !all.texts.broken; i++) {
        const struct shown_name *one = &all.names[i - 1], *other = &all.names[i];
        bool same = one->bytes == other->bytes && memcmp(one->text, other->text, one->bytes) == 0;
        alike = !same && by_shown(one, other, all.texts.data) == 0;
    }
    buf_clear(&all.texts);
    mem_free(all.names);
    return alike;
}
