/*
 * dnn_workspace.h - what cuDNN's graph interface is asked to do, and the workspace that this takes.
 *
 * A piece of work is what the operations of a graph are about: one convolution with its three
 * tensors, or an attention. It is DNN_OTHER where a graph has something else, or more.
 *
 * Invariants: the tensors of a convolution are those of its forward, whichever of the three it is:
 * x what goes in, y what comes out, w the weights, (out, in of a group, kernel...). All have one
 * type and as many dimensions, 3 to 5, and no more elements than a GPU has room for; w has as many
 * out as y has channels, and x has a multiple of its in.
 */
#ifndef TIDEMARK_REHEARSAL_DNN_WORKSPACE_H
#define TIDEMARK_REHEARSAL_DNN_WORKSPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "dnn.h"

#define DNN_ELEMENTS_MAX (INT64_C(1) << 36)
#define DNN_CHANNELS_MAX (INT64_C(1) << 24)

enum dnn_kind {
    DNN_NONE, /* nothing was said yet */
    DNN_FORWARD,
    DNN_BACKWARD_DATA,
    DNN_BACKWARD_FILTER,
    DNN_ATTENTION,
    DNN_OTHER
};

struct dnn_shape {
    int32_t type, dims;
    int64_t size[DNN_DIMS_MAX], stride[DNN_DIMS_MAX];
};

struct dnn_work {
    enum dnn_kind kind;
    struct dnn_shape x, w, y;
    int64_t stride[DNN_DIMS_MAX], dilation[DNN_DIMS_MAX]; /* of the plane; 0 where none was said */
};

bool dnn_is_convolution(const struct dnn_work *work);
/* As a program described it: what is not valid has no rule. */
bool dnn_work_is_valid(const struct dnn_work *work);
/* Whether such work was measured on a GPU of this capability's first number, or a later one. */
bool dnn_work_is_measured(const struct dnn_work *work, int32_t capability);
/* On a GPU of this capability's first number with so many multiprocessors. False: no rule is known,
 * and `bytes` is 0. */
bool dnn_workspace(const struct dnn_work *work, int32_t capability, int32_t sms, int64_t *bytes);

#endif
