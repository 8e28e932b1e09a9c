/* reference.c - see reference.h. */
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is kept of each time step of a cell: the state before it, and
 *   LSTM  the four gates, the cell before and after
 *   GRU   the three gates, and what the reset gate is multiplied with */
enum { LSTM_KEPT = 7, GRU_KEPT = 5 };

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* ---- matrices ---- */

static double dot(size_t count, const double *a, const double *b)
{
    double sums[4] = {0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (size_t k = 0; k < 4; k++)
            sums[k] += a[i + k] * b[i + k];
    for (; i < count; i++)
        sums[0] += a[i] * b[i];
    return sums[0] + sums[1] + sums[2] + sums[3];
}

static void add(size_t count, double *to, double factor, const double *from)
{
    for (size_t i = 0; i < count; i++)
        to[i] += factor * from[i];
}

void ref_multiply(size_t rows, size_t columns, const double *matrix, const double *x, double *y)
{
    for (size_t row = 0; row < rows; row++)
        y[row] += dot(columns, matrix + row * columns, x);
}

void ref_multiply_back(size_t rows, size_t columns, const double *matrix, const double *y,
                       double *x)
{
    for (size_t row = 0; row < rows; row++)
        add(columns, x, y[row], matrix + row * columns);
}

void ref_outer(size_t rows, size_t columns, double *matrix, const double *y, const double *x)
{
    for (size_t row = 0; row < rows; row++)
        add(columns, matrix + row * columns, y[row], x);
}

/* ---- where the weights lie ---- */

size_t ref_gates(const struct ref_rnn *rnn)
{
    return rnn->gru ? 3 : 4;
}

size_t ref_cells(const struct ref_rnn *rnn)
{
    return rnn->layers * rnn->directions;
}

/* What the layer of a cell sees. */
static size_t sees(const struct ref_rnn *rnn, size_t cell)
{
    return cell < rnn->directions ? rnn->input : rnn->directions * rnn->hidden;
}

struct ref_weight ref_weight_at(const struct ref_rnn *rnn, size_t cell, enum ref_kind kind)
{
    size_t rows = ref_gates(rnn) * rnn->hidden, offset = 0;
    for (size_t i = 0; i < cell; i++)
        offset += rows * (sees(rnn, i) + rnn->hidden + 2);
    const size_t columns[REF_KINDS] = {sees(rnn, cell), rnn->hidden, 1, 1};
    for (size_t i = 0; i < (size_t)kind; i++)
        offset += rows * columns[i];
    return (struct ref_weight){offset, rows, columns[kind]};
}

size_t ref_rnn_weights(const struct ref_rnn *rnn)
{
    return ref_weight_at(rnn, ref_cells(rnn), REF_WEIGHT_IH).offset;
}

static size_t kept(const struct ref_rnn *rnn)
{
    return (rnn->gru ? GRU_KEPT : LSTM_KEPT) * rnn->hidden;
}

/* Of each layer its output, then what its cells keep of each time step. */
size_t ref_rnn_saved(const struct ref_rnn *rnn, size_t length)
{
    return rnn->layers * length * rnn->directions * (rnn->hidden + kept(rnn));
}

/* One direction of one layer: its weights, or their gradients, and what it has to do with. */
struct cell {
    const struct ref_rnn *rnn;
    size_t sees, length, direction;
    const double *matrix[REF_KINDS];
    double *gradient[REF_KINDS];
};

static struct cell cell_at(const struct ref_rnn *rnn, size_t number, size_t length,
                           const double *weights, double *gradients)
{
    struct cell cell = {.rnn = rnn,
                        .sees = sees(rnn, number),
                        .length = length,
                        .direction = number % rnn->directions};
    for (size_t kind = 0; kind < REF_KINDS; kind++) {
        size_t offset = ref_weight_at(rnn, number, (enum ref_kind)kind).offset;
        cell.matrix[kind] = weights + offset;
        cell.gradient[kind] = gradients ? gradients + offset : NULL;
    }
    return cell;
}

/* The time step that is the number-th for this direction. */
static size_t time_of(const struct cell *cell, size_t number)
{
    return cell->direction ? cell->length - 1 - number : number;
}

/* ---- one time step ---- */

/* `input` and `state` are the sums of the gates, each with its bias; `state` is then the new one.
 */
static void lstm_step(size_t hidden, const double *input, const double *state, double *c, double *h,
                      double *keep)
{
    for (size_t i = 0; i < hidden; i++) {
        double gate[4];
        for (size_t g = 0; g < 4; g++) {
            double sum = input[g * hidden + i] + state[g * hidden + i];
            gate[g] = g == 2 ? tanh(sum) : sigmoid(sum);
            keep[g * hidden + i] = gate[g];
        }
        keep[4 * hidden + i] = c[i];
        c[i] = gate[1] * c[i] + gate[0] * gate[2];
        keep[5 * hidden + i] = c[i];
        h[i] = gate[3] * tanh(c[i]);
    }
}

static void gru_step(size_t hidden, const double *input, const double *state, double *h,
                     double *keep)
{
    for (size_t i = 0; i < hidden; i++) {
        double r = sigmoid(input[i] + state[i]);
        double z = sigmoid(input[hidden + i] + state[hidden + i]);
        double n = tanh(input[2 * hidden + i] + r * state[2 * hidden + i]);
        const double values[] = {r, z, n, state[2 * hidden + i]};
        for (size_t k = 0; k < 4; k++)
            keep[k * hidden + i] = values[k];
        h[i] = (1 - z) * n + z * h[i];
    }
}

/* From dh, the gradient of the state behind the step, those of the sums of the gates; dh and dc
 * become those of the states before it, as far as they do not go through the sums. */
static void lstm_step_back(size_t hidden, const double *keep, double *dh, double *dc, double *sums)
{
    for (size_t i = 0; i < hidden; i++) {
        double in = keep[i], forget = keep[hidden + i], new = keep[2 * hidden + i];
        double out = keep[3 * hidden + i], c = tanh(keep[5 * hidden + i]);
        double d = dc[i] + dh[i] * out * (1 - c * c);
        sums[i] = d * new *in *(1 - in);
        sums[hidden + i] = d * keep[4 * hidden + i] * forget * (1 - forget);
        sums[2 * hidden + i] = d * in * (1 - new *new);
        sums[3 * hidden + i] = dh[i] * c * out * (1 - out);
        dc[i] = d * forget;
        dh[i] = 0;
    }
}

/* The sums with the state differ from those with the input in the last gate. */
static void gru_step_back(size_t hidden, const double *keep, const double *before, double *dh,
                          double *sums, double *state_sums)
{
    for (size_t i = 0; i < hidden; i++) {
        double r = keep[i], z = keep[hidden + i], n = keep[2 * hidden + i];
        double d = dh[i] * (1 - z) * (1 - n * n);
        sums[i] = d * keep[3 * hidden + i] * r * (1 - r);
        sums[hidden + i] = dh[i] * (before[i] - n) * z * (1 - z);
        sums[2 * hidden + i] = d;
        state_sums[i] = sums[i];
        state_sums[hidden + i] = sums[hidden + i];
        state_sums[2 * hidden + i] = d * r;
        dh[i] *= z;
    }
}

/* ---- one direction of one layer ---- */

/* `y` points at this direction's part of the first output, `stride` numbers apart. */
static void cell_forward(const struct cell *cell, const double *x, double *y, size_t stride,
                         double *saved, double *work)
{
    size_t hidden = cell->rnn->hidden, rows = ref_gates(cell->rnn) * hidden;
    double *input = work, *state = work + rows, *h = state + rows, *c = h + hidden;
    memset(h, 0, 2 * hidden * sizeof *h);
    for (size_t number = 0; number < cell->length; number++) {
        size_t t = time_of(cell, number);
        double *keep = saved + t * kept(cell->rnn);
        memcpy(input, cell->matrix[REF_BIAS_IH], rows * sizeof *input);
        memcpy(state, cell->matrix[REF_BIAS_HH], rows * sizeof *state);
        ref_multiply(rows, cell->sees, cell->matrix[REF_WEIGHT_IH], x + t * cell->sees, input);
        ref_multiply(rows, hidden, cell->matrix[REF_WEIGHT_HH], h, state);
        memcpy(keep + kept(cell->rnn) - hidden, h, hidden * sizeof *h);
        if (cell->rnn->gru)
            gru_step(hidden, input, state, h, keep);
        else
            lstm_step(hidden, input, state, c, h, keep);
        memcpy(y + t * stride, h, hidden * sizeof *h);
    }
}

static void cell_backward(const struct cell *cell, const double *x, const double *saved,
                          const double *dy, size_t stride, double *dx, double *work)
{
    size_t hidden = cell->rnn->hidden, rows = ref_gates(cell->rnn) * hidden;
    double *sums = work, *state_sums = cell->rnn->gru ? work + rows : sums;
    double *dh = work + 2 * rows, *dc = dh + hidden;
    memset(dh, 0, 2 * hidden * sizeof *dh);
    for (size_t number = cell->length; number-- > 0;) {
        size_t t = time_of(cell, number);
        const double *keep = saved + t * kept(cell->rnn);
        const double *before = keep + kept(cell->rnn) - hidden;
        add(hidden, dh, 1, dy + t * stride);
        if (cell->rnn->gru)
            gru_step_back(hidden, keep, before, dh, sums, state_sums);
        else
            lstm_step_back(hidden, keep, dh, dc, sums);
        ref_outer(rows, cell->sees, cell->gradient[REF_WEIGHT_IH], sums, x + t * cell->sees);
        ref_outer(rows, hidden, cell->gradient[REF_WEIGHT_HH], state_sums, before);
        add(rows, cell->gradient[REF_BIAS_IH], 1, sums);
        add(rows, cell->gradient[REF_BIAS_HH], 1, state_sums);
        ref_multiply_back(rows, hidden, cell->matrix[REF_WEIGHT_HH], state_sums, dh);
        if (dx)
            ref_multiply_back(rows, cell->sees, cell->matrix[REF_WEIGHT_IH], sums,
                              dx + t * cell->sees);
    }
}

static double *work_memory(const struct ref_rnn *rnn)
{
    return calloc(2 * (ref_gates(rnn) + 1) * rnn->hidden, sizeof(double));
}

/* ---- all layers ---- */

bool ref_rnn_forward(const struct ref_rnn *rnn, const double *weights, size_t length,
                     const double *x, double *y, double *saved)
{
    size_t wide = rnn->directions * rnn->hidden, outputs = length * wide;
    double *work = work_memory(rnn);
    if (!work)
        return false;
    for (size_t number = 0; number < ref_cells(rnn); number++) {
        size_t layer = number / rnn->directions, direction = number % rnn->directions;
        struct cell cell = cell_at(rnn, number, length, weights, NULL);
        double *output = saved + layer * outputs;
        cell_forward(&cell, layer ? output - outputs : x, output + direction * rnn->hidden, wide,
                     saved + rnn->layers * outputs + number * length * kept(rnn), work);
    }
    memcpy(y, saved + (rnn->layers - 1) * outputs, outputs * sizeof *y);
    free(work);
    return true;
}

bool ref_rnn_backward(const struct ref_rnn *rnn, const double *weights, size_t length,
                      const double *x, const double *saved, const double *dy, double *dx,
                      double *gradients)
{
    size_t wide = rnn->directions * rnn->hidden, outputs = length * wide;
    double *work = work_memory(rnn);
    double *above = malloc(outputs * sizeof *above), *below = malloc(outputs * sizeof *below);
    bool fine = work && above && below;
    if (!fine)
        goto out;
    memcpy(above, dy, outputs * sizeof *above);
    if (dx)
        memset(dx, 0, length * rnn->input * sizeof *dx);
    for (size_t layer = rnn->layers; layer-- > 0;) {
        const double *sees = layer ? saved + (layer - 1) * outputs : x;
        memset(below, 0, outputs * sizeof *below);
        for (size_t direction = 0; direction < rnn->directions; direction++) {
            size_t number = layer * rnn->directions + direction;
            struct cell cell = cell_at(rnn, number, length, weights, gradients);
            cell_backward(&cell, sees, saved + rnn->layers * outputs + number * length * kept(rnn),
                          above + direction * rnn->hidden, wide, layer ? below : dx, work);
        }
        double *swap = above;
        above = below;
        below = swap;
    }
out:
    free(work);
    free(above);
    free(below);
    return fine;
}

/* ---- the model of train_step ---- */

/* The cross entropy of one token, and the gradient of its logits in their place. */
static double cross_entropy(size_t count, double *logits, size_t target, double scale)
{
    double most = logits[0], sum = 0;
    for (size_t i = 1; i < count; i++)
        most = logits[i] > most ? logits[i] : most;
    for (size_t i = 0; i < count; i++)
        sum += exp(logits[i] - most);
    double loss = scale * (most + log(sum) - logits[target]);
    for (size_t i = 0; i < count; i++)
        logits[i] = scale * exp(logits[i] - most) / sum;
    logits[target] -= scale;
    return loss;
}

static double *take(double **memory, size_t count)
{
    double *taken = *memory;
    *memory += count;
    return taken;
}

bool ref_model_add(const struct ref_model *model, const struct ref_parameters *parameters,
                   size_t length, const int *tokens, const int *targets, double scale, double *loss,
                   const struct ref_gradients *gradients)
{
    size_t input = model->rnn.input, hidden = model->rnn.hidden, words = model->vocabulary;
    size_t saved = ref_rnn_saved(&model->rnn, length);
    double *memory = calloc(2 * length * (input + hidden) + saved + words, sizeof *memory);
    if (!memory)
        return false;
    double *left = memory, *x = take(&left, length * input), *dx = take(&left, length * input);
    double *y = take(&left, length * hidden), *dy = take(&left, length * hidden);
    double *keep = take(&left, saved), *logits = take(&left, words);
    for (size_t t = 0; t < length; t++)
        memcpy(x + t * input, parameters->embedding + (size_t)tokens[t] * input, input * sizeof *x);
    bool fine = ref_rnn_forward(&model->rnn, parameters->rnn, length, x, y, keep);
    for (size_t t = 0; fine && t < length; t++) {
        memcpy(logits, parameters->bias, words * sizeof *logits);
        ref_multiply(words, hidden, parameters->weight, y + t * hidden, logits);
        *loss += cross_entropy(words, logits, (size_t)targets[t], scale);
        ref_outer(words, hidden, gradients->weight, logits, y + t * hidden);
        add(words, gradients->bias, 1, logits);
        ref_multiply_back(words, hidden, parameters->weight, logits, dy + t * hidden);
    }
    fine = fine &&
           ref_rnn_backward(&model->rnn, parameters->rnn, length, x, keep, dy, dx, gradients->rnn);
    for (size_t t = 0; fine && t < length; t++)
        add(input, gradients->embedding + (size_t)tokens[t] * input, 1, dx + t * input);
    free(memory);
    return fine;
}

void ref_adam(const struct ref_adam *adam, size_t step, size_t count, double *weights,
              const double *gradients, double *first, double *second)
{
    double left1 = 1 - pow(adam->beta1, (double)step), left2 = 1 - pow(adam->beta2, (double)step);
    for (size_t i = 0; i < count; i++) {
        double g = gradients[i];
        first[i] = adam->beta1 * first[i] + (1 - adam->beta1) * g;
        second[i] = adam->beta2 * second[i] + (1 - adam->beta2) * g * g;
        weights[i] -= adam->rate * (first[i] / left1) / (sqrt(second[i] / left2) + adam->epsilon);
    }
}

double ref_difference(const float *got, const double *want, size_t count)
{
    double most = 0, worst = 0;
    for (size_t i = 0; i < count; i++) {
        double difference = fabs((double)got[i] - want[i]);
        if (!isfinite(difference))
            return INFINITY;
        worst = difference > worst ? difference : worst;
        most = fabs(want[i]) > most ? fabs(want[i]) : most;
    }
    return most > 0 ? worst / most : worst;
}

float ref_random(unsigned long long *seed)
{
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return (float)(int)(*seed >> 40) / (float)(1 << 23) - 1;
}
