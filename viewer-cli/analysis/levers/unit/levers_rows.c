/* levers_rows.c - see levers_rows.h. */
#include "levers_rows.h"

#include "error.h"
#include "map.h"
#include "mem.h"

/* One that is made again in another call; where modules are not known, by its call site alone. */
static bool is_like(const struct levers_step *step, const struct levers_row *row, size_t a,
                    size_t b)
{
    const struct levers_block *one = &step->blocks[row->blocks[a]];
    const struct levers_block *other = &step->blocks[row->blocks[b]];
    return one->site == other->site && (row->instance == SIZE_MAX || one->module == other->module);
}

/* The length of what the row repeats from beginning to end; all of it if it does not. */
static size_t period_of(const struct levers_step *step, const struct levers_row *row,
                        size_t *border)
{
    size_t length = 0;
    border[0] = 0;
    for (size_t i = 1; i < row->count; i++) {
        while (length && !is_like(step, row, length, i))
            length = border[length - 1];
        length += is_like(step, row, length, i);
        border[i] = length;
    }
    size_t period = row->count - border[row->count - 1];
    return row->count % period == 0 ? period : row->count;
}

/* Where its first block's like comes again, behind others. */
static bool comes_again(const struct levers_step *step, const struct levers_row *row, size_t i)
{
    return is_like(step, row, i, 0) && !is_like(step, row, i - 1, 0);
}

static uint64_t module_of(const struct levers_step *step, const struct levers_row *row, size_t i)
{
    return (uint64_t)step->blocks[row->blocks[i]].module;
}

/* The modules that run before the first block's like comes again, and whether another runs then. */
static int read_first(const struct levers_step *step, const struct levers_row *row,
                      struct map *first, bool *others)
{
    size_t i = 0;
    for (; i < row->count && (i == 0 || !comes_again(step, row, i)); i++)
        if (!map_put(first, module_of(step, row, i), row->count, NULL))
            return ERR_NOMEM;
    *others = false;
    for (; i < row->count && !*others; i++)
        *others = map_get(first, module_of(step, row, i)) == MAP_NONE;
    return 0;
}

/* Of what begins, that behind which all modules of the first one run. Each of these is mapped to
 * the last beginning that it ran behind. */
static int keep_whole(const struct levers_step *step, const struct levers_row *row,
                      struct map *first, bool *begins)
{
    size_t begin = 0, found = 0;
    for (size_t i = 0; i < row->count; i++) {
        if (begins[i]) {
            begin = i;
            found = 0;
            begins[i] = false;
        }
        const uint64_t last = map_get(first, module_of(step, row, i));
        if (last != MAP_NONE && last != begin) {
            if (!map_put(first, module_of(step, row, i), begin, NULL))
                return ERR_NOMEM;
            found++;
        }
        begins[begin] = begins[begin] || found == first->count;
    }
    return 0;
}

/* One instance runs the same modules each time that it is called. Where its first block's like
 * comes again before some of them ran, it goes through a list of them itself, as a block of a UNet
 * does: the next call begins where those run again that ran first. */
static int settle(const struct levers_step *step, const struct levers_row *row, bool *begins)
{
    struct map first = {0};
    bool others = false;
    int err = read_first(step, row, &first, &others);
    if (err == 0 && others)
        err = keep_whole(step, row, &first, begins);
    map_clear(&first);
    return err;
}

/* By its period, or wherever its first site comes again. A function whose blocks all come from one
 * line may be a loop over something else: then it is one call. */
int levers_row_calls(const struct levers_step *step, const struct levers_row *row, bool one,
                     bool *begins)
{
    size_t *border = mem_alloc(row->count, sizeof *border);
    if (!border)
        return ERR_NOMEM;
    const size_t period = period_of(step, row, border);
    mem_free(border);
    for (size_t i = 0; i < row->count; i++) {
        const bool again =
            period < row->count ? i % period == 0 : i > 0 && comes_again(step, row, i);
        begins[i] = i == 0 || (!one && again);
    }
    return one || period < row->count || row->instance == SIZE_MAX ? 0 : settle(step, row, begins);
}
