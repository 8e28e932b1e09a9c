/*
 * frag_picture.h - one segment as a line of letters.
 */
#ifndef TIDEMARK_VIEWER_FRAG_PICTURE_H
#define TIDEMARK_VIEWER_FRAG_PICTURE_H

#include <stdbool.h>

#include "frag.h"

/* A letter for an equal part of the segment: mostly in use by living blocks, mostly waiting for a
 * stream, partly in use (less than half of it, but a block there pins the rest), all free. */
enum frag_cell { CELL_LIVE, CELL_WAITING, CELL_PINNED, CELL_FREE, CELL_KINDS };

#define FRAG_PICTURE_CELLS 96
#define FRAG_PICTURE_TEXT (FRAG_PICTURE_CELLS * 3 + 1)

enum frag_cell frag_cell(const struct frag *frag, const struct frag_segment *segment, unsigned at,
                         unsigned cells);
/* `text` has room for FRAG_PICTURE_TEXT bytes; cells <= FRAG_PICTURE_CELLS. */
void frag_picture(const struct frag *frag, const struct frag_segment *segment, unsigned cells,
                  bool utf8, char *text);
const char *frag_picture_legend(bool utf8);
unsigned frag_picture_cells(unsigned width); /* for a terminal of that width */

#endif
