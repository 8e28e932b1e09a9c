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
#include "values.h"
#include "walks.h"

/* Sorted by function once it is searched. */
struct entry {
    const void *function, *binary;
    const char *name;
    struct launched *launched; /* NULL: not yet */
};

struct launched {
    struct kernel kernel;
    struct parameters parameters;
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
    keep(function, launched);
    return true;
}

/* True: what it writes is known now, or forgotten. */
static bool compute(const struct launched *launched, uint32_t blocks, void **arguments)
{
    const struct kernel *kernel = &launched->kernel;
    const struct parameters *parameters = &launched->parameters;
    switch (kernel->walk) {
    case WALK_READS:
        parameters_forget_first(parameters, arguments);
        return true;
    case WALK_FLAT:
        walk_flat(kernel, arguments);
        return true;
    case WALK_CAST:
        walk_cast(kernel, arguments);
        return true;
    case WALK_STRIDED:
        return walk_strided(kernel, arguments);
    case WALK_INDEX:
        walk_index(kernel, arguments);
        return true;
    case WALK_REDUCE:
        (void)walk_reduce(kernel, arguments); /* of another kind: into memory that is new */
        return true;
    case WALK_COUNT:
        walk_count(kernel, blocks, arguments);
        return true;
    case WALK_SUM:
        walk_sum(arguments);
        return true;
    case WALK_SCAN:
        walk_scan(arguments);
        return true;
    case WALK_SCAN_ROWS:
        walk_scan_rows(arguments);
        return true;
    case WALK_UNKNOWN:
        break;
    }
    return false;
}

/* Fills and ranges are computed of nothing; all else does nothing as long as nothing is known. */
static bool makes_values(const struct kernel *kernel)
{
    return kernel->form == FORM_FILL || kernel->form == FORM_RANGE;
}

void kernels_launch(const void *function, uint32_t blocks, void **arguments)
{
    struct launched it;
    if (!look_up(function, &it)) {
        values_forget_all();
        return;
    }
    if ((values_any() || makes_values(&it.kernel)) && !compute(&it, blocks, arguments))
        parameters_forget(&it.parameters, arguments);
}
