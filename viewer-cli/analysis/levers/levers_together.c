/*
 * All changes together that do not stand in each other's way: one of each kind, and every variable
 * that is held.
 */
#include "error.h"
#include "levers_work.h"
#include "mem.h"

/* Estimates of other sizes change blocks that the rest takes away. */
static bool joins(const struct lever *lever)
{
    switch (lever->kind) {
    case LEVER_HELD:
    case LEVER_GRADIENTS_TO_NONE:
    case LEVER_ZERO_GRAD_EARLIER:
    case LEVER_BUCKET_VIEW:
    case LEVER_FLATTEN_PARAMETERS:
    case LEVER_CHECKPOINT:
    case LEVER_FUSED_OPTIMIZER:
    case LEVER_LIBRARY_WORKSPACE:
    case LEVER_DETACH:
        return !lever->at_most;
    default:
        return false;
    }
}

/* The largest of its kind; of variables each. */
static bool is_first(const struct levers_work *work, const struct lever *lever)
{
    for (size_t i = 0; i < work->kept_count; i++) {
        const struct lever *other = &work->out->levers[work->kept[i].lever];
        if (other->kind == lever->kind && other->kind != LEVER_HELD && other->bytes > lever->bytes)
            return false;
    }
    return true;
}

int levers_together(struct levers_work *work)
{
    struct levers_edit all = {0};
    struct levers_words words = {.kind = LEVER_TOGETHER,
                                 .site = LEVERS_NONE,
                                 .before = "all of them together that can be: the largest of each "
                                           "kind that is no 'at most'"};
    size_t joined = 0;
    int err = 0;
    for (size_t i = 0; i < work->kept_count && err >= 0; i++) {
        const struct lever *lever = &work->out->levers[work->kept[i].lever];
        if (!joins(lever) || !is_first(work, lever))
            continue;
        joined++;
        words.estimated = words.estimated || lever->estimated;
        err = levers_unite(&all, &work->kept[i].edit) ? 0 : ERR_NOMEM;
    }
    if (err >= 0 && joined > 1)
        err = levers_try(work, &all, &words);
    levers_edit_clear(&all);
    return err;
}
