/*
 * A lever on the allocator's cache: it gives back what nobody uses, before each phase of one kind,
 * by replay of the whole run. Where a phase begins, what was freed before its first birth is free.
 */
#include "error.h"
#include "levers_work.h"
#include "mem.h"
#include "query.h"
#include "replay.h"

struct moments { /* in their order */
    int64_t *seqs;
    size_t count, cap;
};

static const char begins_sql[] =
    "SELECT begin_seq FROM phase WHERE process = ?1 AND parent IS NULL"
    "   AND CASE ?2 WHEN 0 THEN kind IN ('forward', 'forward_no_grad')"
    "               WHEN 1 THEN kind = 'backward' ELSE kind = 'optimizer' END ORDER BY begin_seq";

static int read_moments(struct levers_work *work, int kind, struct moments *out)
{
    int64_t begin_seq;
    out->count = 0;
    struct query query = query_ask(work->seen.db, begins_sql, Q_IN(work->seen.peak->process, kind),
                                   Q_OUT(Q_INT(begin_seq)));
    while (query_next(&query)) {
        if (MEM_GROW(out->seqs, out->cap, out->count + 1))
            out->seqs[out->count++] = begin_seq;
        else
            query_fail(&query, ERR_NOMEM);
    }
    return query_end(&query);
}

/* Room for both. */
static size_t put_ops(const struct replay_trace *trace, const struct moments *moments,
                      struct replay_op *out)
{
    size_t count = 0, next = 0;
    for (size_t i = 0; i < trace->op_count; i++) {
        const struct replay_op *op = &trace->ops[i];
        bool birth = op->kind == REPLAY_ALLOC, empty = false;
        for (;
             birth && next < moments->count && moments->seqs[next] <= trace->blocks[op->block].seq;
             next++)
            empty = true;
        if (empty)
            out[count++] = (struct replay_op){.block = op->block, .kind = REPLAY_EMPTY};
        out[count++] = *op;
    }
    return count;
}

static int reserved_with(struct fit *fit, const struct moments *moments, int64_t *out)
{
    struct replay_outcome outcome;
    struct replay_trace changed = fit->trace;
    const struct replay_setup setup = fit_setup(fit, &fit->recorded, 0);
    changed.ops = mem_alloc(fit->trace.op_count + moments->count + 1, sizeof *changed.ops);
    if (!changed.ops)
        return ERR_NOMEM;
    changed.op_count = put_ops(&fit->trace, moments, changed.ops);
    int err = replay_run(&changed, &setup, &fit->scratch, NULL, &outcome);
    *out = err >= 0 && outcome.survived ? outcome.peak_reserved : INT64_MAX;
    mem_free(changed.ops);
    return err;
}

int levers_empty_cache(struct levers_work *work, struct fit *fit, int64_t now)
{
    static const char *const texts[] = {
        "torch.cuda.empty_cache() before each forward (slower), by replay",
        "torch.cuda.empty_cache() before each loss.backward() (slower), by replay",
        "torch.cuda.empty_cache() before each optimizer.step() (slower), by replay",
    };
    struct levers_words words = {.kind = LEVER_EMPTY_CACHE, .site = LEVERS_NONE};
    struct moments moments = {0};
    int64_t best = now, then;
    int err = 0;
    for (int kind = 0; kind < 3 && err >= 0; kind++) {
        err = read_moments(work, kind, &moments);
        if (err < 0 || !moments.count)
            continue;
        work->out->tried++;
        err = reserved_with(fit, &moments, &then);
        if (err >= 0 && then < best) {
            best = then;
            words.before = texts[kind];
        }
    }
    mem_free(moments.seqs);
    if (err < 0 || now - best < now / 100 || !words.before)
        return err;
    return levers_add(work, 0, now - best, &words);
}
