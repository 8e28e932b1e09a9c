/*
 * The calls of CUDA that led to memory of the driver: their threads, names and call stacks. A row
 * of memory and the row of its call have the same number, which counts in each process.
 */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "nsys.h"

/* ---- calls ---- */

/* "cudaMalloc_v3020" is cudaMalloc. */
static size_t name_bytes(const char *name)
{
    size_t count = strlen(name), at = count;
    while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9')
        at--;
    return at < count && at > 2 && name[at - 1] == 'v' && name[at - 2] == '_' ? at - 2 : count;
}

static int chain_of(struct nsys *nsys, const struct rows_value *id, uint32_t *chain)
{
    *chain = 0;
    if (!id->is_number)
        return BASE_OK;
    uint64_t known = map_get(&nsys->chains, (uint64_t)id->number);
    *chain = known == MAP_NONE ? (uint32_t)nsys->chains.count + 1 : (uint32_t)known;
    return map_put(&nsys->chains, (uint64_t)id->number, *chain, NULL) ? BASE_OK : ERR_NOMEM;
}

/* The chain's number stands where that of its stack will be. */
static int see_call(void *self, const struct rows_value *values)
{
    struct nsys *nsys = self;
    if (!values[0].is_number || !values[1].is_number || values[1].number <= 0 ||
        values[1].number > UINT32_MAX)
        return BASE_OK;
    uint64_t pid = (uint64_t)nsys_pid(values[0].number);
    uint64_t found = map_get(&nsys->wanted, pid << 32 | (uint64_t)values[1].number);
    if (found == MAP_NONE)
        return BASE_OK;
    struct block_log *log = &nsys->processes[found >> 32].log;
    struct block_log_entry *entry = &log->entries[(uint32_t)found];
    uint32_t string = nsys_string(nsys, &values[2]), chain, name = 0;
    int err = chain_of(nsys, &values[3], &chain);
    if (err == BASE_OK && string) {
        const char *text = intern_at(&nsys->texts, string);
        err = block_log_name(log, text, name_bytes(text), &name);
    }
    entry->name = name;
    entry->thread = (uint32_t)values[0].number & 0xffffff;
    entry->allocated = (entry->allocated & 0xff) | (uint64_t)chain << 32;
    return err;
}

/* ---- call stacks ---- */

static int see_frame(void *self, const struct rows_value *values)
{
    struct nsys *nsys = self;
    uint64_t chain =
        values[0].is_number ? map_get(&nsys->chains, (uint64_t)values[0].number) : MAP_NONE;
    if (chain == MAP_NONE)
        return BASE_OK;
    if (!values[3].is_number)
        return nsys_odd(nsys);
    if (!BUDGET_GROW(&nsys->budget, nsys->calls, nsys->call_cap, nsys->call_count + 1))
        return nsys->budget.refused ? ERR_LIMIT : ERR_NOMEM;
    nsys->calls[nsys->call_count++] = (struct nsys_call){.chain = (uint32_t)chain,
                                                         .symbol = nsys_string(nsys, &values[1]),
                                                         .module = nsys_string(nsys, &values[2]),
                                                         .depth = values[3].number};
    return BASE_OK;
}

static int compare(const void *left, const void *right)
{
    const struct nsys_call *a = left, *b = right;
    if (a->chain != b->chain)
        return a->chain < b->chain ? -1 : 1;
    return a->depth < b->depth ? -1 : a->depth > b->depth;
}

static int name_of(struct nsys *nsys, struct block_log *log, uint32_t string, uint32_t *name)
{
    *name = 0;
    if (!string)
        return BASE_OK;
    const char *text = intern_at(&nsys->texts, string);
    return block_log_name(log, text, strlen(text), name);
}

/* The stack that begins at this row. */
static int make_stack(struct nsys *nsys, struct block_log *log, size_t at, uint32_t *stack)
{
    uint32_t frames[BLOCK_LOG_DEPTH];
    size_t depth = 0;
    uint32_t chain = nsys->calls[at].chain;
    for (; at < nsys->call_count && nsys->calls[at].chain == chain && depth < BLOCK_LOG_DEPTH;
         at++, depth++) {
        struct block_log_frame frame = {0};
        int err = name_of(nsys, log, nsys->calls[at].symbol, &frame.function);
        if (err == BASE_OK)
            err = name_of(nsys, log, nsys->calls[at].module, &frame.file);
        if (err == BASE_OK)
            err = block_log_frame(log, frame, &frames[depth]);
        if (err)
            return err;
    }
    return block_log_stack(log, frames, depth, stack);
}

/* From chains' numbers to those of the log's stacks; `firsts` has the first row of each chain. */
static int place_stacks(struct nsys *nsys, struct block_log *log, const uint32_t *firsts,
                        uint32_t *stacks)
{
    memset(stacks, 0, (nsys->chains.count + 1) * sizeof *stacks);
    for (size_t i = 0; i < log->count; i++) {
        struct block_log_entry *entry = &log->entries[i];
        uint32_t chain = (uint32_t)(entry->allocated >> 32);
        if (entry->kind != LOG_DRIVER_ALLOC || !chain)
            continue;
        if (!stacks[chain] && firsts[chain]) {
            int err = make_stack(nsys, log, firsts[chain] - 1, &stacks[chain]);
            if (err)
                return err;
        }
        entry->allocated = (entry->allocated & 0xff) | (uint64_t)stacks[chain] << 32;
    }
    return BASE_OK;
}

static int make_stacks(struct nsys *nsys)
{
    uint32_t *firsts = mem_alloc(nsys->chains.count + 1, sizeof *firsts);
    uint32_t *stacks = mem_alloc(nsys->chains.count + 1, sizeof *stacks);
    int err = firsts && stacks ? BASE_OK : ERR_NOMEM;
    if (nsys->call_count)
        qsort(nsys->calls, nsys->call_count, sizeof *nsys->calls, compare);
    for (size_t i = nsys->call_count; err == BASE_OK && i > 0; i--)
        firsts[nsys->calls[i - 1].chain] = (uint32_t)i;
    for (size_t i = 0; err == BASE_OK && i < nsys->process_count; i++)
        err = place_stacks(nsys, &nsys->processes[i].log, firsts, stacks);
    mem_free(firsts);
    mem_free(stacks);
    return err;
}

int nsys_read_calls(struct nsys *nsys)
{
    static const char *const calls[] = {"globalTid", "correlationId", "nameId", "callchainId",
                                        NULL};
    static const char *const frames[] = {"id", "symbol", "module", "stackDepth", NULL};
    int err = nsys_walk(nsys, "CUPTI_ACTIVITY_KIND_RUNTIME", calls, see_call, NULL);
    if (err == BASE_OK && nsys->chains.count)
        err = nsys_walk(nsys, "CUDA_CALLCHAINS", frames, see_frame, NULL);
    return err ? err : make_stacks(nsys);
}
