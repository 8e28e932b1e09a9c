/*
 * The forward pass: encoder, bridge, decoder, generator. A `struct var` here is a local variable of
 * the model's forward functions, and is dropped where it goes out of scope or is assigned anew;
 * what outlives that was saved by an operation.
 *
 * The large tensors that are left for backward, for batch B, length T, input I, hidden H, attention
 * A, vocabulary V, in bytes; in brackets MiB for 80, 50, 500, 1000, 1000, 30000:
 *   encoder   packed input 4BTI [7.6], GRU output 8BTH [30.5], its reserve 48BTH [183.1],
 *             padded output 8BTH [30.5]
 *   bridge    its copy for map_k 8BTH [30.5], keys 4BTA [15.3]
 *   decoder   embedded input 4BTI [7.6]; in each of the T steps tanh 4BTA [15.3], two cells with
 *             20BH of workspace and 4BH of state each [3.7 together], context 8BH [0.6]
 *   generator its input 4BT(I + 3H) [53.4], tanh 4BTI [7.6], logits 4BTV [457.8]
 */
#include "model.h"

#include <stdlib.h>

/* What the bridge hands to the decoder. */
struct decoder_state {
    struct var keys;   /* [batch x length x attention] */
    struct var values; /* [batch x length x 2 hidden], a transposed view */
    struct var mask;   /* one byte for each token */
    struct var hidden; /* [batch x hidden] */
};

struct encoder_state {
    struct var feature, hidden, mask;
};

/* mask = input.eq(pad); lens = length - mask.sum(1) */
static struct var token_lengths(struct model *model)
{
    struct var padding = var_new(model->heap, model->size.batch * INDEX_BYTES);
    struct var lengths = var_new(model->heap, model->size.batch * INDEX_BYTES);
    var_drop(&padding);
    return lengths;
}

static struct encoder_state encode(struct model *model)
{
    const struct dimensions *n = &model->size;
    struct tape *tape = &model->tape;
    struct gru_size size = {n->batch * n->length, n->batch, n->hidden};
    struct encoder_state state;
    state.mask = var_new(model->heap, n->batch * n->length);
    struct var lengths = token_lengths(model);
    struct var x = op_embedding(tape, &model->parameters[ENCODER_EMBEDDING], &model->x);
    var_set(&x, op_pack(tape, &x));
    struct gru_result gru = op_gru(tape, &model->parameters[ENCODER_GRU], &x, size);
    var_set(&x, gru.output);
    var_set(&x, op_unpack(tape, &x));
    state.hidden = op_select_last(tape, &gru.hidden);
    state.feature = x;
    var_drop(&gru.hidden);
    var_drop(&lengths);
    return state;
}

static struct var linear_tanh(struct model *model, const struct var *input,
                              enum parameter_name weight)
{
    struct var product =
        op_linear(&model->tape, input, &model->parameters[weight], &model->parameters[weight + 1]);
    struct var output = op_tanh(&model->tape, &product);
    var_drop(&product);
    return output;
}

/* Keys from the encoder's output, which is a transposed view and so copied for the product. */
static struct var make_keys(struct model *model, const struct var *feature)
{
    struct var product = op_linear_of_copy(&model->tape, feature, &model->parameters[BRIDGE_KEY_W],
                                           &model->parameters[BRIDGE_KEY_B]);
    struct var keys = op_tanh(&model->tape, &product);
    var_drop(&product);
    return keys;
}

/* Takes the encoder's state over. */
static struct decoder_state bridge(struct model *model, struct encoder_state *encoder)
{
    struct decoder_state state;
    state.keys = make_keys(model, &encoder->feature);
    state.hidden = linear_tanh(model, &encoder->hidden, BRIDGE_STATE_W);
    state.values = encoder->feature;
    state.mask = encoder->mask;
    var_drop(&encoder->hidden);
    return state;
}

/*
 * score = v(tanh(keys + map_query(query))); context = softmax(score) * values.
 * The variable x holds the sum until the scores are assigned to it, so that sum and tanh live side
 * by side for a moment; tanh saved its output, and v the same tensor as its input: 4BTA for each
 * time step, the largest part of the activations.
 */
static struct var attend(struct model *model, const struct var *query,
                         const struct decoder_state *state)
{
    struct parameter *parameters = model->parameters;
    struct tape *tape = &model->tape;
    struct var row =
        op_linear(tape, query, &parameters[ATTENTION_QUERY_W], &parameters[ATTENTION_QUERY_B]);
    struct var x = op_add_row(tape, &state->keys, &row);
    var_drop(&row);
    struct var squashed = op_tanh(tape, &x);
    struct var scores =
        op_linear(tape, &squashed, &parameters[ATTENTION_V_W], &parameters[ATTENTION_V_B]);
    var_drop(&squashed);
    var_set(&x, scores);
    var_set(&x, op_softmax(tape, &x));
    struct var context = op_weighted_sum(tape, &x, &state->values,
                                         2 * model->size.batch * model->size.hidden * FLOAT_BYTES);
    var_drop(&x);
    return context;
}

static struct gru_cell cell(struct model *model, enum parameter_name first)
{
    struct parameter *p = &model->parameters[first];
    return (struct gru_cell){&p[0], &p[1], &p[2], &p[3]};
}

/* Fills hidden[] and contexts[], one for each time step; leaves the last state in `state`. */
static void decode_steps(struct model *model, struct decoder_state *state, const struct var *inputs,
                         struct var *hidden, struct var *contexts)
{
    const struct gru_cell cell0 = cell(model, CELL0_W_INPUT);
    const struct gru_cell cell1 = cell(model, CELL1_W_INPUT);
    struct var h = var_hold(&state->hidden);
    for (uint64_t i = 0; i < model->size.length; i++) {
        var_set(&h, op_gru_cell(&model->tape, &cell0, &inputs[i], &h));
        contexts[i] = attend(model, &h, state);
        var_set(&h, op_gru_cell(&model->tape, &cell1, &contexts[i], &h));
        hidden[i] = var_hold(&h);
    }
    var_set(&state->hidden, h);
}

static void drop_all(struct var *vars, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        var_drop(&vars[i]);
}

/* The stacked states and contexts live beside the logits until the decoder returns: the maximum of
 * the forward phase is 12BTH above its end. */
static struct var generate(struct model *model, const struct var *x, const struct var *hidden,
                           const struct var *contexts)
{
    const struct var parts[3] = {*x, *hidden, *contexts};
    struct var input = op_join(&model->tape, parts, 3);
    struct var readout = linear_tanh(model, &input, READOUT_W);
    var_drop(&input);
    struct var logits = op_linear(&model->tape, &readout, &model->parameters[GENERATOR_W],
                                  &model->parameters[GENERATOR_B]);
    var_drop(&readout);
    return logits;
}

/* Embeds the targets: the slice of the padded ones is copied, since its rows are not one behind
 * the other, but what is saved is the slice. */
static struct var embed_targets(struct model *model, const struct var *slice)
{
    struct var flat = var_new(model->heap, slice->view.bytes);
    struct var x = op_embedding(&model->tape, &model->parameters[DECODER_EMBEDDING], slice);
    var_drop(&flat);
    return x;
}

static struct var decode(struct model *model, const struct var *targets,
                         struct decoder_state *state)
{
    const uint64_t length = model->size.length;
    struct var *inputs = host_memory(length, sizeof *inputs);
    struct var *hidden = host_memory(length, sizeof *hidden);
    struct var *contexts = host_memory(length, sizeof *contexts);
    struct var x = embed_targets(model, targets);
    op_split(&model->tape, &x, inputs, (unsigned)length);
    decode_steps(model, state, inputs, hidden, contexts);
    struct var all_hidden = op_join(&model->tape, hidden, (unsigned)length);
    drop_all(hidden, length);
    struct var all_contexts = op_join(&model->tape, contexts, (unsigned)length);
    drop_all(contexts, length);
    struct var logits = generate(model, &x, &all_hidden, &all_contexts);
    var_drop(&all_contexts);
    var_drop(&all_hidden);
    drop_all(inputs, length);
    var_drop(&x);
    free(contexts);
    free(hidden);
    free(inputs);
    return logits;
}

/* F.pad(y, [1, 0])[:, :-1]: a copy with one more column, of which the last is not used. */
static struct var shift_targets(struct model *model)
{
    const struct dimensions *n = &model->size;
    struct var shifted = var_new(model->heap, n->batch * (n->length + 1) * INDEX_BYTES);
    shifted.view.bytes = n->batch * n->length * INDEX_BYTES;
    return shifted;
}

/* The logits of the step before live until the new ones are assigned, at the very end. */
void model_forward(struct model *model)
{
    struct encoder_state encoded = encode(model);
    struct decoder_state state = bridge(model, &encoded);
    struct var targets = shift_targets(model);
    struct var logits = decode(model, &targets, &state);
    var_drop(&targets);
    var_drop(&state.hidden);
    var_drop(&state.mask);
    var_drop(&state.values);
    var_drop(&state.keys);
    var_set(&model->logits, logits);
}
