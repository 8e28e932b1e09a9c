/*
 * dnn_asked.h - for tests: cuDNN's graph interface as PyTorch asks it for a convolution's
 * workspace: descriptors that are destroyed once they are part of the next one, a heuristic or an
 * engine, a plan.
 */
#ifndef TIDEMARK_TESTS_REHEARSAL_DNN_ASKED_H
#define TIDEMARK_TESTS_REHEARSAL_DNN_ASKED_H

#include <stdint.h>
#include <stdio.h>

#include "stand_in.h"

#define DIMS_MAX 5

enum { FLOAT = 0, DOUBLE = 1, HALF = 2, BRAIN = 9 };
enum { FORWARD = 10, WEIGHTS = 11, DATA = 12 }; /* kinds of operations */
enum { CONVOLUTION = 1, ENGINE, CONFIG, HEURISTIC, PLAN, GRAPH = 15, TENSOR = 17, MATMUL = 19 };
enum { OF_INT64 = 3, OF_TYPE = 1, OF_DESCRIPTOR = 15 }; /* types of attributes */

struct measured {
    int kind, type, last, dims;
    int64_t x[DIMS_MAX], w[DIMS_MAX], y[DIMS_MAX];
    int64_t bytes;
};

static char told[64]; /* the last of what a recorder would be told */

__attribute__((visibility("default"))) void tidemark_stand_in_read(const char *what);

void tidemark_stand_in_read(const char *what)
{
    snprintf(told, sizeof told, "%s", what);
}

static inline void *make(int kind)
{
    void *made = NULL;
    CHECK_INT(CALL(int, cudnnBackendCreateDescriptor, (int, void **), (kind, &made)), 0);
    REQUIRE(made != NULL);
    return made;
}

static inline void destroy(void *descriptor)
{
    CHECK_INT(CALL(int, cudnnBackendDestroyDescriptor, (void *), (descriptor)), 0);
}

static inline void set(void *descriptor, int name, int type, int64_t count, const void *elements)
{
    CHECK_INT(CALL(int, cudnnBackendSetAttribute, (void *, int, int, int64_t, const void *),
                   (descriptor, name, type, count, elements)),
              0);
}

/* `part` goes into `whole`, and is not needed afterwards. */
static inline void put(void *whole, int name, void *part)
{
    set(whole, name, OF_DESCRIPTOR, 1, &part);
    destroy(part);
}

static inline void *tensor(int type, int last, int dims, const int64_t *size)
{
    int64_t stride[DIMS_MAX], n = 1;
    for (int i = dims - 1; i > 0; i--) { /* channels of last come first of all, the others then */
        if (i == 1 && last)
            break;
        stride[i] = last ? n * size[1] : n;
        n *= size[i];
    }
    stride[0] = last ? n * size[1] : n;
    if (last)
        stride[1] = 1;
    void *made = make(TENSOR);
    set(made, 901, OF_TYPE, 1, &type);
    set(made, 902, OF_INT64, dims, size);
    set(made, 903, OF_INT64, dims, stride);
    return made;
}

static inline void *convolution(int64_t stride, int dims)
{
    const int64_t strides[] = {stride, stride, stride}, ones[] = {1, 1, 1};
    void *made = make(CONVOLUTION);
    set(made, 102, OF_INT64, dims - 2, ones);
    set(made, 103, OF_INT64, dims - 2, strides);
    return made;
}

static inline void *graph_of_stride(const struct measured *row, int64_t stride)
{
    /* w, x, y of the three operations; the convolution is before them */
    int first = row->kind == FORWARD ? 703 : row->kind == DATA ? 709 : 715;
    void *operation = make(row->kind), *graph = make(GRAPH);
    if (stride)
        put(operation, first - 1, convolution(stride, row->dims));
    put(operation, first, tensor(row->type, row->last, row->dims, row->w));
    put(operation, first + 1, tensor(row->type, row->last, row->dims, row->x));
    put(operation, first + 2, tensor(row->type, row->last, row->dims, row->y));
    put(graph, 801, operation);
    return graph;
}

static inline void *graph_of(const struct measured *row)
{
    return graph_of_stride(row, 0);
}

static inline int64_t get(void *descriptor, int name, int type, void *brought)
{
    int64_t count = 0, value = -1;
    void *to = type == OF_DESCRIPTOR ? (void *)&brought : &value;
    CHECK_INT(CALL(int, cudnnBackendGetAttribute, (void *, int, int, int64_t, int64_t *, void *),
                   (descriptor, name, type, 1, &count, to)),
              0);
    CHECK_INT(count, 1);
    return value;
}

static inline void *from_heuristic_of(void *graph, int mode)
{
    void *heuristic = make(HEURISTIC), *config = make(CONFIG);
    set(heuristic, 200, 8, 1, &mode);
    put(heuristic, 201, graph);
    get(heuristic, 202, OF_DESCRIPTOR, config);
    destroy(heuristic);
    return config;
}

static inline void *from_heuristic(void *graph)
{
    return from_heuristic_of(graph, 0);
}

static inline void *from_engine(void *graph)
{
    void *engine = make(ENGINE), *config = make(CONFIG);
    int64_t index = 0;
    put(engine, 1300, graph);
    set(engine, 1301, OF_INT64, 1, &index);
    put(config, 300, engine);
    return config;
}

static inline int64_t workspace_of(void *config)
{
    void *plan = make(PLAN);
    put(plan, 401, config);
    int64_t bytes = get(plan, 402, OF_INT64, NULL);
    destroy(plan);
    return bytes;
}

#endif
