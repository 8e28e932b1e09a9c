/*
 * plot_canvas.h - a rectangle of letters with colours, which becomes lines of text at the end.
 *
 * Invariants (canvas_is_valid): each cell holds one letter of one column, or nothing, which is a
 * blank. Row 0 is the topmost. What is put outside of the rectangle is not there.
 */
#ifndef TIDEMARK_VIEWER_PLOT_CANVAS_H
#define TIDEMARK_VIEWER_PLOT_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

enum canvas_colour { /* as terminals number them, the bright ones behind the others; the terminal's
                      * own where none is set */
                     CANVAS_BLACK,
                     CANVAS_RED,
                     CANVAS_GREEN,
                     CANVAS_YELLOW,
                     CANVAS_BLUE,
                     CANVAS_MAGENTA,
                     CANVAS_CYAN,
                     CANVAS_WHITE,
                     CANVAS_GREY, /* bright black */
                     CANVAS_BRIGHT_RED,
                     CANVAS_BRIGHT_GREEN,
                     CANVAS_BRIGHT_YELLOW,
                     CANVAS_BRIGHT_BLUE,
                     CANVAS_BRIGHT_MAGENTA,
                     CANVAS_BRIGHT_CYAN,
                     CANVAS_BRIGHT_WHITE,
                     CANVAS_PLAIN
};

/* What turns the ink on, the number in ESC [ N m; of the ground it is 10 more. Not of CANVAS_PLAIN.
 */
static inline int canvas_code(enum canvas_colour colour)
{
    return colour < CANVAS_GREY ? 30 + (int)colour : 90 + (int)colour - CANVAS_GREY;
}

struct canvas_cell {
    char glyph[5]; /* UTF-8; empty: a blank */
    uint8_t ink, ground;
    bool bold;
};

struct canvas {
    unsigned width, height;
    struct canvas_cell *cells;
    bool broken; /* without memory; what is printed says so */
};

struct canvas_pen {
    enum canvas_colour ink, ground;
    bool bold;
};
#define CANVAS_PEN_PLAIN                                                                           \
    (struct canvas_pen)                                                                            \
    {                                                                                              \
        CANVAS_PLAIN, CANVAS_PLAIN, false                                                          \
    }

bool canvas_make(struct canvas *canvas, unsigned width, unsigned height); /* false: no memory */
void canvas_clear(struct canvas *canvas);
bool canvas_is_valid(const struct canvas *canvas);

/* One letter; the text of a longer glyph is cut. */
void canvas_put(struct canvas *canvas, unsigned x, unsigned y, const char *glyph,
                struct canvas_pen pen);
/* A text from x on, made safe for a screen; returns the column behind it. */
unsigned canvas_text(struct canvas *canvas, unsigned x, unsigned y, const char *text,
                     struct canvas_pen pen);
bool canvas_is_blank(const struct canvas *canvas, unsigned x, unsigned y, unsigned count);

/* Lines without blanks at their ends. Without `colour` pens do not matter. */
void canvas_print(const struct canvas *canvas, bool colour, struct buf *out);

#endif
