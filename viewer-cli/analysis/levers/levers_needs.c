/* levers_needs.c - see levers_needs.h. */
#include "levers_needs.h"

#include "error.h"
#include "levers_names.h"
#include "mem.h"

/* Of these autograd saves the output. */
static bool saves_output(const char *function)
{
    static const char *const names[] = {"softmax", "log_softmax", "logsoftmax", "sigmoid",
                                        "tanh",    "relu",        "exp",        "sqrt"};
    return levers_is_one_of(function, names, sizeof names / sizeof *names);
}

/* And of these it does not save the input. */
static bool spares_input(const char *function)
{
    static const char *const names[] = {"softmax",       "log_softmax",      "logsoftmax", "relu",
                                        "cross_entropy", "crossentropyloss", "sigmoid",    "tanh"};
    return levers_is_one_of(function, names, sizeof names / sizeof *names);
}

/* What was made next of that size, before backward. */
static const struct levers_block *made_of(const struct levers_step *step,
                                          const struct levers_block *block)
{
    const struct levers_phase *backward =
        levers_phase_after(&step->phases, LEVERS_BACKWARD, block->seq);
    for (size_t i = levers_first_from(step, block->seq + 1);
         backward && i < step->count && step->blocks[i].seq < backward->begin; i++)
        if (step->blocks[i].asked >= block->asked / 2)
            return &step->blocks[i];
    return NULL;
}

int64_t levers_end_in_backward(const struct levers_step *step, const struct levers_block *block,
                               const struct levers_phase *backward)
{
    size_t at = levers_first_from(step, backward->begin);
    if (made_of(step, block))
        return backward->end;
    while (at < step->count && step->blocks[at].seq < backward->end &&
           step->blocks[at].asked < block->asked / 2)
        at++;
    return at < step->count && step->blocks[at].end < backward->end ? step->blocks[at].end
                                                                    : backward->end;
}

static int ask_name(struct levers_work *work, int64_t site, bool (*is)(const char *function),
                    bool *yes)
{
    char *name = NULL, *shown = NULL;
    int err = site_names(work->seen.db, site, &name, &shown);
    *yes = err >= 0 && name && is(name);
    mem_free(name);
    mem_free(shown);
    return err;
}

int levers_find_need(struct levers_work *work, int64_t site, enum levers_need *need)
{
    const struct levers_step *step = &work->seen.step;
    const struct levers_block *held = NULL;
    bool saved = false, spared = false;
    for (size_t i = step->older; i < step->count; i++)
        if (step->blocks[i].site == site && step->blocks[i].purpose == PURPOSE_HELD &&
            (!held || step->blocks[i].seq <= step->peak))
            held = &step->blocks[i];
    int err = ask_name(work, site, saves_output, &saved);
    const struct levers_block *next = held && !saved ? made_of(step, held) : NULL;
    if (err >= 0 && next)
        err = ask_name(work, next->site, spares_input, &spared);
    *need = saved ? LEVERS_NEED_SURE : spared ? LEVERS_NEED_NONE : LEVERS_NEED_UNKNOWN;
    return err;
}
