/*
 * label.h - from raw marks to phases: what the time between two marks of a framework was.
 *
 * Pure: marks of one process in, labels of stretches out, in order. A stretch is the time between
 * two boundaries: the enters and exits of marks, the begins and ends of the program's own phases.
 * Marks nest into a tree; the innermost open one labels the time inside it, and rules
 * (label_rules.c, label_steps.c) label the gaps between marks and say which step they belong to.
 * Several rules need what comes later, so the last stretches wait in a window until later marks
 * settle them; a stretch is given out when it and all before it are settled.
 *
 * Before the first mark there is nothing to find out: each stretch is LABEL_OTHER, belongs to no
 * step, and is given out as it begins.
 *
 * Bounds. The window has at most `limit` stretches. When it is full its older half is settled with
 * what is known by then, as if the run ended here; what was decided so is kept to:
 *   - a module that ran without gradients in evaluation mode and was not seen with gradients: its
 *     calls are forwards without gradients from then on, until it is seen with gradients;
 *   - no optimizer was seen: steps go by backwards from then on, until one is seen;
 *   - whatever follows the last optimizer step is the next step.
 * Beyond LABEL_MAX_OPEN open marks, marks are counted and not looked at. Beyond LABEL_MAX_MODULES
 * modules or optimizers what is known of them is forgotten.
 *
 * A node is a mark or a phase of the program's own (kind LABEL_USER), which the rules look through.
 * `parent` is what was innermost when it began, `owner` the nearest mark around it; the marks of an
 * owner are its children, in order, and never overlap. A node that outlives the one around it,
 * which threads can bring about, goes on beside it: what is around an open node is open.
 *
 * Invariants (label_is_valid):
 *   stretches follow each other without a gap: begin_seq and begin_ns never go back
 *   refs of a node == 1 if open + nodes whose parent it is + nodes whose owner it is +
 *   stretches that name it (the root stays and is not counted)
 *   the last stretch is settled only if no mark came; what it was then stays
 *   a node is in its owner's list of children if and only if it is a mark
 *   the open nodes are in `open`, in the order of their beginning
 */
#ifndef TIDEMARK_RECORDER_LABEL_H
#define TIDEMARK_RECORDER_LABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "map.h"

enum label {
    LABEL_OTHER = 0,
    LABEL_ZERO_GRAD,
    LABEL_FORWARD,
    LABEL_CHECKPOINTED, /* a forward without gradients that is run again in the backward */
    LABEL_LOSS,
    LABEL_BACKWARD,
    LABEL_OPTIMIZER,
    LABEL_EVAL,
    LABEL_NO_GRAD, /* any other forward without gradients */
    LABEL_RECOMPUTE,
    LABEL_AFTER_BACKWARD,
    LABEL_COUNT
};

#define LABEL_NO_STEP INT64_MIN
#define LABEL_USER 0u /* kind of a node that is a phase of the program's own */
#define LABEL_ROOT 0u /* the node around all others */
#define LABEL_NONE 0u /* no node: the root is nobody's child */
#define LABEL_WINDOW 4096u
#define LABEL_MAX_OPEN 1024u /* marks; the caller's phases are the caller's to bound */
#define LABEL_MAX_MODULES 65536u

struct label_before { /* what came before, of the children of an owner that are gone */
    uint8_t kind;     /* the last that was no zero_grad, 0 = none; its label and how it ended */
    uint8_t label;
    bool exception;
    bool any_forward; /* since the last step or failure */
    uint8_t forward;  /* label of the last forward since then; LABEL_COUNT = none */
};

struct label_node {
    uint64_t id; /* of what began; 0 = a free record */
    uint64_t identity;
    uint64_t user; /* of a LABEL_USER the caller's own number; of a scaler its optimizer */
    uint32_t parent, owner;
    uint32_t next, previous, first, last; /* siblings and children of an owner */
    uint32_t refs;
    uint32_t thread;
    uint64_t epoch, children_epoch; /* steps, backwards and failures among the owner's children
                                     * when it began; and among its own */
    uint64_t same_id;               /* the call of this module without gradients before it */
    uint32_t same;
    uint32_t next_solid; /* itself, or the next sibling that is no zero_grad, or LABEL_NONE */
    struct label_before before, after; /* of its owner's children: all before it; and with it */
    struct label_before gone;          /* of its own children: all that are forgotten */
    uint8_t kind;                      /* enum mark_kind or LABEL_USER */
    uint8_t flags, exit_flags;
    uint8_t label;
    uint8_t backward;  /* the next one: enum label_backward, label_rules.c */
    uint8_t training;  /* does training go on: enum label_answer, label_rules.c */
    uint8_t ends_step; /* enum label_answer */
    bool open, exception, known;
    bool fixed;           /* part of it was given out with its label */
    bool under_backward;  /* somewhere */
    bool under_step;      /* under a step or a backward */
    bool has_step;        /* a step began under it */
    bool checkpointed;    /* its module was called again inside the next backward */
    bool forward_follows; /* before the next backward */
    bool unit;            /* it may end a step: label_steps.c */
};

struct label_stretch {
    int64_t begin_seq, begin_ns;
    uint32_t node;   /* innermost, LABEL_ROOT = none */
    uint32_t owner;  /* innermost mark */
    uint32_t closed; /* the node whose end began it, or LABEL_NONE */
    uint32_t before; /* in a gap: the owner's last child before it, or LABEL_NONE */
    uint32_t thread; /* of the boundary that began it */
    uint8_t label;
    uint8_t ahead; /* enum label_ahead, label_steps.c */
    uint8_t tail;  /* enum label_tail, label_steps.c */
    bool known;
    bool prepares; /* a backward, if that begins next: label_prepare */
    bool refused;  /* memory, in it */
    int64_t step;  /* LABEL_NO_STEP */
};

struct label_module {
    uint64_t last_id; /* its last call without gradients */
    uint32_t last;
    bool with_grad, given_up;
};

struct label_unit {
    uint32_t node;
    uint64_t id;
    uint32_t optimizer; /* LABEL_NO_OPTIMIZER: a backward */
};

struct label_optimizer {
    uint64_t in_step;  /* serial of the step that used it last */
    uint64_t last_use; /* number of its last unit so far */
    bool decided;      /* a unit of it was decided */
    bool nameless;     /* known by a scaler that has skipped it each time */
};

struct label_steps { /* see label_steps.c */
    struct map optimizers_by_identity;
    struct label_optimizer *optimizers;
    size_t optimizer_count, optimizer_cap;
    uint32_t *members; /* optimizers of the step being decided */
    size_t member_count, member_cap;
    struct label_unit *units; /* to be decided, in order */
    size_t unit_head, unit_count, unit_cap;
    uint64_t units_seen, units_decided;
    uint64_t updates_seen;  /* units of an optimizer that is known */
    uint64_t serial;        /* of the step being decided */
    struct label_unit last; /* decided, but not whether it ends a step */
    bool by_backward;       /* no optimizer was seen: settled */
    bool off;               /* the program counts its own */
    int64_t number;         /* of the step of the next stretch to be settled */
    bool waiting;           /* it may lie before the step's first mark */
    bool zero_first;        /* a zero_grad came before the first step's end, and none is
                             * known to end the loop */
    bool any_ended;         /* a step */
    bool step_ended;        /* and nothing that tells but a zero_grad came since */
    bool zeroed;            /* the zero_grad that ends the loop came since the last end */
    bool over;              /* from the number over_seq on nothing belongs to a step */
    int64_t over_seq;
};

struct labels {
    struct label_stretch *stretches; /* [head, head + count) */
    size_t head, count, cap;
    size_t settled; /* of them */
    size_t limit, next_pass;
    struct label_node *nodes; /* [0] is the root */
    size_t node_count, node_cap;
    uint32_t free_node;
    uint64_t last_id;
    uint32_t *open;
    size_t open_count, open_cap;
    size_t open_marks;
    uint64_t unstored; /* marks beyond LABEL_MAX_OPEN */
    bool ended;
    bool marked;                 /* a mark came: label_marks_begin */
    bool (*room)(void *context); /* asks the caller for room for what it keeps of one more stretch;
                                  * false: as without memory. NULL: it keeps nothing */
    void *context;
    struct map modules_by_identity;
    struct label_module *modules;
    size_t module_count, module_cap;
    struct label_steps steps;
};

struct label_mark {
    unsigned kind; /* enum mark_kind */
    unsigned flags;
    uint64_t identity;
    uint32_t thread;
    bool exception; /* of an exit */
};

/* The first stretch begins here. False without memory. */
bool label_start(struct labels *labels, int64_t seq, int64_t ns);
void label_clear(struct labels *labels);
bool label_is_valid(const struct labels *labels);

enum label_result {
    LABEL_MADE,    /* a boundary: a new stretch begins at seq */
    LABEL_IGNORED, /* too many open */
    LABEL_NOT_OPEN,
    LABEL_NO_MEMORY /* no boundary; what was to end has ended, the stretch goes on */
};

enum label_result label_enter(struct labels *labels, const struct label_mark *mark, int64_t seq,
                              int64_t ns);
enum label_result label_exit(struct labels *labels, const struct label_mark *mark, int64_t seq,
                             int64_t ns);
/* The caller's own phase: sets *id of its node. */
enum label_result label_user_begin(struct labels *labels, uint64_t user, uint32_t thread,
                                   int64_t seq, int64_t ns, uint64_t *id);
enum label_result label_user_end(struct labels *labels, uint64_t id, int64_t seq, int64_t ns);
/* A boundary between marks: the thread does what comes before a backward of its own. If that is the
 * next boundary, it begins here. */
enum label_result label_prepare(struct labels *labels, uint32_t thread, int64_t seq, int64_t ns);
/* Memory is refused now: what comes before that is no end of a loop. */
void label_refused(struct labels *labels);
/* A boundary without a meaning of its own. */
enum label_result label_cut(struct labels *labels, int64_t seq, int64_t ns);
/* Closes open marks, of a thread that is gone or (0) of all, because exits were lost. Makes a
 * boundary if there were any. */
enum label_result label_drop(struct labels *labels, uint32_t thread, int64_t seq, int64_t ns);
/* Marks come from now on, and where the program does not count its steps they do. */
void label_marks_begin(struct labels *labels, bool own_steps);
/* Marks count no steps from now on: the program does, or who else tells of it before they came. */
void label_own_steps(struct labels *labels);
/* From the number seq on, where a stretch is to begin, nothing belongs to a step. */
void label_no_more_steps(struct labels *labels, int64_t seq);
/* Nothing will come any more. The stretch that is the last by then has no end. */
void label_end(struct labels *labels);

/* Settles what can be; with `now` regardless of what it costs, else when it is worth it. */
void label_settle(struct labels *labels, bool now);
static inline const struct label_stretch *label_at(const struct labels *labels, size_t index)
{
    return &labels->stretches[labels->head + index];
}
/* Takes the oldest stretch, which must be settled, out of the window. */
void label_pop(struct labels *labels);
/* Labels and steps of all stretches in the window as if the run ended here. They hold until the
 * next call of anything else. */
void label_guess(struct labels *labels);

static inline const struct label_node *label_node(const struct labels *labels, uint32_t node)
{
    return &labels->nodes[node];
}
/* What the time between the marks of an owner is, if no rule says more. */
enum label label_fallback(const struct label_node *owner);
const char *label_kind(enum label label); /* phase.kind */
const char *label_name(enum label label); /* phase.name */

/* label_rules.c: labels of all nodes and stretches of the window. With `final` as if nothing came
 * after them. */
void label_pass(struct labels *labels, bool final);
/* The owner's summary with one more child. */
struct label_before label_advance(struct label_before before, const struct label_node *child);
bool label_is_step(const struct label_node *node); /* of an optimizer or a scaler */

/* label_steps.c */
enum label_answer { LABEL_UNKNOWN, LABEL_YES, LABEL_NO };
#define LABEL_NO_OPTIMIZER UINT32_MAX
void label_step_begins(struct labels *labels, uint32_t node); /* an optimizer's or scaler's mark */
bool label_step_ended(struct labels *labels, uint32_t node);  /* any mark; false without memory */
void label_step_decide(struct labels *labels);
/* `rest`: whether a step goes on behind the window. */
void label_step_look_ahead(struct labels *labels, enum label_answer rest);
/* Sets the stretch's step; false: not known yet. `force` decides. Call in order, each once. */
bool label_step_of(struct labels *labels, struct label_stretch *stretch, bool force);
void label_step_guess(struct labels *labels);
void label_step_clear(struct label_steps *steps);

#endif
