#include "frag_model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "test.h"

#define BASE 0x7f0000000000

static int roll(struct model *model, int n)
{
    return (int)(test_random(&model->seed) % (uint64_t)n);
}

/* ---- what is where ---- */

static void fill_areas(const struct model *model, int64_t seq, struct model_cell *cells)
{
    int heap[MODEL_CELLS] = {0};
    for (int i = 0; i < model->segments; i++) {
        const struct model_area *segment = &model->segment[i];
        if (segment->begin <= seq && segment->end > seq)
            for (int c = segment->first; c < segment->first + segment->cells; c++)
                heap[c] = i + 1;
    }
    for (int i = 0; i < model->pages && model->page[i].seq <= seq; i++)
        for (int c = 0; c < model->page[i].cells; c++)
            heap[model->page[i].first + c] = model->page[i].mapped ? MODEL_MOST + 1 : 0;
    for (int c = 0, area = -1; c < MODEL_CELLS; c++) {
        if (heap[c] && (c == 0 || heap[c] != heap[c - 1]))
            area++;
        cells[c] = (struct model_cell){heap[c] ? area : -1, -1, false, heap[c] > MODEL_MOST};
    }
}

void model_fill(const struct model *model, int64_t seq, struct model_cell cells[MODEL_CELLS])
{
    fill_areas(model, seq, cells);
    for (int i = 0; i < model->blocks; i++) {
        const struct model_block *block = &model->block[i];
        if (block->seq > seq || block->idle <= seq)
            continue;
        /* One that still waited at the end left no trace. */
        if (block->free <= seq && block->idle == INT64_MAX)
            continue;
        for (int c = block->first; c < block->first + block->cells; c++)
            cells[c].block = i, cells[c].waiting = block->free <= seq;
    }
}

/* ---- a run ---- */

static bool all_free(const struct model_cell *cells, int first, int count, bool reserved)
{
    for (int c = first; c < first + count; c++)
        if (cells[c].block >= 0 || (cells[c].area >= 0) != reserved ||
            (reserved && cells[c].area != cells[first].area))
            return false;
    return true;
}

static void open_segment(struct model *model, const struct model_cell *cells)
{
    static const int sizes[] = {4, 4, 40, 64};
    int count = sizes[roll(model, 4)], first = roll(model, MODEL_PAGES - count);
    if (!all_free(cells, first, count, false))
        return;
    model->segment[model->segments++] =
        (struct model_area){first, count, model->seq, INT64_MAX, roll(model, 2)};
}

static void close_segment(struct model *model, const struct model_cell *cells)
{
    struct model_area *segment = &model->segment[roll(model, model->segments + 1)];
    if (segment->cells && segment->end == INT64_MAX && segment->begin < model->seq &&
        all_free(cells, segment->first, segment->cells, true))
        segment->end = model->seq;
}

static void map_pages(struct model *model, const struct model_cell *cells)
{
    int count = (roll(model, 4) + 1) * 8;
    int first = MODEL_PAGES + roll(model, (MODEL_CELLS - MODEL_PAGES) / 8) * 8;
    bool mapped = roll(model, 3) > 0;
    if (first + count > MODEL_CELLS)
        count = MODEL_CELLS - first;
    for (int c = first; c < first + count; c++)
        if (cells[c].block >= 0)
            return;
    model->page[model->pages++] = (struct model_pages){first, count, model->seq, mapped};
}

static void hand_out(struct model *model, const struct model_cell *cells)
{
    int count = 1 + roll(model, roll(model, 4) ? 6 : 50), first = roll(model, MODEL_CELLS - count);
    if (!all_free(cells, first, count, true))
        return;
    struct model_block *block = &model->block[model->blocks++];
    *block = (struct model_block){first, count, model->seq, INT64_MAX, INT64_MAX, 0, 0};
    block->requested =
        roll(model, 5) ? (int64_t)count * MODEL_CELL - roll(model, MODEL_CELL) : FRAG_NONE;
    block->site = roll(model, 6) ? roll(model, 5) + 1 : FRAG_NONE;
}

static void give_back(struct model *model)
{
    if (!model->blocks)
        return;
    struct model_block *block = &model->block[roll(model, model->blocks)];
    if (block->seq == model->seq)
        return;
    if (block->free == INT64_MAX) {
        block->free = model->seq;
        block->idle = roll(model, 3) ? model->seq : INT64_MAX - 1; /* it waits */
    } else if (block->idle == INT64_MAX - 1) {
        block->idle = model->seq;
    }
}

void model_run(struct model *model, uint64_t seed, int events)
{
    struct model_cell cells[MODEL_CELLS];
    *model = (struct model){.seed = seed};
    for (model->seq = 1; model->seq <= events; model->seq++) {
        int what = roll(model, 100);
        model_fill(model, model->seq, cells);
        if (what < 10)
            open_segment(model, cells);
        else if (what < 14)
            close_segment(model, cells);
        else if (what < 24)
            map_pages(model, cells);
        else if (what < 70)
            hand_out(model, cells);
        else
            give_back(model);
    }
    model->seq--;
    for (int i = 0; i < model->blocks; i++)
        if (model->block[i].idle == INT64_MAX - 1)
            model->block[i].idle = INT64_MAX;
}

/* ---- its rows ---- */

static void put(struct buf *sql, int64_t value, bool known)
{
    if (known)
        buf_print(sql, ",%" PRId64, value);
    else
        buf_text(sql, ",NULL");
}

static int64_t address_of(int cell)
{
    return BASE + (int64_t)cell * MODEL_CELL;
}

static void store_memory(const struct model *model, struct buf *sql)
{
    for (int i = 0; i < model->segments; i++) {
        const struct model_area *at = &model->segment[i];
        buf_print(sql, "INSERT INTO segment VALUES(%" PRId64 ",%d,%" PRId64 ",%d,0,NULL", at->begin,
                  at->heap + 1, address_of(at->first), at->cells * MODEL_CELL);
        put(sql, at->end, at->end != INT64_MAX);
        buf_text(sql, ",NULL);");
    }
    for (int i = 0; i < model->pages; i++)
        buf_print(sql, "INSERT INTO mapping VALUES(%" PRId64 ",1,%" PRId64 ",%d,0,%d);",
                  model->page[i].seq, address_of(model->page[i].first),
                  model->page[i].cells * MODEL_CELL, model->page[i].mapped);
}

static void store_blocks(const struct model *model, struct buf *sql)
{
    for (int i = 0; i < model->blocks; i++) {
        const struct model_block *at = &model->block[i];
        bool lives = at->free == INT64_MAX;
        buf_print(sql,
                  "INSERT INTO "
                  "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,"
                  "segment) VALUES(%" PRId64 ",%d,%" PRId64 ",%d",
                  at->seq, i % 2 + 1, address_of(at->first), at->cells * MODEL_CELL);
        put(sql, at->requested, at->requested != FRAG_NONE);
        buf_print(sql, ",%" PRId64 ",%" PRId64 ",%" PRId64, at->seq * 10,
                  lives ? (int64_t)DB_LIVING_NS : (at->free - at->seq) * 10,
                  lives ? (int64_t)DB_LIVING_SEQ : at->free);
        put(sql, at->site, at->site != FRAG_NONE);
        buf_text(sql, ",NULL,NULL);");
        if (!lives && at->idle != at->free && at->idle != INT64_MAX)
            buf_print(sql, "INSERT INTO idle VALUES(%" PRId64 ",%" PRId64 ",0);", at->seq,
                      at->idle);
    }
    for (int64_t seq = 100; seq <= model->seq; seq += 100)
        buf_print(sql,
                  "INSERT INTO keyframe SELECT %" PRId64
                  ", seq FROM allocation WHERE seq <= %" PRId64
                  " AND (free_seq < 0 OR free_seq > %" PRId64 ");",
                  seq, seq, seq);
}

struct db *model_store(const struct model *model, const char *name)
{
    struct buf sql = {0};
    struct db *db;
    remove(test_path(name));
    REQUIRE(db_create(&db, test_path(name)) == 0);
    buf_text(&sql,
             "BEGIN;"
             "INSERT INTO device VALUES(1,'cuda',0,NULL,NULL);"
             "INSERT INTO heap VALUES(1,1,1,0,0,NULL),(2,1,1,7,0,NULL);"
             "INSERT INTO string VALUES(1,'work'),(2,'train.py');"
             "INSERT INTO frame VALUES(1,1,2,1),(2,1,2,2),(3,1,2,3),(4,1,2,4),(5,1,2,5);"
             "INSERT INTO site VALUES(1,0,1),(2,0,2),(3,0,3),(4,0,4),(5,0,5);"
             "INSERT INTO process(id,pid,origin,start_ns,last_seq) VALUES(1,7,'root',0,9999);");
    for (int64_t step = 0; step * 50 < model->seq; step++)
        buf_print(&sql,
                  "INSERT INTO "
                  "phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_"
                  "ns,end_ns,scope,ended) VALUES(%" PRId64
                  ",1,NULL,NULL,0,'forward','forward',%" PRId64 ",%" PRId64 ",%" PRId64
                  ",0,0,'process','end');"
                  "INSERT INTO stretch VALUES(1,%" PRId64 ",%" PRId64 ");",
                  step + 1, step, step * 50 + 1, step * 50 + 50, step * 50 + 1, step + 1);
    store_memory(model, &sql);
    store_blocks(model, &sql);
    buf_text(&sql, "COMMIT");
    REQUIRE(db_exec(db, buf_string(&sql)) == 0);
    buf_clear(&sql);
    return db;
}

/* ---- what the cells say ---- */

static bool same_area(const struct model_cell *cells, int a, int b)
{
    return b >= 0 && b < MODEL_CELLS && cells[a].area >= 0 && cells[a].area == cells[b].area;
}

static bool is_used(const struct model_cell *cells, int area)
{
    for (int c = 0; c < MODEL_CELLS; c++)
        if (cells[c].area == area && cells[c].block >= 0)
            return true;
    return false;
}

static int hole_from(const struct model_cell *cells, int first)
{
    int c = first;
    while (c < MODEL_CELLS && cells[c].block < 0 && same_area(cells, first, c))
        c++;
    return c - first;
}

static void sum_block(const struct model_block *block, struct model_sums *out)
{
    int64_t size = (int64_t)block->cells * MODEL_CELL;
    out->blocks++;
    if (block->requested == FRAG_NONE) {
        out->causes[FRAG_LIVE] += size;
        return;
    }
    out->causes[FRAG_REQUESTED] += block->requested;
    out->causes[FRAG_ROUNDING] += size - block->requested;
}

void model_sum(const struct model *model, const struct model_cell cells[MODEL_CELLS],
               struct model_sums *out)
{
    *out = (struct model_sums){0};
    for (int c = 0; c < MODEL_CELLS; c++) {
        const struct model_cell *cell = &cells[c];
        if (cell->area < 0)
            continue;
        out->reserved += MODEL_CELL;
        out->areas += !same_area(cells, c, c - 1);
        if (cell->block < 0) {
            enum frag_cause cause = cell->mapped                 ? FRAG_PAGES
                                    : is_used(cells, cell->area) ? FRAG_SPLIT
                                                                 : FRAG_CACHED;
            out->causes[cause] += MODEL_CELL;
            out->free_bytes += MODEL_CELL;
            if (!same_area(cells, c, c - 1) || cells[c - 1].block >= 0) {
                int64_t size = (int64_t)hole_from(cells, c) * MODEL_CELL;
                out->holes++;
                out->largest = size > out->largest ? size : out->largest;
            }
        } else if (cell->waiting) {
            out->causes[FRAG_WAITING] += MODEL_CELL;
        } else if (model->block[cell->block].first == c) {
            sum_block(&model->block[cell->block], out);
        }
    }
}

int64_t model_gift(const struct model_cell cells[MODEL_CELLS], int block, bool *sole)
{
    int first = 0, begin, end;
    while (cells[first].block != block)
        first++;
    *sole = true;
    for (int c = 0; c < MODEL_CELLS; c++)
        if (same_area(cells, first, c) && cells[c].block >= 0 && cells[c].block != block)
            *sole = false;
    for (begin = first; same_area(cells, first, begin - 1) &&
                        (cells[begin - 1].block < 0 || cells[begin - 1].block == block);)
        begin--;
    for (end = first;
         same_area(cells, first, end) && (cells[end].block < 0 || cells[end].block == block);)
        end++;
    return (int64_t)(end - begin) * MODEL_CELL;
}

static bool is_of_site(const struct model *model, const struct model_cell *cell, int64_t site)
{
    return cell->block >= 0 && !cell->waiting && model->block[cell->block].site == site;
}

/* Has the area blocks, all of them the site's, and a hole? */
static bool is_sites_own(const struct model *model, const struct model_cell *cells, int area,
                         int64_t site)
{
    bool blocks = false, hole = false;
    for (int c = 0; c < MODEL_CELLS; c++) {
        if (cells[c].area != area)
            continue;
        if (cells[c].block >= 0 && !is_of_site(model, &cells[c], site))
            return false;
        blocks = blocks || cells[c].block >= 0;
        hole = hole || cells[c].block < 0;
    }
    return blocks && hole;
}

void model_site(const struct model *model, const struct model_cell cells[MODEL_CELLS], int64_t site,
                int64_t *returns, int64_t *beside)
{
    *returns = *beside = 0;
    for (int c = 0; c < MODEL_CELLS; c++) {
        if (cells[c].area < 0)
            continue;
        if (is_sites_own(model, cells, cells[c].area, site)) {
            *returns += MODEL_CELL;
            continue;
        }
        if (cells[c].block >= 0 || (same_area(cells, c, c - 1) && cells[c - 1].block < 0))
            continue; /* no hole begins here */
        int end = c + hole_from(cells, c);
        if ((same_area(cells, c, c - 1) && is_of_site(model, &cells[c - 1], site)) ||
            (same_area(cells, c, end) && is_of_site(model, &cells[end], site)))
            *beside += (int64_t)(end - c) * MODEL_CELL;
    }
}
