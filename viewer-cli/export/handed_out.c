#include "handed_out.h"

#include "error.h"
#include "map.h"
#include "mem.h"
#include "query.h"
#include "stack.h"

struct reading {
    const struct report *report;
    struct handed_out *out;
    struct map heaps;      /* heap.id to place of its scope */
    struct numbered sites; /* STACK_NONE among them */
    struct map index;      /* number of the site and place of the scope, to place of the sum */
};

static int read_heaps(struct reading *reading)
{
    const struct report *report = reading->report;
    int64_t id, process, device;
    struct query query = query_ask(report->db, "SELECT id, process, device FROM heap", Q_NOTHING,
                                   Q_OUT(Q_INT(id), Q_INT(process), Q_INT(device)));
    while (query_next(&query)) {
        const struct report_scope *scope = report_scope_of(report, process, device);
        if (scope &&
            !map_put(&reading->heaps, (uint64_t)id, (uint64_t)(scope - report->scopes), NULL))
            query_fail(&query, ERR_NOMEM);
    }
    return query_end(&query);
}

static struct handed_out_sum *sum_of(struct reading *reading, uint64_t scope, int64_t site)
{
    struct handed_out *out = reading->out;
    size_t number;
    bool is_new;
    if (!numbered_put(&reading->sites, site, &number, &is_new))
        return NULL;
    uint64_t key = number * (uint64_t)reading->report->scope_count + scope;
    uint64_t at = map_get(&reading->index, key);
    if (at != MAP_NONE)
        return &out->sums[at];
    if (!MEM_GROW(out->sums, out->cap, out->count + 1) ||
        !map_put(&reading->index, key, out->count, NULL))
        return NULL;
    out->sums[out->count] =
        (struct handed_out_sum){.scope = &reading->report->scopes[scope], .site = site};
    return &out->sums[out->count++];
}

static int add(struct reading *reading, int64_t heap, int64_t site, int64_t blocks, int64_t bytes)
{
    uint64_t scope = map_get(&reading->heaps, (uint64_t)heap);
    if (scope == MAP_NONE)
        return 0;
    struct handed_out_sum *sum = sum_of(reading, scope, site);
    if (!sum)
        return ERR_NOMEM;
    /* Rows of a damaged file may add up to anything. */
    if (__builtin_add_overflow(sum->blocks, blocks, &sum->blocks) ||
        __builtin_add_overflow(sum->bytes, bytes, &sum->bytes))
        return db_damaged(reading->report->db, "sums of blocks beyond 2^63");
    return 0;
}

static int read_blocks(struct reading *reading)
{
    int64_t heap, site, size;
    struct query query = query_ask(reading->report->db, "SELECT heap, site, size FROM allocation",
                                   Q_NOTHING, Q_OUT(Q_INT(heap), Q_OPT(site), Q_SIZE(size)));
    while (query_next(&query))
        query_fail(&query, add(reading, heap, site, 1, size));
    return query_end(&query);
}

static int read_sums(struct reading *reading)
{
    int64_t heap, site, blocks, bytes;
    struct query query =
        query_ask(reading->report->db, "SELECT heap, site, blocks, bytes FROM site_sum", Q_NOTHING,
                  Q_OUT(Q_INT(heap), Q_INT(site), Q_INT(blocks), Q_INT(bytes)));
    while (query_next(&query))
        query_fail(&query, add(reading, heap, site < 0 ? STACK_NONE : site, blocks, bytes));
    return query_end(&query);
}

int handed_out_read(const struct report *report, struct handed_out *out)
{
    struct reading reading = {.report = report, .out = out};
    *out = (struct handed_out){0};
    int err = read_heaps(&reading);
    if (err >= 0)
        err = read_blocks(&reading);
    if (err >= 0)
        err = read_sums(&reading);
    map_clear(&reading.heaps);
    map_clear(&reading.index);
    numbered_clear(&reading.sites);
    return err;
}

void handed_out_clear(struct handed_out *handed_out)
{
    mem_free(handed_out->sums);
    *handed_out = (struct handed_out){0};
}
