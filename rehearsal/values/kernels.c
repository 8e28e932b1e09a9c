/*
 * kernels.c - see kernels.h. Tens of thousands of kernels are registered before main and a few
 * hundred launched: a name is looked at when its kernel is launched for the first time.
 */
#include "kernels.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "parameters.h"
#include "record.h"
#include "values.h"
#include "walks.h"
#include "wholes.h"

/* Sorted by function once it is searched. */
struct entry {
    const void *function, *binary;
    const char *name;
    struct launched *launched; /* NULL: not yet */
};

struct launched {
    struct kernel kernel;
    struct parameters parameters;
    enum wholes wholes;
};

static struct {
    pthread_mutex_t lock;
    struct entry *list;
    size_t count, cap, sorted;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int by_function(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return (x->function > y->function) - (x->function < y->function);
}

void kernels_register(const void *binary, const void *function, const char *name)
{
    pthread_mutex_lock(&table.lock);
    if (name && MEM_GROW(table.list, table.cap, table.count + 1))
        table.list[table.count++] = (struct entry){function, binary, name, NULL};
    pthread_mutex_unlock(&table.lock);
}

void kernels_unregister(const void *binary)
{
    size_t kept = 0;
    pthread_mutex_lock(&table.lock);
    for (size_t i = 0; i < table.count; i++) {
        if (table.list[i].binary == binary)
            mem_free(table.list[i].launched);
        else
            table.list[kept++] = table.list[i];
    }
    if (kept != table.count)
        table.sorted = 0;
    table.count = kept;
    pthread_mutex_unlock(&table.lock);
}

static struct entry *find(const void *function)
{
    struct entry key = {.function = function};
    if (table.sorted != table.count)
        qsort(table.list, table.count, sizeof *table.list, by_function);
    table.sorted = table.count;
    return table.count ? bsearch(&key, table.list, table.count, sizeof key, by_function) : NULL;
}

/* What is known of a function, and its name. NULL: it was never registered. */
static const char *recall(const void *function, struct launched *launched, bool *parsed)
{
    pthread_mutex_lock(&table.lock);
    struct entry *entry = find(function);
    const char *name = entry ? entry->name : NULL;
    *parsed = entry && entry->launched;
    if (*parsed)
        *launched = *entry->launched;
    pthread_mutex_unlock(&table.lock);
    return name;
}

static void keep(const void *function, const struct launched *launched)
{
    pthread_mutex_lock(&table.lock);
    struct entry *entry = find(function);
    if (entry && !entry->launched)
        entry->launched = mem_alloc(1, sizeof *entry->launched);
    if (entry && entry->launched)
        *entry->launched = *launched;
    pthread_mutex_unlock(&table.lock);
}

/* A name is read without the lock: that may wait for the loader, and whoever holds that one may be
 * registering kernels. */
static bool look_up(const void *function, struct launched *launched)
{
    bool parsed;
    const char *name = recall(function, launched, &parsed);
    if (!name || parsed)
        return name != NULL;
    kernel_of_name(name, &launched->kernel);
    parameters_of_name(name, &launched->parameters);
    launched->wholes = wholes_of_name(name, &launched->kernel, &launched->parameters);
    keep(function, launched);
    return true;
}

/* ---- one function for each walk: true, what it writes is known now, or forgotten ---- */

struct launch {
    const struct launched *it;
    const uint32_t *grid;
    void **arguments;
};
typedef bool walk_fn(const struct launch *launch);

static bool do_reads(const struct launch *launch)
{
    parameters_forget_first(&launch->it->parameters, launch->arguments);
    return true;
}

/* What cannot be read writes its first argument and nothing else. */
#define WALK_OR_READS(walk)                                                                        \
    static bool do_##walk(const struct launch *launch)                                             \
    {                                                                                              \
        return walk_##walk(&launch->it->kernel, launch->arguments) || do_reads(launch);            \
    }
#define WALK_OF(walk)                                                                              \
    static bool do_##walk(const struct launch *launch)                                             \
    {                                                                                              \
        return walk_##walk(&launch->it->kernel, launch->arguments);                                \
    }
#define WALK_ALWAYS(walk)                                                                          \
    static bool do_##walk(const struct launch *launch)                                             \
    {                                                                                              \
        walk_##walk(&launch->it->kernel, launch->arguments);                                       \
        return true;                                                                               \
    }
#define WALK_PLAIN(walk)                                                                           \
    static bool do_##walk(const struct launch *launch)                                             \
    {                                                                                              \
        return walk_##walk(launch->arguments);                                                     \
    }

WALK_ALWAYS(flat)
WALK_ALWAYS(cast)
WALK_ALWAYS(index)
WALK_ALWAYS(rows)
WALK_OF(strided)
WALK_OF(outputs)
WALK_OF(random)
WALK_OF(scan)
WALK_OF(scan_rows)
WALK_OF(scan_columns)
WALK_OF(indexed)
WALK_OF(gathered)
WALK_OF(flip)
WALK_OF(roll)
WALK_OF(histogram)
WALK_OF(repeat)
WALK_OF(search)
WALK_OF(changes)
WALK_OF(runs)
WALK_OF(distinct)
WALK_OF(sort)
WALK_OF(radix_tile)
WALK_OF(radix_pass)
WALK_OF(topk)
WALK_OF(flagged)
WALK_OR_READS(selected)
WALK_OR_READS(triangle)
WALK_PLAIN(unravel)
WALK_PLAIN(scatter)
WALK_PLAIN(row_indices)

static bool do_join(const struct launch *launch)
{
    return walk_join(&launch->it->kernel, launch->grid, launch->arguments) || do_reads(launch);
}

static bool do_lists(const struct launch *launch)
{
    return walk_lists(&launch->it->kernel, launch->grid, launch->arguments);
}

/* Of another kind: into memory that is new. */
static bool do_reduce(const struct launch *launch)
{
    (void)walk_reduce(&launch->it->kernel, launch->arguments);
    return true;
}

static bool do_count(const struct launch *launch)
{
    const uint32_t *grid = launch->grid;
    walk_count(&launch->it->kernel, grid[0] * grid[1] * grid[2], launch->arguments);
    return true;
}

static bool do_sum(const struct launch *launch)
{
    walk_sum(launch->arguments);
    return true;
}

/* As many arguments as a walk reads: of a kernel with fewer, or nobody knows how many, it is none.
 */
static const struct {
    walk_fn *function;
    int32_t arguments;
} walks[WALK_COUNT_OF] = {
    [WALK_READS] = {do_reads, 0},
    [WALK_FLAT] = {do_flat, 0},
    [WALK_CAST] = {do_cast, 0},
    [WALK_STRIDED] = {do_strided, 0},
    [WALK_INDEX] = {do_index, 0},
    [WALK_OUTPUTS] = {do_outputs, 3},
    [WALK_RANDOM] = {do_random, 4},
    [WALK_LISTS] = {do_lists, 2},
    [WALK_REDUCE] = {do_reduce, 0},
    [WALK_COUNT] = {do_count, 0},
    [WALK_SUM] = {do_sum, 0},
    [WALK_SCAN] = {do_scan, 7},
    [WALK_SCAN_ROWS] = {do_scan_rows, 4},
    [WALK_SCAN_COLUMNS] = {do_scan_columns, 5},
    [WALK_INDEXED] = {do_indexed, 2},
    [WALK_GATHERED] = {do_gathered, 2},
    [WALK_ROWS] = {do_rows, 8},
    [WALK_SELECTED] = {do_selected, 7},
    [WALK_JOIN] = {do_join, 5},
    [WALK_FLIP] = {do_flip, 2},
    [WALK_ROLL] = {do_roll, 7},
    [WALK_TRIANGLE] = {do_triangle, 3},
    [WALK_HISTOGRAM] = {do_histogram, 7},
    [WALK_REPEAT] = {do_repeat, 5},
    [WALK_SEARCH] = {do_search, 9},
    [WALK_FLAGGED] = {do_flagged, 8},
    [WALK_UNRAVEL] = {do_unravel, 4},
    [WALK_CHANGES] = {do_changes, 3},
    [WALK_SCATTER] = {do_scatter, 4},
    [WALK_RUNS] = {do_runs, 10},
    [WALK_DISTINCT] = {do_distinct, 8},
    [WALK_SORT] = {do_sort, 6},
    [WALK_SORT_NETWORK] = {do_sort, 6},
    [WALK_SORT_RADIX] = {do_sort, 7},
    [WALK_RADIX_TILE] = {do_radix_tile, 7},
    [WALK_RADIX_PASS] = {do_radix_pass, 11},
    [WALK_ROW_INDICES] = {do_row_indices, 3},
    [WALK_TOPK] = {do_topk, 10},
};

static bool compute(const struct launched *launched, const uint32_t *grid, void **arguments)
{
    enum kernel_walk walk = launched->kernel.walk;
    int32_t given = launched->parameters.count, needed = walks[walk].arguments;
    if (!walks[walk].function || (needed && given < needed))
        return false;
    return walks[walk].function(&(struct launch){launched, grid, arguments});
}

/* Fills and ranges are computed of nothing. Of what makes whole numbers it is noted where they
 * stand, known or not. All else does nothing as long as nothing is known. */
static bool matters(const struct kernel *kernel)
{
    return kernel->form == FORM_FILL || kernel->form == FORM_RANGE ||
           kernel->walk == WALK_ROW_INDICES || kernel_type_is_whole(kernel->output) ||
           kernel->converts;
}

void kernels_launch(const void *function, const uint32_t grid[3], void **arguments)
{
    struct launched it;
    if (!look_up(function, &it)) {
        values_forget_all();
        return;
    }
    if ((values_any() || matters(&it.kernel) || record_of_thread()) &&
        !compute(&it, grid, arguments))
        parameters_forget(&it.parameters, arguments);
    wholes_note(it.wholes, &it.parameters, arguments);
}
