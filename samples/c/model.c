/* The parts of a step that are no forward pass: weights, batch, loss, backward, Adam. */
#include "model.h"

/* ---- the parameters ---- */

static void declare(struct model *model, enum parameter_name which, const char *name, uint64_t rows,
                    uint64_t columns)
{
    model->parameters[which] = (struct parameter){.name = name, .rows = rows, .columns = columns};
}

/* A GRU has three gates: its matrices have 3 * hidden rows. */
static void declare_gru(struct model *model)
{
    static const char *const names[GRU_WEIGHTS] = {
        "encoder.rnn.weight_ih_l0",         "encoder.rnn.weight_hh_l0",
        "encoder.rnn.bias_ih_l0",           "encoder.rnn.bias_hh_l0",
        "encoder.rnn.weight_ih_l0_reverse", "encoder.rnn.weight_hh_l0_reverse",
        "encoder.rnn.bias_ih_l0_reverse",   "encoder.rnn.bias_hh_l0_reverse"};
    const uint64_t columns[] = {model->size.input, model->size.hidden, 1, 1};
    for (unsigned i = 0; i < GRU_WEIGHTS; i++)
        declare(model, ENCODER_GRU + i, names[i], 3 * model->size.hidden, columns[i % 4]);
}

static void declare_decoder(struct model *model)
{
    const struct dimensions *n = &model->size;
    const uint64_t gates = 3 * n->hidden, context = 2 * n->hidden;
    declare(model, DECODER_EMBEDDING, "decoder.embedding.weight", n->vocab, n->input);
    declare(model, CELL0_W_INPUT, "decoder.cell0.weight_ih", gates, n->input);
    declare(model, CELL0_W_HIDDEN, "decoder.cell0.weight_hh", gates, n->hidden);
    declare(model, CELL0_B_INPUT, "decoder.cell0.bias_ih", gates, 1);
    declare(model, CELL0_B_HIDDEN, "decoder.cell0.bias_hh", gates, 1);
    declare(model, ATTENTION_QUERY_W, "decoder.attention.map_query.weight", n->attention,
            n->hidden);
    declare(model, ATTENTION_QUERY_B, "decoder.attention.map_query.bias", n->attention, 1);
    declare(model, ATTENTION_V_W, "decoder.attention.v.weight", 1, n->attention);
    declare(model, ATTENTION_V_B, "decoder.attention.v.bias", 1, 1);
    declare(model, CELL1_W_INPUT, "decoder.cell1.weight_ih", gates, context);
    declare(model, CELL1_W_HIDDEN, "decoder.cell1.weight_hh", gates, n->hidden);
    declare(model, CELL1_B_INPUT, "decoder.cell1.bias_ih", gates, 1);
    declare(model, CELL1_B_HIDDEN, "decoder.cell1.bias_hh", gates, 1);
    declare(model, READOUT_W, "decoder.readout.weight", n->input, n->input + n->hidden + context);
    declare(model, READOUT_B, "decoder.readout.bias", n->input, 1);
    declare(model, GENERATOR_W, "decoder.logit.weight", n->vocab, n->input);
    declare(model, GENERATOR_B, "decoder.logit.bias", n->vocab, 1);
}

static void declare_all(struct model *model)
{
    const struct dimensions *n = &model->size;
    declare_gru(model);
    declare(model, ENCODER_EMBEDDING, "encoder.embedding.weight", n->vocab, n->input);
    declare_decoder(model);
    declare(model, BRIDGE_KEY_W, "bridge.map_k.weight", n->attention, 2 * n->hidden);
    declare(model, BRIDGE_KEY_B, "bridge.map_k.bias", n->attention, 1);
    declare(model, BRIDGE_STATE_W, "bridge.dec_init.weight", n->hidden, n->hidden);
    declare(model, BRIDGE_STATE_B, "bridge.dec_init.bias", n->hidden, 1);
}

static struct tensor *weight_to_device(struct model *model, const struct parameter *parameter)
{
    return tensor_new(model->heap, parameter_bytes(parameter));
}

/* The GRU's weights come to the device one by one; then they are copied into one flat buffer, as
 * cuDNN wants them, and the single ones die. */
static void build_gru(struct model *model)
{
    struct parameter *weights = &model->parameters[ENCODER_GRU];
    uint64_t flat_bytes = 0;
    for (unsigned i = 0; i < GRU_WEIGHTS; i++) {
        weights[i].data = weight_to_device(model, &weights[i]);
        flat_bytes += parameter_bytes(&weights[i]);
    }
    struct tensor *flat = tensor_new(model->heap, flat_bytes);
    for (unsigned i = 0; i < GRU_WEIGHTS; i++) {
        tensor_drop(weights[i].data);
        weights[i].data = tensor_hold(flat);
    }
    tensor_tag(flat, TIDEMARK_PARAMETER, "encoder.rnn");
    tensor_drop(flat);
}

void model_build(struct model *model, struct heap *heap, const struct dimensions *size)
{
    *model = (struct model){.size = *size, .heap = heap};
    tape_open(&model->tape, heap);
    declare_all(model);
    build_gru(model);
    for (unsigned i = ENCODER_EMBEDDING; i < PARAMETER_COUNT; i++) {
        struct parameter *parameter = &model->parameters[i];
        parameter->data = weight_to_device(model, parameter);
        tensor_tag(parameter->data, TIDEMARK_PARAMETER, parameter->name);
    }
}

void model_close(struct model *model)
{
    var_drop(&model->loss);
    var_drop(&model->logits);
    var_drop(&model->y);
    var_drop(&model->x);
    for (unsigned i = 0; i < PARAMETER_COUNT; i++) {
        struct parameter *parameter = &model->parameters[i];
        tensor_drop(parameter->exp_avg_sq);
        tensor_drop(parameter->exp_avg);
        view_drop(&parameter->gradient);
        tensor_drop(parameter->data);
    }
    tape_close(&model->tape);
}

/* ---- a step ---- */

/* ones(batch, length).cuda() * 2: the factor is applied into a second tensor. */
static struct var make_indices(struct model *model)
{
    uint64_t bytes = model->size.batch * model->size.length * INDEX_BYTES;
    struct var ones = var_new(model->heap, bytes);
    struct var twos = var_new(model->heap, bytes);
    var_drop(&ones);
    tensor_tag(twos.view.tensor, TIDEMARK_INPUT, "batch");
    return twos;
}

/* Both tensors of the new batch are there before those of the old one go. */
void model_next_batch(struct model *model)
{
    struct var x = make_indices(model);
    struct var y = make_indices(model);
    var_set(&model->x, x);
    var_set(&model->y, y);
}

/* Gradients are filled with zeros where they are: nothing is born, nothing dies. */
void model_zero_grad(struct model *model)
{
    (void)model;
}

/* The log-probabilities are as large as the logits: one more L. They live on in what log_softmax
 * and nll_loss saved. */
void model_loss(struct model *model)
{
    struct var log_probabilities = op_log_softmax(&model->tape, &model->logits);
    struct var sum = op_nll_loss(&model->tape, &log_probabilities, &model->y);
    var_drop(&log_probabilities);
    var_set(&model->loss, sum);
    var_set(&model->loss, op_divide(&model->tape, &model->loss));
}

/*
 * nll_loss makes the gradient of the log-probabilities (L), and log_softmax that of the logits (L)
 * while the first and the log-probabilities still live: 2 L above what forward and loss left. From
 * there on it goes down: the activations die as the walk passes them, and the gradients of the
 * weights, which come up, are smaller. `logits`, the variable, keeps its L beyond the end.
 */
void model_backward(struct model *model)
{
    struct view one = view_new(model->heap, model->loss.view.bytes);
    tape_backward(&model->tape, &model->loss, one);
}

/*
 * Adam. The first step makes two states for each weight, 2 P in all. The denominator is a new
 * tensor for each weight, and the one of the weight before still lives then, because the variable
 * that holds it is assigned afterwards.
 */
void model_optimizer(struct model *model)
{
    struct tensor *denominator = NULL;
    for (unsigned i = 0; i < PARAMETER_COUNT; i++) {
        struct parameter *parameter = &model->parameters[i];
        uint64_t bytes = parameter_bytes(parameter);
        if (!parameter->exp_avg) {
            parameter->exp_avg = tensor_new(model->heap, bytes);
            parameter->exp_avg_sq = tensor_new(model->heap, bytes);
            tensor_tag(parameter->exp_avg, TIDEMARK_OPTIMIZER_STATE, parameter->name);
            tensor_tag(parameter->exp_avg_sq, TIDEMARK_OPTIMIZER_STATE, parameter->name);
        }
        struct tensor *next = tensor_new(model->heap, bytes);
        tensor_drop(denominator);
        denominator = next;
    }
    tensor_drop(denominator);
}

/* What log_softmax saved is its own result: nobody else holds the logits. */
void model_drop_logits(struct model *model)
{
    var_drop(&model->logits);
}
