#include "tape.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FLOAT = 4 };

uint64_t parameter_bytes(const struct parameter *parameter)
{
    return parameter->rows * parameter->columns * FLOAT;
}

/* ---- views and variables ---- */

struct view view_new_at(struct heap *heap, uint64_t bytes, tidemark_site_t site)
{
    return (struct view){tensor_new_at(heap, bytes, site), bytes};
}

struct view view_hold(struct view whole, uint64_t bytes)
{
    return (struct view){tensor_hold(whole.tensor), bytes};
}

void view_drop(struct view *view)
{
    tensor_drop(view->tensor);
    *view = (struct view){0};
}

struct var var_new_at(struct heap *heap, uint64_t bytes, tidemark_site_t site)
{
    return (struct var){.view = view_new_at(heap, bytes, site), .edge = {.bytes = bytes}};
}

struct var var_hold(const struct var *var)
{
    tensor_hold(var->view.tensor);
    return *var;
}

void var_drop(struct var *var)
{
    view_drop(&var->view);
    var->edge = (struct edge){0};
}

void var_set(struct var *var, struct var value)
{
    struct var old = *var;
    *var = value;
    var_drop(&old);
}

/* ---- nodes ---- */

void tape_open(struct tape *tape, struct heap *heap)
{
    *tape = (struct tape){.heap = heap};
}

static void free_node(struct node *node)
{
    free(node->slots);
    free(node->inputs);
    free(node);
}

void tape_close(struct tape *tape)
{
    for (size_t i = 0; i < tape->count; i++)
        free_node(tape->nodes[i]);
    free(tape->nodes);
    *tape = (struct tape){0};
}

struct node *tape_add(struct tape *tape, backward_fn backward, unsigned outputs, unsigned inputs)
{
    tape->nodes = host_room(tape->nodes, tape->count, &tape->room);
    struct node *node = host_memory(1, sizeof *node);
    node->backward = backward;
    node->slot_count = outputs;
    node->slots = host_memory(outputs, sizeof *node->slots);
    node->input_count = inputs;
    node->inputs = host_memory(inputs, sizeof *node->inputs);
    if (inputs > tape->widest)
        tape->widest = inputs;
    tape->nodes[tape->count++] = node;
    return node;
}

void node_input(struct node *node, unsigned number, const struct var *input)
{
    assert(number < node->input_count);
    node->inputs[number] = input->edge;
}

void node_weight(struct node *node, unsigned number, struct parameter *weight)
{
    assert(number < node->input_count);
    node->inputs[number] = (struct edge){.parameter = weight, .bytes = parameter_bytes(weight)};
    weight->uses++;
}

void node_save(struct node *node, const struct var *saved)
{
    unsigned at = 0;
    while (node->saved[at])
        at++;
    assert(at < NODE_SAVED);
    node->saved[at] = tensor_hold(saved->view.tensor);
}

struct var node_output_at(struct tape *tape, struct node *node, unsigned slot, uint64_t bytes,
                          tidemark_site_t site)
{
    assert(slot < node->slot_count);
    struct var output = var_new_at(tape->heap, bytes, site);
    output.edge.node = node;
    output.edge.slot = slot;
    return output;
}

/* ---- backward ---- */

/* Takes `gradient` over: the first one stays as it is, each later one makes a new sum. */
static void add_up(struct heap *heap, struct view *place, struct view gradient)
{
    if (!place->tensor) {
        *place = gradient;
        return;
    }
    assert(place->bytes == gradient.bytes);
    struct view sum = view_new(heap, gradient.bytes);
    view_drop(place);
    view_drop(&gradient);
    *place = sum;
}

static void accumulate(struct parameter *parameter)
{
    if (parameter->gradient.tensor) {
        view_drop(&parameter->pending);
        return;
    }
    parameter->gradient = parameter->pending;
    parameter->pending = (struct view){0};
    tensor_tag(parameter->gradient.tensor, TIDEMARK_GRADIENT, parameter->name);
}

/* Takes `gradient` over; it may be empty, which only counts as a use of a parameter. */
static void send(struct heap *heap, const struct edge *edge, struct view gradient)
{
    if (edge->parameter) {
        assert(edge->parameter->uses > 0);
        if (gradient.tensor)
            add_up(heap, &edge->parameter->pending, gradient);
        if (--edge->parameter->uses == 0 && edge->parameter->pending.tensor)
            accumulate(edge->parameter);
    } else if (edge->node && gradient.tensor) {
        add_up(heap, &edge->node->slots[edge->slot], gradient);
    } else {
        view_drop(&gradient);
    }
}

static bool was_reached(const struct node *node)
{
    for (unsigned i = 0; i < node->slot_count; i++)
        if (node->slots[i].tensor)
            return true;
    return false;
}

/* Runs the node, or, where no gradient reached it, only gives up what it held. */
static void run(struct heap *heap, struct node *node, struct view *gradients)
{
    memset(gradients, 0, node->input_count * sizeof *gradients);
    if (was_reached(node))
        node->backward(heap, node, gradients);
    for (unsigned i = 0; i < node->slot_count; i++)
        view_drop(&node->slots[i]);
    for (unsigned i = 0; i < NODE_SAVED; i++)
        tensor_drop(node->saved[i]);
    for (unsigned i = 0; i < node->input_count; i++)
        send(heap, &node->inputs[i], gradients[i]);
}

void tape_backward(struct tape *tape, const struct var *root, struct view gradient)
{
    struct view *gradients = host_memory(tape->widest, sizeof *gradients);
    send(tape->heap, &root->edge, gradient);
    while (tape->count) {
        struct node *node = tape->nodes[tape->count - 1];
        run(tape->heap, node, gradients);
        free_node(node);
        tape->count--;
    }
    free(gradients);
}

bool tape_is_empty(const struct tape *tape)
{
    return tape->count == 0;
}
