/*
 * frag_model.h - random recordings of one device, and what a plain bitmap says of them.
 *
 * Memory is MODEL_CELLS cells of MODEL_CELL bytes. Everything that ever was is kept with the events
 * at which it came and went; for an instant each cell is filled anew, with no care for speed.
 */
#ifndef TIDEMARK_TESTS_FRAG_MODEL_H
#define TIDEMARK_TESTS_FRAG_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "frag.h"
#include "db.h"

enum { MODEL_CELLS = 1024, MODEL_PAGES = 640, MODEL_CELL = 512, MODEL_MOST = 2000 };

struct model_area { /* a segment; or pages, which begin at cell MODEL_PAGES */
    int first, cells;
    int64_t begin, end; /* INT64_MAX: it stays; pages: unused */
    int heap;
};

struct model_pages {
    int first, cells;
    int64_t seq;
    bool mapped;
};

struct model_block {
    int first, cells;
    int64_t seq, free, idle; /* INT64_MAX: never; idle == free: it did not wait */
    int64_t requested;       /* FRAG_NONE */
    int64_t site;            /* FRAG_NONE */
};

struct model {
    uint64_t seed;
    int64_t seq; /* of the last event */
    int segments, pages, blocks;
    struct model_area segment[MODEL_MOST];
    struct model_pages page[MODEL_MOST];
    struct model_block block[MODEL_MOST];
};

struct model_cell {
    int area;  /* number of the area from the left, -1 = none */
    int block; /* in model->block, -1 = none */
    bool waiting;
    bool mapped;
};

struct model_sums {
    int64_t causes[FRAG_CAUSES];
    int64_t reserved, free_bytes, largest, holes;
    int areas, blocks;
};

void model_run(struct model *model, uint64_t seed, int events);
struct db *model_store(const struct model *model, const char *name);
void model_fill(const struct model *model, int64_t seq, struct model_cell cells[MODEL_CELLS]);
void model_sum(const struct model *model, const struct model_cell cells[MODEL_CELLS],
               struct model_sums *out);
/* What one hole there would be if these cells were free; *sole: nothing else is in the area. */
int64_t model_gift(const struct model_cell cells[MODEL_CELLS], int block, bool *sole);
/* Of a site: bytes of areas with nothing but its blocks, and of the other holes beside them. */
void model_site(const struct model *model, const struct model_cell cells[MODEL_CELLS], int64_t site,
                int64_t *returns, int64_t *beside);

#endif
