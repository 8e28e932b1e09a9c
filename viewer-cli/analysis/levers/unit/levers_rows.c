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

/* One instance runs the same modules each time that it is called. Where its first block's like
 * comes again before some of them ran, it goes through a list of them itself, as a block of a UNet
 * does. */
static int goes_through(const struct levers_step *step, const struct levers_row *row, bool *yes)
{
    struct map seen = {0};
    size_t i = 0;
    int err = 0;
    *yes = false;
    if (row->instance == SIZE_MAX)
        return 0;
    for (; i < row->count && (i == 0 || !comes_again(step, row, i)) && err == 0; i++)
        if (!map_put(&seen, (uint64_t)step->blocks[row->blocks[i]].module, 1, NULL))
            err = ERR_NOMEM;
    for (; i < row->count && err == 0 && !*yes; i++)
        *yes = map_get(&seen, (uint64_t)step->blocks[row->blocks[i]].module) == MAP_NONE;
    map_clear(&seen);
    return err;
}

/* By its period, or wherever its first site comes again. A function whose blocks all come from one
 * line may be a loop over something else: then it is one call. */
int levers_row_calls(const struct levers_step *step, const struct levers_row *row, bool one,
                     bool *begins)
{
    size_t *border = mem_alloc(row->count, sizeof *border);
    bool through = false;
    if (!border)
        return ERR_NOMEM;
    const size_t period = period_of(step, row, border);
    mem_free(border);
    int err = !one && period == row->count ? goes_through(step, row, &through) : 0;
    for (size_t i = 0; i < row->count; i++) {
        const bool again =
            period < row->count ? i % period == 0 : i > 0 && comes_again(step, row, i);
        begins[i] = i == 0 || (!one && !through && again);
    }
    return err;
}
