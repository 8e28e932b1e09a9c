#include "frag_picture.h"

#include <string.h>

#include "search.h"

static const char *const letters[2][CELL_KINDS] = {
    {"#", "w", "+", "."},
    {"\u2588", "\u2593", "\u2592", "\u00b7"},
};

/* What the block has of the bytes from `begin` to `end`. */
static int64_t within(const struct frag_block *block, uint64_t begin, uint64_t end)
{
    uint64_t from = block->address > begin ? block->address : begin;
    uint64_t until = block->address + (uint64_t)block->size;
    until = until < end ? until : end;
    return until > from ? (int64_t)(until - from) : 0;
}

/* Where cell number `at` begins. */
static uint64_t cell_begin(const struct frag_segment *segment, unsigned at, unsigned cells)
{
    uint64_t size = (uint64_t)segment->area.size;
    return segment->area.address + size / cells * at + size % cells * at / cells;
}

enum frag_cell frag_cell(const struct frag *frag, const struct frag_segment *segment, unsigned at,
                         unsigned cells)
{
    uint64_t begin = cell_begin(segment, at, cells), end = cell_begin(segment, at + 1, cells);
    const struct frag_block *blocks = frag->blocks + segment->first;
    int64_t live = 0, waiting = 0;
    size_t low; /* the first block that ends behind the cell's begin */
    SEARCH_FIRST(low, 0, segment->count, blocks[low].address + (uint64_t)blocks[low].size <= begin);
    for (size_t i = low; i < segment->count && blocks[i].address < end; i++)
        *(blocks[i].waiting ? &waiting : &live) += within(&blocks[i], begin, end);
    if (live + waiting == 0)
        return CELL_FREE;
    if ((uint64_t)(live + waiting) * 2 < end - begin)
        return CELL_PINNED;
    return live >= waiting ? CELL_LIVE : CELL_WAITING;
}

void frag_picture(const struct frag *frag, const struct frag_segment *segment, unsigned cells,
                  bool utf8, char *text)
{
    for (unsigned at = 0; at < cells; at++) {
        const char *letter = letters[utf8][frag_cell(frag, segment, at, cells)];
        size_t n = strlen(letter);
        memcpy(text, letter, n);
        text += n;
    }
    *text = '\0';
}

const char *frag_picture_legend(bool utf8)
{
    return utf8 ? "\u2588 in use  \u2592 less than half in use  \u2593 awaiting a stream  "
                  "\u00b7 free"
                : "# in use  + less than half in use  w awaiting a stream  . free";
}

unsigned frag_picture_cells(unsigned width)
{
    enum { NUMBERS = 50, LEAST = 16 };
    unsigned cells = width > NUMBERS + LEAST ? width - NUMBERS : LEAST;
    return cells < FRAG_PICTURE_CELLS ? cells : FRAG_PICTURE_CELLS;
}
