/* living_kept.c - see living_kept.h. */
#include "living_kept.h"

#include "mem.h"

struct sets {
    struct living_rows *set[LIVING_SETS]; /* NULL = none */
};

static void free_rows(struct living_rows *rows)
{
    if (rows)
        mem_free(rows->rows);
    mem_free(rows);
}

static void drop(void *thing)
{
    struct sets *sets = thing;
    for (int i = 0; i < LIVING_SETS; i++)
        free_rows(sets->set[i]);
    mem_free(sets);
}

const struct living_rows *living_rows_kept(struct db *db, int64_t process, int64_t device,
                                           int64_t seq)
{
    struct sets *sets = db_kept(db, drop);
    for (int i = 0; sets && i < LIVING_SETS; i++) {
        struct living_rows *rows = sets->set[i];
        if (!rows || rows->process != process || rows->device != device || rows->seq != seq)
            continue;
        rows->asked++;
        return rows;
    }
    return NULL;
}

struct living_rows *living_rows_begin(int64_t process, int64_t device, int64_t seq)
{
    struct living_rows *rows = mem_alloc(1, sizeof *rows);
    if (rows)
        *rows = (struct living_rows){.process = process, .device = device, .seq = seq, .asked = 1};
    return rows;
}

void living_rows_add(struct living_rows **rows, const struct living_block *block, int64_t born)
{
    struct living_rows *to = *rows;
    if (!to)
        return;
    if (to->count >= LIVING_MOST || !MEM_GROW(to->rows, to->capacity, to->count + 1)) {
        free_rows(to);
        *rows = NULL;
        return;
    }
    to->rows[to->count++] = (struct living_row){*block, born};
}

/* The place of the set that was asked for least. */
static struct living_rows **place_in(struct sets *sets)
{
    struct living_rows **least = &sets->set[0];
    for (int i = 0; i < LIVING_SETS; i++) {
        if (!sets->set[i])
            return &sets->set[i];
        if (sets->set[i]->asked < (*least)->asked)
            least = &sets->set[i];
    }
    return least;
}

void living_rows_keep(struct db *db, struct living_rows *rows, bool whole)
{
    struct sets *sets = whole && rows ? db_kept(db, drop) : NULL;
    if (whole && rows && !sets) {
        sets = mem_alloc(1, sizeof *sets);
        if (sets && !db_keep(db, sets, drop)) {
            mem_free(sets);
            sets = NULL;
        }
    }
    if (!sets) {
        free_rows(rows);
        return;
    }
    struct living_rows **place = place_in(sets);
    free_rows(*place);
    *place = rows;
}
