/*
 * buckets.h - into which buckets gradients go that are sent to other ranks, and the arithmetic of
 * the model of ddp_buckets on the CPU: linear layers, mean squared error, gradient descent.
 *
 * Tensor number 2 * layer is a weight [width][width], number 2 * layer + 1 its bias. Gradients come
 * last tensor first. A bucket takes tensors in that order until it has at least as many bytes as
 * its cap, so the tensor that fills it may exceed the cap; no tensor is cut.
 */
#ifndef SAMPLES_CUDA_BUCKETS_H
#define SAMPLES_CUDA_BUCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BUCKETS_LAYERS_MOST = 256, BUCKETS_TENSORS_MOST = 2 * BUCKETS_LAYERS_MOST };

struct bucket {
    size_t first, last; /* tensors, first >= last: they come in falling order */
    uint64_t bytes;
};

/* Invariant: the buckets have each tensor once, in falling order; offsets fill them exactly. */
struct bucket_plan {
    size_t tensor_count, count;
    uint64_t tensor_bytes[BUCKETS_TENSORS_MOST];
    uint64_t offset[BUCKETS_TENSORS_MOST]; /* bytes, in its bucket */
    size_t bucket_of[BUCKETS_TENSORS_MOST];
    struct bucket bucket[BUCKETS_TENSORS_MOST];
};

/* The first bucket is closed at `first_cap` bytes, the others at `cap`. */
void buckets_plan(struct bucket_plan *plan, size_t layers, size_t width, uint64_t first_cap,
                  uint64_t cap);
bool buckets_is_valid(const struct bucket_plan *plan);
uint64_t buckets_total(const struct bucket_plan *plan);

/* The model, in double. Weights and gradients are all tensors one behind the other. */
size_t mlp_offset(size_t width, size_t tensor);
size_t mlp_count(size_t layers, size_t width);
/* The loss, the mean of all squared differences of `rows` rows; adds scale * its gradients. False
 * without memory. */
bool mlp_gradients(size_t layers, size_t width, size_t rows, const double *weights,
                   const double *given, const double *wanted, double scale, double *loss,
                   double *gradients);

#endif
