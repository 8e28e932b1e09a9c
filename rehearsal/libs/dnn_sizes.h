/*
 * dnn_sizes.h - what the models of cuDNN's workspaces count: sizes of a convolution's three
 * tensors. Products of them do not overflow for work that dnn_work_is_valid.
 */
#ifndef TIDEMARK_REHEARSAL_DNN_SIZES_H
#define TIDEMARK_REHEARSAL_DNN_SIZES_H

#include "dnn_workspace.h"

#define DNN_VECTOR 16 /* bytes that a kernel reads at once, and those beside the copies */

static inline int64_t dnn_up(int64_t n, int64_t step)
{
    return (n + step - 1) / step * step;
}

/* Of a plane, or of a kernel. */
static inline int64_t dnn_positions(const struct dnn_shape *shape)
{
    int64_t n = 1;
    for (int32_t i = 2; i < shape->dims; i++)
        n *= shape->size[i];
    return n;
}

static inline bool dnn_is_last(const struct dnn_shape *shape)
{
    return dnn_positions(shape) == 1 || (shape->stride[1] == 1 && shape->size[1] > 1);
}

static inline int64_t dnn_batch(const struct dnn_work *work)
{
    return work->x.size[0];
}

static inline int64_t dnn_channels(const struct dnn_work *work)
{
    return work->x.size[1];
}

static inline int64_t dnn_outputs(const struct dnn_work *work)
{
    return work->w.size[0];
}

static inline int64_t dnn_groups(const struct dnn_work *work)
{
    return dnn_channels(work) / work->w.size[1];
}

static inline bool dnn_is_float(const struct dnn_work *work)
{
    return work->x.type == DNN_FLOAT;
}

static inline int64_t dnn_width_of(const struct dnn_work *work)
{
    return (int64_t)dnn_width(work->x.type);
}

static inline bool dnn_is_pointwise(const struct dnn_work *work)
{
    return dnn_positions(&work->w) == 1;
}

/* How many are added up for each element of the weights' gradient. */
static inline int64_t dnn_summed(const struct dnn_work *work)
{
    return work->y.size[0] * dnn_positions(&work->y);
}

static inline int64_t dnn_smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t dnn_larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t dnn_elements(const struct dnn_shape *shape)
{
    return shape->size[0] * shape->size[1] * dnn_positions(shape);
}

/* Of a single position both layouts are the same. */
static inline bool dnn_has_channels_last(const struct dnn_work *work)
{
    return dnn_positions(&work->x) > 1 && dnn_is_last(&work->x);
}

static inline double dnn_operations(const struct dnn_work *work)
{
    return 2.0 * (double)dnn_elements(&work->w) * (double)dnn_summed(work);
}

/* A number of all dimensions; 0: they differ. */
static inline int64_t dnn_one_of(const int64_t *of, int32_t dims)
{
    for (int32_t i = 1; i < dims - 2; i++)
        if (of[i] != of[0])
            return 0;
    return dnn_larger(of[0], 1);
}

static inline int64_t dnn_stride(const struct dnn_work *work)
{
    return dnn_one_of(work->stride, work->x.dims);
}

#endif
