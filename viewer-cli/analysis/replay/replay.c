#include "replay.h"

#include <string.h>

#include "error.h"
#include "mem.h"
#include "replay_adopt.h"
#include "replay_device.h"

struct run {
    const struct replay_trace *trace;
    const struct replay_setup *setup;
    const struct replay_witness *witness;
    struct replay_device device;
    struct alloc *alloc;
    uint64_t *addresses;
    uint32_t *waiting; /* blocks that were given back to wait; some are idle by now */
    size_t waiting_count, waiting_cap;
    struct replay_outcome *out;
};

/* ---- blocks that wait ---- */

static int put_waiting(struct run *run, uint32_t block)
{
    size_t kept = 0;
    if (run->waiting_count == run->waiting_cap) {
        for (size_t i = 0; i < run->waiting_count; i++)
            if (run->addresses[run->waiting[i]])
                run->waiting[kept++] = run->waiting[i];
        run->waiting_count = kept;
        if (!MEM_GROW(run->waiting, run->waiting_cap, 2 * kept + 1))
            return ERR_NOMEM;
    }
    run->waiting[run->waiting_count++] = block;
    return 0;
}

/* What a full device has the allocator do first: wait until every stream is done. The record says
 * when that was, but of a run that had memory enough. True if anything had been waiting. */
static bool settle_all(struct run *run, int *err)
{
    bool any = false;
    for (; run->waiting_count && *err >= 0; run->waiting_count--) {
        uint32_t block = run->waiting[run->waiting_count - 1];
        uint64_t address = run->addresses[block];
        if (!address)
            continue;
        any = true;
        run->addresses[block] = 0;
        *err = alloc_settle(run->alloc, address);
    }
    return any;
}

/* ---- a request that is refused ---- */

/* Returns 1 to end the replay. */
static int refused(struct run *run, size_t op, uint32_t block, const struct alloc_refusal *refusal)
{
    struct replay_outcome *out = run->out;
    if (!out->refusals++) {
        out->survived = false;
        out->refused_op = op;
        out->refused = block;
        out->refusal = *refusal;
    }
    if (run->setup->recorded)
        return 0;
    int err = 0;
    if (run->witness)
        err = run->witness->refused(run->witness->self, run->trace, run->alloc, run->addresses,
                                    refusal);
    return err < 0 ? err : 1;
}

/* Otherwise it is our own memory that there is too little of. */
static bool is_refusal(const struct alloc_refusal *refusal)
{
    return refusal->rounded || refusal->requested >= ALLOC_MAX_REQUEST;
}

/* ---- marks ---- */

static uint64_t mixed(uint64_t word, uint64_t with)
{
    word = (word ^ with) * UINT64_C(0x9e3779b97f4a7c15);
    return word ^ word >> 29;
}

static void mark(const struct run *run, uint32_t block, uint64_t address, uint64_t size)
{
    struct replay_marks *marks = run->setup->marks;
    if (!marks)
        return;
    uint64_t word = mixed(mixed(mixed(1, address), size), run->device.held);
    if (!marks->compare)
        marks->words[block] = word;
    else if (marks->first == UINT32_MAX && marks->words[block] != word)
        marks->first = block;
}

/* ---- operations ---- */

static int run_alloc(struct run *run, size_t at)
{
    const struct replay_op *op = &run->trace->ops[at];
    struct alloc_refusal refusal;
    uint64_t address;
    run->device.block = op->block;
    uint64_t stream = run->trace->heaps[op->heap].name;
    int err = alloc_malloc(run->alloc, op->size, stream, &address, &refusal), settled = 0;
    if (err == ERR_NOMEM && !run->setup->recorded && is_refusal(&refusal) && !refusal.thrown &&
        settle_all(run, &settled))
        err = alloc_malloc(run->alloc, op->size, stream, &address, &refusal);
    if (settled < 0)
        return settled;
    if (err == ERR_NOMEM && is_refusal(&refusal)) {
        mark(run, op->block, 0, UINT64_MAX);
        return refused(run, at, op->block, &refusal);
    }
    if (err < 0)
        return err;
    run->addresses[op->block] = address;
    if (run->setup->marks)
        mark(run, op->block, address, alloc_block_size(run->alloc, address));
    run->out->equal += address == run->trace->blocks[op->block].address;
    return 0;
}

static int run_end(struct run *run, const struct replay_op *op)
{
    uint64_t address = run->addresses[op->block];
    int err;
    if (!address) /* of 0 bytes, refused, or idle before its time */
        return 0;
    switch ((enum replay_kind)op->kind) {
    case REPLAY_FREE:
        run->addresses[op->block] = 0;
        return alloc_give(run->alloc, address);
    case REPLAY_GIVE:
        err = alloc_give_awaiting(run->alloc, address);
        return err < 0 ? err : put_waiting(run, op->block);
    default:
        run->addresses[op->block] = 0;
        return alloc_settle(run->alloc, address);
    }
}

static int run_device(struct run *run, enum replay_kind kind)
{
    if (kind == REPLAY_SHORT)
        run->device.short_once = run->setup->recorded;
    else if (kind == REPLAY_EMPTY || run->setup->recorded)
        return alloc_empty_cache(run->alloc);
    return 0;
}

static int run_ops(struct run *run)
{
    const struct replay_trace *trace = run->trace;
    int err = 0;
    size_t i = 0;
    for (; i < trace->op_count && err == 0; i++) {
        const struct replay_op *op = &trace->ops[i];
        if (op->kind == REPLAY_ALLOC)
            err = run_alloc(run, i);
        else if (op->kind <= REPLAY_IDLE)
            err = run_end(run, op);
        else
            err = run_device(run, (enum replay_kind)op->kind);
    }
    run->out->ops = i;
    return err < 0 ? err : 0;
}

/* ---- begin and end ---- */

static int run_adopt(struct run *run)
{
    const struct replay_setup *setup = run->setup;
    const struct replay_adopter adopter = {
        .trace = run->trace,
        .device = &run->device,
        .alloc = run->alloc,
        .addresses = run->addresses,
        .anew = setup->anew,
    };
    struct alloc_refusal refusal = {0};
    int err = replay_adopt(&adopter, &refusal);
    if (err == ERR_NOMEM && is_refusal(&refusal))
        return refused(run, 0, UINT32_MAX, &refusal);
    for (uint32_t i = 0; err >= 0 && i < run->trace->adopted; i++)
        if (run->trace->adopted_blocks[i].state == REPLAY_AWAITING)
            err = put_waiting(run, i);
    if (err >= 0 && setup->memory && run->device.held > setup->memory) {
        struct alloc_stats stats;
        alloc_stats(run->alloc, &stats);
        refusal = (struct alloc_refusal){
            .allocated = (uint64_t)stats.allocated_bytes[ALLOC_ALL].current,
            .reserved = run->device.held,
        };
        return refused(run, 0, UINT32_MAX, &refusal);
    }
    return err;
}

static void take_statistics(struct run *run)
{
    struct alloc_stats stats;
    struct replay_outcome *out = run->out;
    alloc_stats(run->alloc, &stats);
    out->peak_allocated = stats.allocated_bytes[ALLOC_ALL].peak;
    out->peak_active = stats.active_bytes[ALLOC_ALL].peak;
    out->peak_requested = stats.requested_bytes[ALLOC_ALL].peak;
    out->peak_reserved = stats.reserved_bytes[ALLOC_ALL].peak;
    out->retries = stats.num_alloc_retries;
    out->segments_made = stats.num_device_alloc;
    out->peak_block = run->device.peak_block;
    out->segments_taken = run->device.taken;
    out->segments_equal = run->device.equal;
    out->compared = run->trace->block_count - run->trace->adopted;
    out->segments_recorded = run->trace->segment_count - run->trace->adopted_segments;
    for (size_t i = 0; i < run->trace->mapping_count; i++)
        out->segments_recorded += run->trace->mappings[i].mapped &&
                                  run->trace->mappings[i].seq > run->trace->rebuilt_until;
}

static int begin(struct run *run, struct replay_scratch *scratch)
{
    size_t blocks = run->trace->block_count;
    int err = replay_scratch_fit(scratch, run->trace);
    if (err < 0)
        return err;
    run->addresses = scratch->addresses;
    if (blocks)
        memset(run->addresses, 0, blocks * sizeof *run->addresses);
    err = replay_device_begin(&run->device, run->trace, run->setup->addresses);
    if (run->setup->memory)
        replay_device_memory(&run->device, run->setup->memory);
    if (err < 0)
        return err;
    const struct alloc_options options = {.device = &run->device.seam,
                                          .config = run->setup->config,
                                          .limit = run->setup->limit,
                                          .device_bytes = run->setup->whole,
                                          .flags = ALLOC_ONE_THREAD};
    return alloc_new(&run->alloc, &options);
}

int replay_run(const struct replay_trace *trace, const struct replay_setup *setup,
               struct replay_scratch *scratch, const struct replay_witness *witness,
               struct replay_outcome *out)
{
    struct run run = {.trace = trace, .setup = setup, .witness = witness, .out = out};
    *out = (struct replay_outcome){.survived = true};
    int err = begin(&run, scratch);
    if (err >= 0)
        err = run_adopt(&run);
    if (err == 0)
        err = run_ops(&run);
    if (run.alloc) {
        take_statistics(&run);
        assert(replay_device_is_valid(&run.device));
        alloc_delete(run.alloc);
    }
    if (run.device.starved)
        err = ERR_NOMEM;
    mem_free(run.waiting);
    replay_device_end(&run.device);
    return err < 0 ? err : 0;
}

int replay_scratch_fit(struct replay_scratch *scratch, const struct replay_trace *trace)
{
    if (scratch->count >= trace->block_count)
        return 0;
    uint64_t *more = mem_resize(scratch->addresses, trace->block_count, sizeof *more);
    if (!more)
        return ERR_NOMEM;
    scratch->addresses = more;
    scratch->count = trace->block_count;
    return 0;
}

void replay_scratch_clear(struct replay_scratch *scratch)
{
    mem_free(scratch->addresses);
    *scratch = (struct replay_scratch){0};
}
