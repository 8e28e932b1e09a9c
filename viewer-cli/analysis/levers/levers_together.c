/*
 * All changes together that do not stand in each other's way: one of each kind, and every variable
 * that is held. Of checkpoints the one that saves most with the others, if any does: a checkpoint
 * of a whole model computes its logits again, which chunks of its loss would never have at once.
 * A change that beside the others saves less than half of what a line is worth is left out.
 */
#include "buf.h"
#include "error.h"
#include "levers_work.h"
#include "mem.h"

/* How one is called in a row of several; NULL: it is none of them. What takes another device or
 * other numbers is left to the reader. */
static const char *name_of(enum lever_kind kind)
{
    static const char *const names[LEVER_KINDS] = {
        [LEVER_HELD] = "del",
        [LEVER_GRADIENTS_TO_NONE] = "zero_grad(set_to_none=True)",
        [LEVER_ZERO_GRAD_EARLIER] = "zero_grad() before forward",
        [LEVER_BUCKET_VIEW] = "gradient_as_bucket_view=True",
        [LEVER_FLATTEN_PARAMETERS] = "flatten_parameters()",
        [LEVER_CHECKPOINT] = "checkpoint",
        [LEVER_NO_CACHE] = "use_cache = False",
        [LEVER_RETAIN_GRAPH] = "no retain_graph",
        [LEVER_FUSED_OPTIMIZER] = "fused=True",
        [LEVER_LIBRARY_WORKSPACE] = "CUBLAS_WORKSPACE_CONFIG=:0:0 (slower)",
        [LEVER_NO_GRAD] = "torch.no_grad()",
        [LEVER_DETACH] = "detach()",
        [LEVER_CHUNKED_LOSS] = "loss in 8 chunks",
        [LEVER_HALF_BATCH] = "half the micro-batch",
        [LEVER_BOUND] = "clear or bound collections",
    };
    return names[kind];
}

struct together {
    struct levers_work *work;
    size_t checkpoint; /* its place in `kept`; SIZE_MAX: none */
};

/* The largest of its kind; of variables, and of models whose graphs nobody needs, each. */
static bool is_first(const struct levers_work *work, const struct lever *lever)
{
    for (size_t i = 0; i < work->kept_count; i++) {
        const struct lever *other = &work->out->levers[work->kept[i].lever];
        if (other->kind == lever->kind && other->kind != LEVER_HELD &&
            other->kind != LEVER_NO_GRAD && other->bytes > lever->bytes)
            return false;
    }
    return true;
}

/* Where gradients go before forward, half a batch finds those of the first half in the second one's
 * place, which is not known of both together. */
static bool can_be_halved(const struct levers_work *work)
{
    for (size_t i = 0; i < work->kept_count; i++) {
        const struct lever *lever = &work->out->levers[work->kept[i].lever];
        if (!lever->at_most &&
            (lever->kind == LEVER_GRADIENTS_TO_NONE || lever->kind == LEVER_ZERO_GRAD_EARLIER))
            return false;
    }
    return true;
}

static const struct lever *lever_at(const struct together *all, size_t kept)
{
    return &all->work->out->levers[all->work->kept[kept].lever];
}

static bool may_join(const struct lever *lever)
{
    return name_of(lever->kind) && !lever->at_most && !lever->changes;
}

static bool joins(const struct together *all, size_t kept)
{
    const struct lever *lever = lever_at(all, kept);
    return may_join(lever) && !all->work->kept[kept].left_out &&
           (lever->kind == LEVER_CHECKPOINT ? kept == all->checkpoint
                                            : is_first(all->work, lever)) &&
           (lever->kind != LEVER_HALF_BATCH || can_be_halved(all->work));
}

static size_t count_of(const struct together *all, enum lever_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < all->work->kept_count; i++)
        count += lever_at(all, i)->kind == kind && joins(all, i);
    return count;
}

/* Of half a batch, what computing again takes for a moment is half as much, too. */
static bool unite_one(const struct levers_edit *one, bool halved, struct levers_edit *all)
{
    struct levers_edit edit = {0};
    if (!halved)
        return levers_unite(all, one);
    bool done = levers_unite(&edit, one);
    for (size_t i = 0; i < edit.count; i++)
        if (edit.changes[i].how == LEVERS_SPIKE)
            edit.changes[i].bytes /= 2;
    done = done && levers_unite(all, &edit);
    levers_edit_clear(&edit);
    return done;
}

static int unite(const struct together *all, struct levers_edit *edit)
{
    const bool halved = count_of(all, LEVER_HALF_BATCH) > 0;
    bool done = true;
    for (size_t i = 0; i < all->work->kept_count && done; i++)
        done =
            !joins(all, i) || unite_one(&all->work->kept[i].edit,
                                        halved && lever_at(all, i)->kind == LEVER_CHECKPOINT, edit);
    return done ? 0 : ERR_NOMEM;
}

/* The highest point with those that join now. */
static int highest_of(const struct together *all, int64_t *highest)
{
    struct levers_edit edit = {0};
    int err = unite(all, &edit);
    if (err >= 0)
        err = levers_highest(&all->work->seen.step, &edit, highest, NULL);
    if (err >= 0)
        *highest = all->work->seen.step.highest - levers_saved(all->work, *highest, false);
    levers_edit_clear(&edit);
    return err;
}

static int choose_checkpoint(struct together *all, int64_t *lowest)
{
    size_t best = SIZE_MAX;
    int err = highest_of(all, lowest);
    for (size_t i = 0; i < all->work->kept_count && err >= 0; i++) {
        int64_t highest;
        if (lever_at(all, i)->kind != LEVER_CHECKPOINT || !may_join(lever_at(all, i)))
            continue;
        all->checkpoint = i;
        err = highest_of(all, &highest);
        if (err >= 0 && highest < *lowest) {
            *lowest = highest;
            best = i;
        }
    }
    all->checkpoint = best;
    return err;
}

/* Without one of them it may be as low, or nearly: half of what a line is worth. */
static int leave_out(struct together *all, int64_t lowest)
{
    const int64_t nearly = levers_least(all->work->out->peak) / 2;
    int err = 0;
    for (size_t i = all->work->kept_count; i-- > 0 && err >= 0;) {
        int64_t highest;
        if (!joins(all, i))
            continue;
        all->work->kept[i].left_out = true;
        err = highest_of(all, &highest);
        all->work->kept[i].left_out = err >= 0 && highest <= lowest + nearly;
        if (err >= 0 && highest < lowest)
            lowest = highest;
    }
    return err;
}

/* One of several that are alike stands for all. */
static const char *name_in(const struct together *all, enum lever_kind kind)
{
    for (size_t i = 0; i < all->work->kept_count; i++)
        if (lever_at(all, i)->kind == kind && joins(all, i) && all->work->kept[i].brief)
            return all->work->kept[i].brief;
    return name_of(kind);
}

/* By kind, each once. */
static void put_names(const struct together *all, struct buf *text)
{
    const char *comma = "";
    for (int kind = 0; kind < LEVER_KINDS; kind++) {
        size_t count = count_of(all, (enum lever_kind)kind);
        if (!count)
            continue;
        buf_print(text, "%s%s", comma, name_in(all, (enum lever_kind)kind));
        if (kind == LEVER_HELD && count > 1)
            buf_print(text, " of %zu variables", count);
        comma = ", ";
    }
}

/* How many they are. */
static size_t mark(const struct together *all, bool *estimated)
{
    size_t count = 0;
    for (size_t i = 0; i < all->work->kept_count; i++) {
        struct lever *lever = &all->work->out->levers[all->work->kept[i].lever];
        lever->joined = joins(all, i);
        count += lever->joined;
        *estimated = *estimated || (lever->joined && lever->estimated);
    }
    return count;
}

/* Half a batch may not join, and save more alone. */
static int saves_most(const struct levers_work *work, const struct levers_edit *edit, bool *yes)
{
    int64_t highest = 0, most = 0;
    int err = levers_highest(&work->seen.step, edit, &highest, NULL);
    for (size_t i = 0; i < work->kept_count; i++) {
        const struct lever *lever = &work->out->levers[work->kept[i].lever];
        if (may_join(lever) && lever->bytes > most)
            most = lever->bytes;
    }
    *yes = levers_saved(work, highest, false) > most;
    return err;
}

int levers_together(struct levers_work *work)
{
    static const char before_names[] = "all of these: ";
    struct together all = {.work = work, .checkpoint = SIZE_MAX};
    struct levers_edit edit = {0};
    struct buf text = {0};
    struct levers_words words = {
        .kind = LEVER_TOGETHER, .site = LEVERS_NONE, .before = before_names};
    const size_t before = work->out->count;
    int64_t lowest;
    bool most = false;
    int err = choose_checkpoint(&all, &lowest);
    if (err >= 0)
        err = leave_out(&all, lowest);
    if (err >= 0)
        err = unite(&all, &edit);
    put_names(&all, &text);
    words.name = buf_string(&text);
    if (err >= 0 && text.broken)
        err = ERR_NOMEM;
    if (err >= 0)
        err = saves_most(work, &edit, &most);
    if (err >= 0 && mark(&all, &words.estimated) > 1 && most)
        err = levers_try(work, &edit, &words);
    if (work->out->count > before)
        work->out->levers[before].names_at = sizeof before_names - 1;
    for (size_t i = 0; i < before && work->out->count == before; i++)
        work->out->levers[i].joined = false;
    buf_clear(&text);
    levers_edit_clear(&edit);
    return err;
}
