/*
 * dnn.h - cuDNN's descriptors, as far as they decide sizes. One struct serves all kinds of them: a
 * program makes few, and what reads one knows its kind.
 */
#ifndef TIDEMARK_REHEARSAL_DNN_H
#define TIDEMARK_REHEARSAL_DNN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNN_DIMS_MAX 8

enum dnn_result { DNN_FINE = 0, DNN_NO_MEMORY = 4000, DNN_BAD_VALUE = 2000 };

/* cudnnDataType_t: float, and those that are not four bytes wide. */
enum dnn_type {
    DNN_FLOAT = 0,
    DNN_DOUBLE = 1,
    DNN_HALF = 2,
    DNN_INT8 = 3,
    DNN_UINT8 = 6,
    DNN_BFLOAT16 = 9,
    DNN_INT64 = 10,
    DNN_BOOLEAN = 11,
    DNN_FP8_E4M3 = 12,
    DNN_FP8_E5M2 = 13
};

struct dnn_tensor {
    int32_t type, dims;
    int32_t size[DNN_DIMS_MAX], stride[DNN_DIMS_MAX];
};

struct dnn_rnn {
    int32_t mode; /* 0 relu, 1 tanh, 2 LSTM, 3 GRU */
    int32_t bias; /* 0 none, 1 of the input, 2 both, 3 of the recurrence */
    int32_t two_ways, type;
    int32_t input, hidden, projected, layers;
    int32_t algorithm; /* 0 standard; the others keep the weights near, and none has bfloat16 */
    bool drops;        /* a dropout of more than 0 */
    bool padded;       /* sequences of different lengths may come, each padded to the longest */
};

struct dnn_sequence {
    int32_t type, longest, batch, vector;
    int64_t tokens;
};

struct dnn_descriptor {
    union {
        struct dnn_tensor tensor;
        struct dnn_rnn rnn;
        struct dnn_sequence sequence;
        float dropout;
    };
};

/* cudnnCreateXDescriptor: cuDNN 9's numbers for what went wrong. */
int dnn_new(void **descriptor);
size_t dnn_width(int32_t type);

#endif
