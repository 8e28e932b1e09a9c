/*
 * levers_idle_calls.h - calls inside of training steps that no backward goes through, as of a
 * teacher without torch.no_grad().
 *
 * The proof is by module: a backward makes gradients for each module that it goes through, and
 * these know their module. One is idle if it ran in front of a backward of its step that has ended,
 * and no backward of the process made anything for it. Where the graph is retained or a variable
 * holds it, gradients are made all the same. Steps of which only sums were kept prove nothing.
 *
 * A call is what idle modules of one model made in a row, in one forward, until it begins anew.
 *
 * Invariants: calls by their blocks, disjoint; `name` leads into a path of `modules`. They are
 * looked for once, and two levers read them: what nobody goes through, and what few steps call.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_IDLE_CALLS_H
#define TIDEMARK_ANALYSIS_LEVERS_IDLE_CALLS_H

#include "levers_models.h"
#include "levers_no_grad.h"
#include "module_index.h"

struct idle_call {
    const struct levers_phase *phase;
    struct no_grad_call at;
    struct levers_part name; /* what the paths of its modules share */
    size_t named;            /* the first call with that name */
};

struct idle_calls { /* all zero but no_grad: none */
    struct no_grad no_grad;
    struct module_index modules;
    struct map worked; /* modules that a backward made something for */
    struct map parts;  /* hashes of the paths of these, and of what is around them */
    struct map idle;   /* modules that ran, and none of these */
    bool first_works;  /* one of the first model, or of another without a name */
    struct idle_call *calls;
    size_t count, cap;
};

/* Those of its step, which are looked for once; idle_calls_clear, whatever comes of it. 0 or an
 * error. */
int idle_calls_of(struct levers_work *work, struct idle_calls **out);
void idle_calls_clear(struct levers_work *work);
/* A backward goes through a model whose paths may be this one's: whether it is another model, the
 * call stacks have to say. */
bool idle_call_is_unnamed(const struct idle_calls *all, const struct idle_call *call);
/* The next block of its forward that a backward's module made, before it or behind; SIZE_MAX. */
size_t idle_call_neighbour(const struct idle_calls *all, const struct idle_call *call, bool behind);
/* The class of the outermost module of the first model, or of the one of several that the call is
 * of; NULL: not known. */
const char *idle_call_class(const struct idle_calls *all, const struct idle_call *call);

#endif
