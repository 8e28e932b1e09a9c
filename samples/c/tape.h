/*
 * tape.h - a small autograd: what PyTorch's engine does to memory, without any arithmetic.
 *
 * Forward writes a node for each operation: the tensors it saves, and an edge for each input that
 * wants a gradient. Backward walks the nodes from the last to the first. For each node it
 *   1. lets the operation allocate the gradients of its inputs,
 *   2. drops the gradients that came in, and the saved tensors,
 *   3. sends the new gradients along the edges.
 * A variable that was used n times gets n gradients: they wait in a slot of the node that made it,
 * and each that comes after the first is added into a third tensor (PyTorch 1.0 added out of
 * place), so that for a moment three of them live. A parameter works in the same way, and when its
 * last use has sent its share, the sum becomes its gradient: taken over as it is where there was
 * none, added in place to the one that is there.
 */
#ifndef SEQ2SEQ_TAPE_H
#define SEQ2SEQ_TAPE_H

#include "tensor.h"

/* A tensor or a part of one, held. `bytes` is the part's own size. No tensor: nothing. */
struct view {
    struct tensor *tensor;
    uint64_t bytes;
};

/* A weight. Its gradient and Adam's two states are born late; until then they are NULL. */
struct parameter {
    const char *name;
    uint64_t rows, columns; /* output and input size of a matrix; a bias has one column */
    struct tensor *data;    /* the weights of the encoder's GRU share one */
    struct view gradient;
    struct view pending; /* what came in this backward */
    unsigned uses;       /* edges to it on the tape that have not sent yet */
    struct tensor *exp_avg;
    struct tensor *exp_avg_sq;
};

/* Where the gradient of a variable goes: to a slot of the node that made it, to a parameter, or
 * nowhere (both NULL). `bytes` is the variable's size, and so its gradient's. */
struct edge {
    struct node *node;
    unsigned slot;
    struct parameter *parameter;
    uint64_t bytes;
};

/* What a variable of the program holds: a tensor, and where its gradient goes. */
struct var {
    struct view view;
    struct edge edge;
};

enum { NODE_SAVED = 4 };

/* Allocates gradient[i] for input i; one that stays empty is not sent. */
typedef void (*backward_fn)(struct heap *heap, const struct node *node, struct view *gradient);

struct node {
    backward_fn backward;
    struct tensor *saved[NODE_SAVED];
    unsigned slot_count;
    struct view *slots; /* the gradients of its outputs */
    unsigned input_count;
    struct edge *inputs;
};

struct tape {
    struct heap *heap;
    struct node **nodes; /* in the order of forward */
    size_t count, room;
    unsigned widest; /* the most inputs that a node has */
};

void tape_open(struct tape *tape, struct heap *heap);
void tape_close(struct tape *tape);
/* A new node with so many outputs and inputs; its inputs are set by node_input. */
struct node *tape_add(struct tape *tape, backward_fn backward, unsigned outputs, unsigned inputs);
/* Sends `gradient`, which it takes over, to `root`, walks the tape and empties it. */
void tape_backward(struct tape *tape, const struct var *root, struct view gradient);
/* Between two steps: no node, and nothing is pending. */
bool tape_is_empty(const struct tape *tape);

void node_input(struct node *node, unsigned number, const struct var *input);
void node_weight(struct node *node, unsigned number, struct parameter *weight);
void node_save(struct node *node, const struct var *saved);
/* A new tensor as output number `slot` of the node. */
#define node_output(tape, node, slot, bytes)                                                       \
    node_output_at((tape), (node), (slot), (bytes), TIDEMARK_SITE())
struct var node_output_at(struct tape *tape, struct node *node, unsigned slot, uint64_t bytes,
                          tidemark_site_t site);

/* A tensor that wants no gradient. */
#define var_new(heap, bytes) var_new_at((heap), (bytes), TIDEMARK_SITE())
struct var var_new_at(struct heap *heap, uint64_t bytes, tidemark_site_t site);
struct var var_hold(const struct var *var);
void var_drop(struct var *var);
/* An assignment: `value` was made before the old one goes. Takes `value` over. */
void var_set(struct var *var, struct var value);

#define view_new(heap, bytes) view_new_at((heap), (bytes), TIDEMARK_SITE())
struct view view_new_at(struct heap *heap, uint64_t bytes, tidemark_site_t site);
struct view view_hold(struct view whole, uint64_t bytes);
void view_drop(struct view *view);

uint64_t parameter_bytes(const struct parameter *parameter);

#endif
