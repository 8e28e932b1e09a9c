/*
 * levers_work.h - what the levers share while they are looked for, between levers.c and its parts.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_WORK_H
#define TIDEMARK_ANALYSIS_LEVERS_WORK_H

#include "fit.h"
#include "group.h"
#include "levers.h"
#include "levers_cache.h"
#include "levers_casts.h"
#include "levers_facts.h"
#include "levers_loop.h"
#include "levers_places.h"
#include "levers_seen.h"
#include "levers_units.h"
#include "map.h"

struct levers_kept { /* of a lever that was added: what it changes */
    size_t lever;
    struct levers_edit edit;
    char *brief;   /* in a row of several; NULL: as its kind is called */
    bool left_out; /* of all changes together: beside the others it takes next to nothing off */
};

struct idle_calls; /* levers_idle_calls.h */

struct levers_work {
    struct levers_seen seen; /* its step: empty unless out->state is LEVERS_READY; or the run, of
                              * requests */
    struct levers *out;
    bool shards;           /* FSDP gathers parameters */
    int64_t uncut;         /* rests of segments that a GPU's blocks keep; 0: none were seen */
    enum levers_loop loop; /* that the step is in */
    struct levers_facts facts;
    struct map leaking;    /* sites, to how many steps' blocks live at the peak */
    struct map batch_norm; /* sites inside of one */
    struct levers_cache cache;
    struct levers_units units;
    struct levers_casts casts;
    struct idle_calls *idle; /* NULL: not looked for yet */
    struct levers_kept *kept;
    size_t kept_count, kept_cap;
};

/* What is said of a lever, to people: one sentence without its full stop. */
struct levers_words {
    enum lever_kind kind;
    bool at_most;
    bool estimated;     /* something of it was not seen, and is computed */
    bool changes;       /* the numbers that the training computes */
    bool elsewhere;     /* it takes another device, which the run did not have */
    bool anew;          /* what the program does before its first step is other, too */
    int64_t site;       /* LEVERS_NONE */
    const char *before; /* the site's text comes between, if `name` is NULL */
    const char *after;  /* NULL */
    const char *name;   /* in place of the site's text */
    const char *brief;  /* in a row of several; NULL: as its kind is called */
};
/* One that changes lives. Nothing is added if it takes less than a hundredth off the peak; if it
 * is, it takes the edit over, which is empty then. 0 or an error. */
int levers_try(struct levers_work *work, struct levers_edit *edit,
               const struct levers_words *words);
/* Where the highest point of the step is `highest` then: what was there before the first step stays
 * the peak, unless that is made anew, too. */
int64_t levers_saved(const struct levers_work *work, int64_t highest, bool anew);
/* One whose bytes are known. */
int levers_add(struct levers_work *work, int64_t bytes, int64_t reserved,
               const struct levers_words *words);

/* The least that is worth a line, of that many bytes. */
int64_t levers_least(int64_t whole);

/* Rests of segments that a GPU's blocks keep at the peak, into `uncut`: to a hundredth they say
 * nothing of less than LEVERS_SURE_OF times as much. 0 or an error. */
enum { LEVERS_SURE_OF = 100 };
int levers_find_uncut(struct levers_work *work);

/* Whether the program could make a call that PyTorch has since `since`, 201 = 2.1: it is of that
 * version or later, or of one that is not known. */
bool levers_has(const struct levers_work *work, int64_t since);

/* Backwards of a step with one optimizer, which are added up before it; 1: they may be other. */
size_t levers_micro_batches(const struct levers_step *step, int64_t number);

/* What lives at the peak. */
int64_t levers_bytes_of(const struct levers_step *step, enum purpose purpose);

int levers_find_added(struct levers_work *work);
/* Of lives, in a step. */
int levers_held(struct levers_work *work);
int levers_gradients_to_none(struct levers_work *work);
int levers_zero_grad_earlier(struct levers_work *work);
int levers_bucket_view(struct levers_work *work);
/* An optimizer's step makes the block, and lets it go. */
bool levers_is_temporary(const struct levers_step *step, const struct levers_block *block);
int levers_fused_optimizer(struct levers_work *work);
int levers_flatten(struct levers_work *work);
int levers_no_cache(struct levers_work *work);
int levers_checkpoint(struct levers_work *work);
/* Of programs without modules: functions, or the program's own phases inside of forward. */
int levers_checkpoint_parts(struct levers_work *work);
int levers_workspace(struct levers_work *work);
int levers_library_workspace(struct levers_work *work);
int levers_leak(struct levers_work *work);
/* Once that was looked for: blocks of many steps live, so no variable of one step holds them. */
bool levers_leaks(const struct levers_work *work, int64_t site);
/* Likewise: it is there beyond the backward after its own, or would be, had the run gone on. As
 * many bytes of its like are kept, however small a micro-batch is. */
bool levers_outlives(const struct levers_work *work, const struct levers_block *block);
/* Of those so far. */
int levers_together(struct levers_work *work);
/* Once that was looked for: a call of batch normalization made the block. */
bool levers_normalizes(const struct levers_work *work, const struct levers_block *block);
int levers_batch_norm(struct levers_work *work);
int levers_retain_graph(struct levers_work *work);
/* Of a program that trains: where the peak is in no step, of the whole run, which `seen` has then. */
int levers_evaluation(struct levers_work *work);
int levers_idle(struct levers_work *work);
/* Of models that no backward uses, and that few steps call, as to draw samples: the places of their
 * blocks, which have a batch of their own. 0 or an error. */
int levers_rare_calls(struct levers_work *work, struct map *places);
/* Of all that keep a graph which no backward uses. 0 or an error. */
int levers_idle_blocks(struct levers_work *work, struct map *places);
int levers_fused_operation(struct levers_work *work);
int levers_fused_attention(struct levers_work *work);
int levers_convolution(struct levers_work *work);
int levers_optimizer_in_backward(struct levers_work *work);
/* Whether gradients are clipped together: all have to be there at once, on the device. */
int levers_clips(struct levers_work *work, bool *clips);
int levers_frozen(struct levers_work *work);
/* Whether most of the optimizer's state has half of its parameters' bytes or less. */
int levers_has_reduced_states(struct levers_work *work, bool *yes);
/* A gradient that somebody takes at once goes before this event. */
int64_t levers_end_of_gradient(const struct levers_step *step, size_t at);
/* Estimates. */
/* Thousandths of a block that stay; 1000 = it is not changed. */
typedef int64_t (*levers_share_of)(const struct levers_step *step,
                                   const struct levers_block *block);
int levers_try_scaled(struct levers_work *work, levers_share_of share,
                      const struct levers_words *words);
int levers_states(struct levers_work *work);
int levers_half_batch(struct levers_work *work);
int levers_half_precision(struct levers_work *work);
int levers_autocast(struct levers_work *work);
int levers_chunked_loss(struct levers_work *work);
int levers_ranks(struct levers_work *work);
/* Of programs whose ranks share a model. */
int levers_reshard(struct levers_work *work);
int levers_fully_shard(struct levers_work *work);
/* FSDP is in force. */
bool levers_see_shards(const struct levers_step *step);
/* Of the run. */
int levers_requests(struct levers_work *work);
int levers_first_step(struct levers_work *work);

/* Of a program that does not train, where there is no step: its forwards. */
int levers_inference(struct levers_work *work);

/* By replay, where there are segments and no more operations than take a moment: what the levers so
 * far take off reserved; and levers of settings. */
int levers_replay(struct levers_work *work);
/* `now`: the most that is reserved by replay without it. */
int levers_empty_cache(struct levers_work *work, struct fit *fit, int64_t now);
/* What each lever that was kept takes off reserved, up to the end of the step. */
int levers_reserved(struct levers_work *work, struct fit *fit);

#endif
