/* buckets.c - see buckets.h. */
#include "buckets.h"

#include "reference.h"

#include <stdlib.h>
#include <string.h>

/* ---- the plan ---- */

void buckets_plan(struct bucket_plan *plan, size_t layers, size_t width, uint64_t first_cap,
                  uint64_t cap)
{
    bool open = false;
    *plan = (struct bucket_plan){.tensor_count = 2 * layers};
    for (size_t tensor = plan->tensor_count; tensor-- > 0;) {
        uint64_t bytes = sizeof(float) * (tensor % 2 ? width : width * width);
        if (!open)
            plan->bucket[plan->count++].first = tensor;
        struct bucket *bucket = &plan->bucket[plan->count - 1];
        plan->tensor_bytes[tensor] = bytes;
        plan->bucket_of[tensor] = plan->count - 1;
        plan->offset[tensor] = bucket->bytes;
        bucket->bytes += bytes;
        bucket->last = tensor;
        open = bucket->bytes < (plan->count == 1 ? first_cap : cap);
    }
}

bool buckets_is_valid(const struct bucket_plan *plan)
{
    size_t next = plan->tensor_count;
    for (size_t i = 0; i < plan->count; i++) {
        const struct bucket *bucket = &plan->bucket[i];
        uint64_t bytes = 0;
        if (bucket->first + 1 != next || bucket->last > bucket->first)
            return false;
        for (size_t tensor = bucket->first + 1; tensor-- > bucket->last;) {
            if (plan->bucket_of[tensor] != i || plan->offset[tensor] != bytes)
                return false;
            bytes += plan->tensor_bytes[tensor];
        }
        if (bytes != bucket->bytes)
            return false;
        next = bucket->last;
    }
    return next == 0;
}

uint64_t buckets_total(const struct bucket_plan *plan)
{
    uint64_t total = 0;
    for (size_t i = 0; i < plan->count; i++)
        total += plan->bucket[i].bytes;
    return total;
}

/* ---- the model on the CPU ---- */

size_t mlp_offset(size_t width, size_t tensor)
{
    return tensor / 2 * (width * width + width) + tensor % 2 * width * width;
}

size_t mlp_count(size_t layers, size_t width)
{
    return mlp_offset(width, 2 * layers);
}

/* values [layers + 1][width]: what each layer is given, and the answer. */
static void forward_row(size_t layers, size_t width, const double *weights, double *values)
{
    for (size_t layer = 0; layer < layers; layer++) {
        double *answer = values + (layer + 1) * width;
        memcpy(answer, weights + mlp_offset(width, 2 * layer + 1), width * sizeof *answer);
        ref_multiply(width, width, weights + mlp_offset(width, 2 * layer), values + layer * width,
                     answer);
    }
}

/* `change` is the gradient of the answer; `below` has as much room. */
static void backward_row(size_t layers, size_t width, const double *weights, const double *values,
                         double *change, double *below, double *gradients)
{
    for (size_t layer = layers; layer-- > 0;) {
        double *bias = gradients + mlp_offset(width, 2 * layer + 1);
        ref_outer(width, width, gradients + mlp_offset(width, 2 * layer), change,
                  values + layer * width);
        for (size_t i = 0; i < width; i++)
            bias[i] += change[i];
        memset(below, 0, width * sizeof *below);
        ref_multiply_back(width, width, weights + mlp_offset(width, 2 * layer), change, below);
        double *swap = change;
        change = below;
        below = swap;
    }
}

bool mlp_gradients(size_t layers, size_t width, size_t rows, const double *weights,
                   const double *given, const double *wanted, double scale, double *loss,
                   double *gradients)
{
    double *values = calloc((layers + 3) * width, sizeof *values);
    if (!values)
        return false;
    const double *answer = values + layers * width;
    double *change = values + (layers + 1) * width, *below = change + width;
    double count = (double)(rows * width);
    for (size_t row = 0; row < rows; row++) {
        memcpy(values, given + row * width, width * sizeof *values);
        forward_row(layers, width, weights, values);
        for (size_t i = 0; i < width; i++) {
            double difference = answer[i] - wanted[row * width + i];
            *loss += difference * difference / count;
            change[i] = scale * 2 * difference / count;
        }
        backward_row(layers, width, weights, values, change, below, gradients);
    }
    free(values);
    return true;
}
