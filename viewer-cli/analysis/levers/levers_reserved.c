/*
 * What a lever takes off reserved: the recording up to the end of the peak's step, done again with
 * the changed lives. An operation has no event number of its own unless it is a birth; the ends of
 * the blocks of the step are known from the step itself, and nothing before it changes.
 */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "levers_work.h"
#include "mem.h"

enum { NO_BIRTH = 1, NO_END = 2 };

struct inserted {
    int64_t seq;
    struct replay_op op;
};

struct redo {
    const struct replay_trace *trace;
    const struct levers_step *step;
    uint32_t *birth;  /* of each block: its ALLOC; UINT32_MAX = adopted */
    uint8_t *without; /* of each block: NO_BIRTH, NO_END */
    size_t *of_step;  /* of each block: its place in the step; SIZE_MAX */
    struct inserted *inserted;
    size_t inserted_count, inserted_cap;
    struct replay_op *ops;
    size_t op_count, op_cap;
};

static int compare(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_seq(const void *one, const void *other)
{
    return compare(((const struct inserted *)one)->seq, ((const struct inserted *)other)->seq);
}

static int find_block(const void *key, const void *block)
{
    return compare(*(const int64_t *)key, ((const struct replay_block *)block)->seq);
}

static int redo_begin(struct redo *redo, const struct replay_trace *trace,
                      const struct levers_step *step)
{
    size_t count = trace->block_count + 1;
    *redo = (struct redo){.trace = trace,
                          .step = step,
                          .birth = mem_alloc(count, sizeof *redo->birth),
                          .without = mem_alloc(count, sizeof *redo->without),
                          .of_step = mem_alloc(count, sizeof *redo->of_step)};
    if (!redo->birth || !redo->without || !redo->of_step)
        return ERR_NOMEM;
    memset(redo->birth, 0xff, count * sizeof *redo->birth);
    memset(redo->of_step, 0xff, count * sizeof *redo->of_step);
    for (size_t i = 0; i < trace->op_count; i++)
        if (trace->ops[i].kind == REPLAY_ALLOC)
            redo->birth[trace->ops[i].block] = (uint32_t)i;
    for (size_t i = 0; i < step->count && trace->block_count; i++) {
        const struct replay_block *block = bsearch(&step->blocks[i].seq, trace->blocks,
                                                   trace->block_count, sizeof *block, find_block);
        if (block)
            redo->of_step[block - trace->blocks] = i;
    }
    return 0;
}

static void redo_end(struct redo *redo)
{
    mem_free(redo->birth);
    mem_free(redo->without);
    mem_free(redo->of_step);
    mem_free(redo->inserted);
    mem_free(redo->ops);
}

/* ---- one change ---- */

static bool insert(struct redo *redo, int64_t seq, uint32_t block, enum replay_kind kind)
{
    struct replay_op op = {.block = block, .kind = (uint8_t)kind};
    if (kind == REPLAY_ALLOC)
        op = redo->trace->ops[redo->birth[block]];
    if (!MEM_GROW(redo->inserted, redo->inserted_cap, redo->inserted_count + 1))
        return false;
    redo->inserted[redo->inserted_count++] = (struct inserted){seq, op};
    return true;
}

static bool cut(struct redo *redo, uint32_t block, const struct levers_block *was, int64_t from,
                int64_t to)
{
    from = from > was->seq ? from : was->seq;
    to = to < was->end ? to : was->end;
    if (from >= to)
        return true;
    if (from == was->seq)
        redo->without[block] |= NO_BIRTH;
    else if (!insert(redo, from, block, REPLAY_FREE))
        return false;
    if (to == was->end)
        redo->without[block] |= NO_END;
    else
        return insert(redo, to, block, REPLAY_ALLOC);
    return true;
}

static int apply(struct redo *redo, const struct levers_edit *edit)
{
    const struct replay_trace *trace = redo->trace;
    redo->inserted_count = 0;
    memset(redo->without, 0, trace->block_count);
    for (size_t i = 0; i < edit->count; i++) {
        const struct levers_change *change = &edit->changes[i];
        if (change->how > LEVERS_LONGER)
            continue;
        const struct levers_block *was = &redo->step->blocks[change->block];
        const struct replay_block *found =
            trace->block_count
                ? bsearch(&was->seq, trace->blocks, trace->block_count, sizeof *found, find_block)
                : NULL;
        if (!found)
            continue;
        uint32_t block = (uint32_t)(found - trace->blocks);
        if (redo->birth[block] == UINT32_MAX)
            continue; /* it was there before the record, and stays */
        bool done = true;
        if (change->how == LEVERS_LONGER) {
            redo->without[block] |= NO_END;
            done = change->to > redo->step->end || insert(redo, change->to, block, REPLAY_FREE);
        } else {
            done = cut(redo, block, was, change->from, change->to);
        }
        if (!done)
            return ERR_NOMEM;
    }
    if (redo->inserted_count)
        qsort(redo->inserted, redo->inserted_count, sizeof *redo->inserted, by_seq);
    return 0;
}

/* ---- all operations ---- */

/* The event of an operation, or that of the one before it. */
static int64_t seq_of(const struct redo *redo, const struct replay_op *op, int64_t before)
{
    if (op->kind == REPLAY_ALLOC)
        return redo->trace->blocks[op->block].seq;
    if ((op->kind == REPLAY_FREE || op->kind == REPLAY_GIVE) &&
        redo->of_step[op->block] != SIZE_MAX) {
        int64_t end = redo->step->blocks[redo->of_step[op->block]].end;
        return end > before && end != LEVERS_NEVER ? end : before;
    }
    return before;
}

static bool is_left_out(const struct redo *redo, const struct replay_op *op)
{
    if (op->kind == REPLAY_ALLOC)
        return redo->without[op->block] & NO_BIRTH;
    return op->kind <= REPLAY_IDLE && redo->without[op->block] & NO_END;
}

static int make_ops(struct redo *redo)
{
    const struct replay_trace *trace = redo->trace;
    int64_t seq = INT64_MIN;
    size_t next = 0;
    redo->op_count = 0;
    if (!MEM_GROW(redo->ops, redo->op_cap, trace->op_count + redo->inserted_count + 1))
        return ERR_NOMEM;
    for (size_t i = 0; i < trace->op_count; i++) {
        const struct replay_op *op = &trace->ops[i];
        seq = seq_of(redo, op, seq);
        if (seq > redo->step->end)
            break;
        while (next < redo->inserted_count && redo->inserted[next].seq <= seq)
            redo->ops[redo->op_count++] = redo->inserted[next++].op;
        if (!is_left_out(redo, op))
            redo->ops[redo->op_count++] = *op;
    }
    return 0;
}

static int reserved_with(struct redo *redo, struct fit *fit, const struct levers_edit *edit,
                         int64_t *out)
{
    struct replay_outcome outcome;
    const struct replay_setup setup = fit_setup(fit, &fit->recorded, 0);
    int err = apply(redo, edit);
    if (err == 0)
        err = make_ops(redo);
    if (err < 0)
        return err;
    struct replay_trace changed = *redo->trace;
    changed.ops = redo->ops;
    changed.op_count = redo->op_count;
    err = replay_run(&changed, &setup, &fit->scratch, NULL, &outcome);
    *out = err >= 0 && outcome.survived ? outcome.peak_reserved : INT64_MAX;
    return err;
}

static bool has_bytes_of_its_own(const struct levers_edit *edit)
{
    for (size_t i = 0; i < edit->count; i++)
        if (edit->changes[i].how > LEVERS_LONGER)
            return true;
    return false;
}

int levers_reserved(struct levers_work *work, struct fit *fit)
{
    const struct levers_edit nothing = {0};
    struct redo redo;
    int64_t now = INT64_MAX;
    if (!work->kept_count)
        return 0;
    int err = redo_begin(&redo, &fit->trace, &work->seen.step);
    if (err >= 0)
        err = reserved_with(&redo, fit, &nothing, &now);
    for (size_t i = 0; i < work->kept_count && err >= 0 && now != INT64_MAX; i++) {
        struct lever *lever = &work->out->levers[work->kept[i].lever];
        int64_t then;
        if (has_bytes_of_its_own(&work->kept[i].edit))
            continue; /* no block that could be placed */
        err = reserved_with(&redo, fit, &work->kept[i].edit, &then);
        if (err >= 0 && then != INT64_MAX)
            lever->reserved = now - then;
    }
    redo_end(&redo);
    return err;
}
