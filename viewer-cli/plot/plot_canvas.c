#include "plot_canvas.h"

#include <string.h>

#include "emit_text.h"
#include "mem.h"

bool canvas_make(struct canvas *canvas, unsigned width, unsigned height)
{
    *canvas = (struct canvas){.width = width, .height = height};
    canvas->cells = mem_alloc((size_t)width * height, sizeof *canvas->cells);
    if (!canvas->cells)
        return false;
    for (size_t i = 0; i < (size_t)width * height; i++)
        canvas->cells[i].ink = canvas->cells[i].ground = CANVAS_PLAIN;
    return true;
}

void canvas_clear(struct canvas *canvas)
{
    mem_free(canvas->cells);
    *canvas = (struct canvas){0};
}

static struct canvas_cell *cell_at(const struct canvas *canvas, unsigned x, unsigned y)
{
    if (x >= canvas->width || y >= canvas->height)
        return NULL;
    return &canvas->cells[(size_t)y * canvas->width + x];
}

bool canvas_is_valid(const struct canvas *canvas)
{
    for (size_t i = 0; i < (size_t)canvas->width * canvas->height; i++) {
        const struct canvas_cell *cell = &canvas->cells[i];
        size_t n = strnlen(cell->glyph, sizeof cell->glyph);
        uint32_t code;
        if (n == sizeof cell->glyph || cell->ink > CANVAS_PLAIN || cell->ground > CANVAS_PLAIN)
            return false;
        if (n > 0 && (emit_utf8(cell->glyph, n, &code) != n || code < ' '))
            return false;
    }
    return true;
}

void canvas_put(struct canvas *canvas, unsigned x, unsigned y, const char *glyph,
                struct canvas_pen pen)
{
    struct canvas_cell *cell = cell_at(canvas, x, y);
    uint32_t code;
    if (!cell)
        return;
    size_t n = emit_utf8(glyph, strlen(glyph), &code);
    memset(cell->glyph, 0, sizeof cell->glyph);
    memcpy(cell->glyph, n ? glyph : "?", n ? n : 1);
    cell->ink = (uint8_t)pen.ink;
    cell->ground = (uint8_t)pen.ground;
    cell->bold = pen.bold;
}

/* A letter that is two columns wide would move what stands behind it, and one of none would hang on
 * it. */
unsigned canvas_text(struct canvas *canvas, unsigned x, unsigned y, const char *text,
                     struct canvas_pen pen)
{
    struct buf safe = {0};
    emit_put_safe(&safe, text, strlen(text));
    const char *at = buf_string(&safe);
    for (size_t left = safe.count, n; left > 0; at += n, left -= n) {
        uint32_t code;
        n = emit_utf8(at, left, &code);
        n = n ? n : 1;
        canvas_put(canvas, x++, y, emit_columns_of(at, n) == 1 ? at : "?", pen);
    }
    canvas->broken = canvas->broken || safe.broken;
    buf_clear(&safe);
    return x;
}

bool canvas_is_blank(const struct canvas *canvas, unsigned x, unsigned y, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct canvas_cell *cell = cell_at(canvas, x + i, y);
        if (!cell || (cell->glyph[0] && cell->glyph[0] != ' ') || cell->ground != CANVAS_PLAIN)
            return false;
    }
    return true;
}

/* ---- printing ---- */

static bool is_empty(const struct canvas_cell *cell, bool colour)
{
    return (!cell->glyph[0] || strcmp(cell->glyph, " ") == 0) &&
           (!colour || cell->ground == CANVAS_PLAIN);
}

static void put_pen(const struct canvas_cell *cell, struct buf *out)
{
    buf_text(out, "\033[0");
    if (cell->bold)
        buf_text(out, ";1");
    if (cell->ink != CANVAS_PLAIN)
        buf_print(out, ";%d", canvas_code(cell->ink));
    if (cell->ground != CANVAS_PLAIN)
        buf_print(out, ";%d", 10 + canvas_code(cell->ground));
    buf_text(out, "m");
}

static bool same_pen(const struct canvas_cell *a, const struct canvas_cell *b)
{
    return a->ink == b->ink && a->ground == b->ground && a->bold == b->bold;
}

static void print_row(const struct canvas *canvas, unsigned y, bool colour, struct buf *out)
{
    static const struct canvas_cell plain = {.ink = CANVAS_PLAIN, .ground = CANVAS_PLAIN};
    const struct canvas_cell *row = cell_at(canvas, 0, y), *pen = &plain;
    unsigned end = canvas->width;
    while (end > 0 && is_empty(&row[end - 1], colour))
        end--;
    for (unsigned x = 0; x < end; x++) {
        if (colour && !same_pen(pen, &row[x]) && !(is_empty(&row[x], true) && pen == &plain)) {
            pen = &row[x];
            put_pen(pen, out);
        }
        buf_text(out, row[x].glyph[0] ? row[x].glyph : " ");
    }
    if (colour && !same_pen(pen, &plain))
        buf_text(out, "\033[0m");
    buf_text(out, "\n");
}

void canvas_print(const struct canvas *canvas, bool colour, struct buf *out)
{
    for (unsigned y = 0; y < canvas->height; y++)
        print_row(canvas, y, colour, out);
    out->broken = out->broken || canvas->broken;
}
