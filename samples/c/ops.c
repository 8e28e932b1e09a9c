#include "ops.h"

/* ---- embedding ----
 * The output has `columns` floats for each index. Saved: the indices, not the output. Backward
 * makes a dense gradient of the whole table; on the way the indices are sorted, in two arrays of
 * their size. */

static void embedding_backward(struct heap *heap, const struct node *node, struct view *gradient)
{
    uint64_t row = node->inputs[0].parameter->columns * FLOAT_BYTES;
    uint64_t indices = node->slots[0].bytes / row * INDEX_BYTES;
    gradient[0] = view_new(heap, node->inputs[0].bytes);
    struct tensor *sorted = tensor_new(heap, indices);
    struct tensor *order = tensor_new(heap, indices);
    tensor_drop(order);
    tensor_drop(sorted);
}

struct var op_embedding(struct tape *tape, struct parameter *weight, const struct var *indices)
{
    uint64_t count = indices->view.bytes / INDEX_BYTES;
    struct node *node = tape_add(tape, embedding_backward, 1, 1);
    node_weight(node, 0, weight);
    node_save(node, indices);
    return node_output(tape, node, 0, count * weight->columns * FLOAT_BYTES);
}

/* ---- pack_padded_sequence ----
 * The batch-first input is copied time-first, and the steps (one piece here, since all lengths are
 * equal) are joined into a second copy, which is the result. Nothing is saved on the device.
 * Backward makes a tensor as large as the input. */

static void pack_backward(struct heap *heap, const struct node *node, struct view *gradient)
{
    gradient[0] = view_new(heap, node->inputs[0].bytes);
}

struct var op_pack(struct tape *tape, const struct var *padded)
{
    struct node *node = tape_add(tape, pack_backward, 1, 1);
    node_input(node, 0, padded);
    struct tensor *time_first = tensor_new(tape->heap, padded->view.bytes);
    struct var packed = node_output(tape, node, 0, padded->view.bytes);
    tensor_drop(time_first);
    return packed;
}

/* ---- the encoder's GRU ----
 * cuDNN gets the packed input and a state of zeros, [directions x batch x hidden], and fills the
 * output, [tokens x directions * hidden], the last state, and its reserve space. Input, first
 * state, output and reserve are saved. The weights lie in one flat buffer since the model came to
 * the device, so no copy of them is made at each call.
 *
 * The reserve's size is cuDNN's secret. Two sizes that it returned are public: pytorch issue 2895
 * reports 864,000,000 bytes for a GRU and 736,000,000 for an LSTM of the same shape, whose counts
 * of parameters (2,279,370 and 3,038,090) say four layers of 320 units in one direction. Divided by
 * 320 floats they are 27 and 23 times 25,000 tokens, and 27 = 4 * 6 + 3, 23 = 4 * 5 + 3: six floats
 * for each hidden unit, token and layer of a GRU, five of an LSTM (four gates and the cell), and
 * one for the output of each layer but the last. The number of tokens is inferred, not reported.
 * Here is one layer of two directions. The workspace, which lives only during the call, far below
 * the maximum of its phase, is left out.
 *
 * Backward makes the gradients of the input and of the first state, which nobody wants, and one
 * flat buffer for those of all weights: the gradients of the weights are parts of it. */

enum { GRU_RESERVE_FLOATS = 6 };

static void gru_backward(struct heap *heap, const struct node *node, struct view *gradient)
{
    uint64_t flat_bytes = 0;
    for (unsigned i = 1; i <= GRU_WEIGHTS; i++)
        flat_bytes += node->inputs[i].bytes;
    gradient[0] = view_new(heap, node->inputs[0].bytes);
    struct tensor *first_state = tensor_new(heap, tensor_bytes(node->saved[1]));
    struct view flat = view_new(heap, flat_bytes);
    for (unsigned i = 1; i <= GRU_WEIGHTS; i++)
        gradient[i] = view_hold(flat, node->inputs[i].bytes);
    view_drop(&flat);
    tensor_drop(first_state);
}

struct gru_result op_gru(struct tape *tape, struct parameter *weights, const struct var *input,
                         struct gru_size size)
{
    uint64_t state = GRU_DIRECTIONS * size.batch * size.hidden * FLOAT_BYTES;
    uint64_t output = size.tokens * GRU_DIRECTIONS * size.hidden * FLOAT_BYTES;
    struct node *node = tape_add(tape, gru_backward, 2, 1 + GRU_WEIGHTS);
    node_input(node, 0, input);
    for (unsigned i = 0; i < GRU_WEIGHTS; i++)
        node_weight(node, 1 + i, &weights[i]);
    struct var zeros = var_new(tape->heap, state);
    struct gru_result result;
    result.output = node_output(tape, node, 0, output);
    result.hidden = node_output(tape, node, 1, state);
    struct var reserve = var_new(tape->heap, GRU_RESERVE_FLOATS * output);
    node_save(node, input);
    node_save(node, &zeros);
    node_save(node, &result.output);
    node_save(node, &reserve);
    var_drop(&reserve);
    var_drop(&zeros);
    return result;
}

/* ---- pad_packed_sequence ----
 * A new padded tensor, filled by copies. Nothing is saved. Backward of a copy into a part: the
 * gradient of the whole is copied, and the part that is the packed tensor's is cloned out of it. */

static void unpack_backward(struct heap *heap, const struct node *node, struct view *gradient)
{
    struct tensor *whole = tensor_new(heap, node->slots[0].bytes);
    gradient[0] = view_new(heap, node->inputs[0].bytes);
    tensor_drop(whole);
}

struct var op_unpack(struct tape *tape, const struct var *packed)
{
    struct node *node = tape_add(tape, unpack_backward, 1, 1);
    node_input(node, 0, packed);
    return node_output(tape, node, 0, packed->view.bytes);
}

/* ---- hx[1] ----
 * A part of the last state, without a copy. Backward: zeros as large as the whole. */

static void select_backward(struct heap *heap, const struct node *node, struct view *gradient)
{
    gradient[0] = view_new(heap, node->inputs[0].bytes);
}

struct var op_select_last(struct tape *tape, const struct var *hidden)
{
    struct node *node = tape_add(tape, select_backward, 1, 1);
    uint64_t bytes = hidden->view.bytes / GRU_DIRECTIONS;
    node_input(node, 0, hidden);
    return (struct var){.view = view_hold(hidden->view, bytes),
                        .edge = {.node = node, .bytes = bytes}};
}

/* ---- Linear ----
 * A matrix product; the bias is added in place. Saved: the input (and the weight, which lives
 * anyway). Backward: gradients of the bias, of the input, and of the weight. */

static void linear_backward(struct heap *heap, const struct node *node, struct view *gradient)
{
    if (node->input_count > 2)
        gradient[2] = view_new(heap, node->inputs[2].bytes);
    gradient[0] = view_new(heap, node->inputs[0].bytes);
    gradient[1] = view_new(heap, node->inputs[1].bytes);
}

struct var op_linear(struct tape *tape, const struct var *input, struct parameter *weight,
                     struct parameter *bias)
{
    uint64_t rows = input->view.bytes / (weight->columns * FLOAT_BYTES);
    struct node *node = tape_add(tape, linear_backward, 1, bias ? 3 : 2);
    node_input(node, 0, input);
    node_weight(node, 1, weight);
    if (bias)
        node_weight(node, 2, bias);
    node_save(node, input);
    return node_output(tape, node, 0, rows * weight->rows * FLOAT_BYTES);
}

/* The product needs its rows one behind the other. An input that is a transposed view is copied
 * first, and it is the copy that is saved. The copy's gradient is the input's. */

static void copy_backward(struct heap *heap, const struct node *node, struct view *gradient)
{
    (void)heap;
    gradient[0] = view_hold(node->slots[0], node->slots[0].bytes);
}

struct var op_linear_of_copy(struct tape *tape, const struct var *input, struct parameter *weight,
                             struct parameter *bias)
{
    struct node *node = tape_add(tape, copy_backward, 1, 1);
    node_input(node, 0, input);
    struct var copy = node_output(tape, node, 0, input->view.bytes);
    struct var output = op_linear(tape, &copy, weight, bias);
    var_drop(&copy);
    return output;
}

/* ---- tanh, softmax, log_softmax ----
 * A new tensor as large as the input. Saved: the output. Backward: another of that size. */

static void like_input_backward(struct heap *heap, const struct node *node, struct view *gradient)
{
    gradient[0] = view_new(heap, node->inputs[0].bytes);
}

static struct var save_output(struct tape *tape, const struct var *input, tidemark_site_t site)
{
    struct node *node = tape_add(tape, like_input_backward, 1, 1);
    node_input(node, 0, input);
    struct var output = node_output_at(tape, node, 0, input->view.bytes, site);
    node_save(node, &output);
    return output;
}

struct var op_tanh(struct tape *tape, const struct var *input)
{
    return save_output(tape, input, TIDEMARK_SITE());
}

struct var op_softmax(struct tape *tape, const struct var *scores)
{
    return save_output(tape, scores, TIDEMARK_SITE());
}

struct var op_log_softmax(struct tape *tape, const struct var *logits)
{
    return save_output(tape, logits, TIDEMARK_SITE());
}

/* ---- GRUCell ----
 * Two matrix products without bias, [batch x 3 hidden] each, then one fused kernel that makes the
 * new state, [batch x hidden], and a workspace of five floats for each unit: the three gates, the
 * old state, and the candidate's product. Saved: the workspace. The two products die at once.
 * Backward: the gradients of the two products, of the old state, and of the two biases. */

enum { CELL_WORKSPACE_FLOATS = 5 };

static void gru_cell_backward(struct heap *heap, const struct node *node, struct view *gradient)
{
    for (unsigned i = 0; i < node->input_count; i++)
        gradient[i] = view_new(heap, node->inputs[i].bytes);
}

struct var op_gru_cell(struct tape *tape, const struct gru_cell *cell, const struct var *input,
                       const struct var *state)
{
    struct var of_input = op_linear(tape, input, cell->w_input, NULL);
    struct var of_state = op_linear(tape, state, cell->w_hidden, NULL);
    struct node *node = tape_add(tape, gru_cell_backward, 1, 5);
    node_input(node, 0, &of_input);
    node_input(node, 1, &of_state);
    node_input(node, 2, state);
    node_weight(node, 3, cell->b_input);
    node_weight(node, 4, cell->b_hidden);
    struct var workspace = var_new(tape->heap, CELL_WORKSPACE_FLOATS * state->view.bytes);
    struct var next = node_output(tape, node, 0, state->view.bytes);
    node_save(node, &workspace);
    var_drop(&workspace);
    var_drop(&of_state);
    var_drop(&of_input);
    return next;
}

/* ---- keys + query.unsqueeze(1) ----
 * A row for each batch entry is added to all time steps of the keys. Nothing is saved. Backward:
 * the gradient of the keys is the one that came, that of the row its sum over the time steps. */

static void add_row_backward(struct heap *heap, const struct node *node, struct view *gradient)
{
    gradient[0] = view_hold(node->slots[0], node->slots[0].bytes);
    gradient[1] = view_new(heap, node->inputs[1].bytes);
}

struct var op_add_row(struct tape *tape, const struct var *keys, const struct var *row)
{
    struct node *node = tape_add(tape, add_row_backward, 1, 2);
    node_input(node, 0, keys);
    node_input(node, 1, row);
    return node_output(tape, node, 0, keys->view.bytes);
}

/* ---- bmm(weights, values) ----
 * Saved: both inputs. Backward: a gradient for each, that of the values as large as all of them. */

static void weighted_sum_backward(struct heap *heap, const struct node *node, struct view *gradient)
{
    gradient[0] = view_new(heap, node->inputs[0].bytes);
    gradient[1] = view_new(heap, node->inputs[1].bytes);
}

struct var op_weighted_sum(struct tape *tape, const struct var *weights, const struct var *values,
                           uint64_t bytes)
{
    struct node *node = tape_add(tape, weighted_sum_backward, 1, 2);
    node_input(node, 0, weights);
    node_input(node, 1, values);
    node_save(node, weights);
    node_save(node, values);
    return node_output(tape, node, 0, bytes);
}

/* ---- split ----
 * The pieces are parts of the whole, without a copy. Their gradients wait until all are there; then
 * backward joins them into a new tensor. */

static void split_backward(struct heap *heap, const struct node *node, struct view *gradient)
{
    gradient[0] = view_new(heap, node->inputs[0].bytes);
}

void op_split(struct tape *tape, const struct var *whole, struct var *pieces, unsigned count)
{
    struct node *node = tape_add(tape, split_backward, count, 1);
    uint64_t bytes = whole->view.bytes / count;
    node_input(node, 0, whole);
    for (unsigned i = 0; i < count; i++) {
        pieces[i].view = view_hold(whole->view, bytes);
        pieces[i].edge = (struct edge){.node = node, .slot = i, .bytes = bytes};
    }
}

/* ---- stack, cat ----
 * A new tensor with all pieces. Only their sizes are saved. The gradients that backward sends are
 * parts of the one that came: it lives until the last of them is used up. */

static void join_backward(struct heap *heap, const struct node *node, struct view *gradient)
{
    (void)heap;
    for (unsigned i = 0; i < node->input_count; i++)
        gradient[i] = view_hold(node->slots[0], node->inputs[i].bytes);
}

struct var op_join(struct tape *tape, const struct var *pieces, unsigned count)
{
    struct node *node = tape_add(tape, join_backward, 1, count);
    uint64_t bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        node_input(node, i, &pieces[i]);
        bytes += pieces[i].view.bytes;
    }
    return node_output(tape, node, 0, bytes);
}

/* ---- nll_loss, with the sum as its result ----
 * Two numbers: the loss and the total weight. Saved: the log-probabilities, the target, the total
 * weight. Backward: a gradient as large as the log-probabilities, which still live: here begins the
 * highest moment of the step. */

struct var op_nll_loss(struct tape *tape, const struct var *log_probabilities,
                       const struct var *target)
{
    struct node *node = tape_add(tape, like_input_backward, 1, 1);
    node_input(node, 0, log_probabilities);
    struct var loss = node_output(tape, node, 0, FLOAT_BYTES);
    struct var total_weight = var_new(tape->heap, FLOAT_BYTES);
    node_save(node, log_probabilities);
    node_save(node, target);
    node_save(node, &total_weight);
    var_drop(&total_weight);
    return loss;
}

/* ---- loss / batch_size ----
 * One number; nothing is saved, because the divisor is no tensor. */

struct var op_divide(struct tape *tape, const struct var *loss)
{
    struct node *node = tape_add(tape, like_input_backward, 1, 1);
    node_input(node, 0, loss);
    return node_output(tape, node, 0, loss->view.bytes);
}
