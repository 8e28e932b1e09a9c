/*
 * A lever on the loss over classes: head and loss for a part of the rows at a time.
 *
 * Logits, their like and their gradients are made for a chunk of rows, and again in backward. Each
 * chunk has a gradient of the head's weight of its own: the second one finds the first, and their
 * sum is a third tensor; all further ones are added to it in place.
 */
#include "error.h"
#include "levers_names.h"
#include "levers_work.h"
#include "mem.h"
#include "query.h"

enum {
    CHUNKS = 8,
    LOGITS_LEAST = 100,
    ROUNDED = 512,
    TOKENS_LEAST = 16,
    CLASSES = 256,
    UNCUT = 1 << 20
};

static bool is_of_loss(const char *function)
{
    static const char *const names[] = {"cross_entropy", "crossentropyloss", "log_softmax",
                                        "logsoftmax"};
    return levers_is_one_of(function, names, sizeof names / sizeof *names);
}

/* What a loss over classes computes on. */
struct logits {
    int64_t asked;    /* the largest tensor that it makes; 0: there is none */
    int64_t all_rows; /* with those that have no labels, which the head makes, too */
    bool halves;  /* the head makes them in half as many bytes: the loss makes float32 of them */
    bool again;   /* the loss is computed again in backward: it is in chunks already */
    size_t first; /* the first block that is so large */
};

static int see_loss(struct levers_work *work, size_t at, struct logits *out)
{
    const struct levers_block *block = &work->seen.step.blocks[at];
    char *name = NULL, *shown = NULL;
    int err = site_names(work->seen.db, block->site, &name, &shown);
    if (err < 0 || !name || !is_of_loss(name)) {
        /* nothing of the loss */
    } else if (!levers_computes(&work->seen.step.phases, block->seq)) {
        out->again = true;
    } else if (block->asked > out->asked) {
        out->asked = block->asked;
        out->first = at;
    }
    mem_free(name);
    mem_free(shown);
    return err;
}

static int find_logits(struct levers_work *work, struct logits *out)
{
    const struct levers_step *step = &work->seen.step;
    struct map seen = {0};
    int err = 0;
    *out = (struct logits){0};
    for (size_t i = step->older; i < step->count && err >= 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        const bool computes = levers_computes(&step->phases, block->seq);
        uint64_t key = (uint64_t)block->site << 1 | computes;
        if ((computes && block->asked <= out->asked) ||
            block->size < work->out->peak / LOGITS_LEAST || block->site == GROUP_NONE ||
            (!computes && !levers_phase_around(&step->phases, LEVERS_BACKWARD, block->seq)) ||
            map_get(&seen, key) == (uint64_t)block->asked)
            continue;
        err = see_loss(work, i, out);
        if (err >= 0 && !map_put(&seen, key, (uint64_t)block->asked, NULL))
            err = ERR_NOMEM;
    }
    map_clear(&seen);
    return err;
}

static bool has_all_rows(int64_t asked, int64_t labelled)
{
    int64_t over = asked - labelled;
    return over == 0 || (over > 0 && labelled / over >= TOKENS_LEAST && labelled % over == 0);
}

/* What the head makes, and copies of it, were made last before the loss, with nothing of the model
 * in between. Of a language model it has a row for the last token of each sequence, too, for which
 * there is no label: as many bytes more go into the others' a whole number of times. */
static void find_all_rows(const struct levers_step *step, struct logits *logits)
{
    logits->all_rows = logits->asked;
    for (size_t i = logits->first; i-- > step->older && logits->asked;) {
        int64_t asked = step->blocks[i].asked;
        bool whole = has_all_rows(asked, logits->asked);
        bool half = has_all_rows(2 * asked, logits->asked);
        if (!whole && !half && asked > logits->asked / CLASSES)
            break;
        asked *= whole ? 1 : 2;
        logits->halves = logits->halves || half;
        if ((whole || half) && asked > logits->all_rows)
            logits->all_rows = asked;
    }
}

/* A request that the loss makes is as large as its logits, whether it was granted or not. */
static int find_refused(struct levers_work *work, int64_t *asked)
{
    int64_t refused = 0, site = GROUP_NONE;
    char *name = NULL, *shown = NULL;
    if (!work->seen.peak->refused)
        return 0;
    int err =
        query_read(work->seen.db,
                   "SELECT asked AS refused, site FROM oom"
                   " WHERE seq = ?1 AND process = ?2 AND device = ?3 AND site IS NOT NULL",
                   Q_IN(work->seen.peak->seq, work->seen.peak->process, work->seen.peak->device),
                   Q_OUT(Q_INT(refused), Q_OPT(site)));
    if (err >= 0 && site != GROUP_NONE)
        err = site_names(work->seen.db, site, &name, &shown);
    if (err >= 0 && name && is_of_loss(name) && refused > *asked)
        *asked = refused;
    mem_free(name);
    mem_free(shown);
    return err;
}

/* Where it is not known what a block asked for, it is its size: rounded up, and on a GPU with the
 * rest of a segment that was too small to be cut off, as the logits' own size is. As much beside
 * small logits is another size. */
static bool is_near(const struct levers_work *work, const struct levers_block *block, int64_t asked)
{
    int64_t over = block->size - asked, most = ROUNDED - 1;
    if (!work->seen.on_host && asked >= UNCUT)
        most = UNCUT < asked / CHUNKS ? UNCUT : asked / CHUNKS;
    return block->asked == asked || (block->asked == block->size && over >= -most && over <= most);
}

static bool is_as_large(const struct levers_work *work, const struct levers_block *block,
                        const struct logits *logits)
{
    return is_near(work, block, logits->asked) || is_near(work, block, logits->all_rows) ||
           (logits->halves && (is_near(work, block, logits->asked / 2) ||
                               is_near(work, block, logits->all_rows / 2)));
}

/* Where it was seen in the graph what the loss takes: a layer makes the logits of each row. */
static bool is_of_rows(const struct levers_work *work, const struct logits *logits)
{
    const struct levers_facts *facts = &work->facts;
    const struct levers_block like = {.asked = logits->asked, .size = logits->asked};
    bool any = facts->head || (!facts->other && facts->logits_count == 0);
    for (size_t i = 0; i < facts->logits_count; i++) {
        const struct levers_logits *fact = &facts->logits[i];
        const int64_t asked = 4 * fact->rows * fact->classes;
        if (is_near(work, &like, asked) || is_near(work, &like, asked / 2))
            return fact->head;
        any = any || fact->head;
    }
    return any;
}

/* One that is held is there until its chunk is computed. */
static bool shrink(const struct levers_step *step, size_t at, struct levers_edit *edit)
{
    const struct levers_block *block = &step->blocks[at];
    const struct levers_phase *backward =
        levers_phase_after(&step->phases, LEVERS_BACKWARD, block->seq);
    bool is_held = block->purpose == PURPOSE_HELD && backward && backward->begin < block->end;
    return levers_part(edit, at, 1000 / CHUNKS) &&
           (!is_held || levers_cut(edit, at, backward->begin, LEVERS_NEVER));
}

struct head { /* in one backward */
    const struct levers_phase *backward;
    const struct levers_block *first, *last; /* gradients of the size of logits */
};

/* The first block behind them that is as large as a parameter, or, for `halves`, half as large. */
static const struct levers_block *weight_gradient(const struct levers_work *work,
                                                  const struct head *head, bool halves)
{
    const struct levers_step *step = &work->seen.step;
    for (size_t i = levers_first_from(step, head->last->seq + 1);
         i < step->count && step->blocks[i].seq < head->last->end; i++)
        if (map_get(&work->seen.parameters, (uint64_t)(step->blocks[i].asked * (halves ? 2 : 1))) !=
            MAP_NONE)
            return &step->blocks[i];
    return NULL;
}

/* With halves each chunk makes half of the weight anew, too. */
static bool add_weight(const struct levers_work *work, const struct head *head, bool halves,
                       struct levers_edit *edit)
{
    const struct levers_block *weight = head->last ? weight_gradient(work, head, halves) : NULL;
    return !weight ||
           (levers_extra(edit, weight->size * (halves ? 2 : 1), head->first->seq, weight->seq) &&
            levers_spike(edit, 2 * weight->size, head->last->end + 1));
}

static bool cut_block(const struct levers_work *work, size_t at, struct head *head, bool halves,
                      struct levers_edit *edit)
{
    const struct levers_block *block = &work->seen.step.blocks[at];
    const struct levers_phases *phases = &work->seen.step.phases;
    const struct levers_phase *backward = levers_phase_around(phases, LEVERS_BACKWARD, block->seq);
    bool done = true;
    if (!backward && !levers_computes(phases, block->seq))
        return true;
    if (backward && head->backward != backward) {
        done = add_weight(work, head, halves, edit);
        *head = (struct head){backward, block, block};
    }
    if (backward)
        head->last = block;
    return done && shrink(&work->seen.step, at, edit);
}

int levers_chunked_loss(struct levers_work *work)
{
    const struct levers_words words = {
        .kind = LEVER_CHUNKED_LOSS,
        .estimated = true,
        .site = LEVERS_NONE,
        .before = "loss in 8 chunks, hidden the input of head as [tokens, width], labels [tokens] "
                  "(of a language model shifted by one): "
                  "sum(checkpoint(lambda h, y: cross_entropy(head(h).float(), y, "
                  "reduction='sum'), h, y, use_reentrant=False) for h, y in "
                  "zip(hidden.chunk(8), labels.chunk(8))) / (labels != -100).sum()"};
    const struct levers_step *step = &work->seen.step;
    struct levers_edit edit = {0};
    struct head head = {0};
    struct logits logits;
    int err = find_logits(work, &logits);
    if (err >= 0)
        err = find_refused(work, &logits.asked);
    if (err >= 0 && (logits.again || !is_of_rows(work, &logits)))
        return 0;
    find_all_rows(step, &logits);
    for (size_t i = step->older; i < step->count && err >= 0 && logits.asked; i++)
        if (is_as_large(work, &step->blocks[i], &logits) &&
            step->blocks[i].purpose != PURPOSE_GRADIENT &&
            !levers_outlives(work, &step->blocks[i]) &&
            !cut_block(work, i, &head, logits.halves, &edit))
            err = ERR_NOMEM;
    if (err >= 0 && !add_weight(work, &head, logits.halves, &edit))
        err = ERR_NOMEM;
    if (err >= 0 && edit.count)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    return err;
}
