/*
 * dnn_backend.c - cuDNN's graph interface: descriptors that are stores of attributes, and one
 * engine that takes every graph.
 *
 * An attribute that a program set is handed back as it was set. What only cuDNN can say of an
 * engine, a heuristic or a plan is answered here; anything else was never set, and has no elements.
 *
 * What a plan is for goes up with the descriptors, when one is set as an attribute of the next:
 * tensor, operation, graph, engine or heuristic, configuration, plan. Each keeps a copy, as a
 * program may destroy a descriptor once it is part of another one.
 */
#include "device.h"
#include "dnn.h"
#include "dnn_trials.h"
#include "stream.h"
#include "stub.h"

/* cudnnBackendDescriptorType_t, those whose kind says what is done. */
enum kind {
    KIND_FORWARD = 10,
    KIND_BACKWARD_FILTER = 11,
    KIND_BACKWARD_DATA = 12,
    KIND_MATMUL = 19,
    KIND_ATTENTION = 41,
    KIND_ATTENTION_BACKWARD = 43
};

/* cudnnBackendAttributeName_t, those that say what is done. */
enum said {
    DILATIONS = 102,
    STRIDES = 103,
    HEURISTIC_MODE = 200,
    GRAPH_OF_HEURISTIC = 201,
    ENGINE_OF_CONFIG = 300,
    CONFIG_OF_PLAN = 401,
    FORWARD_CONVOLUTION = 702,
    FORWARD_W = 703,
    FORWARD_X = 704,
    FORWARD_Y = 705,
    BACKWARD_DATA_CONVOLUTION = 708,
    BACKWARD_DATA_W = 709,
    BACKWARD_DATA_X = 710,
    BACKWARD_DATA_Y = 711,
    BACKWARD_FILTER_CONVOLUTION = 714,
    BACKWARD_FILTER_W = 715,
    BACKWARD_FILTER_X = 716,
    BACKWARD_FILTER_Y = 717,
    OPERATIONS = 801,
    TENSOR_TYPE = 901,
    TENSOR_SIZES = 902,
    TENSOR_STRIDES = 903,
    GRAPH_OF_ENGINE = 1300
};

/* Those that cuDNN itself answers. */
enum answer {
    HEURISTIC_RESULTS = 202,
    CONFIG_ENGINE = 300,
    CONFIG_WORKSPACE = 303,
    CONFIG_SHARED = 304,
    PLAN_WORKSPACE = 402,
    PLAN_JSON = 405,
    GRAPH_ENGINES = 802,
    ENGINE_INDEX = 1301
};

#define MODE_FALLBACK 2 /* cudnnBackendHeurMode_t */

/* The engines of a convolution: what the heuristics choose, and what there is to fall back to, the
 * one that wants most and one that wants nothing. A program that tries all out asks for as much as
 * the largest wants for which there is room, and keeps the one that takes least time. */
enum engine { ENGINE_CHOSEN, ENGINE_LARGEST, ENGINE_SPARING, ENGINE_LAST };
#define FALLBACKS 2
#define SLOW_NS 1000000000 /* more than the host takes between two events */

/* cudnnBackendAttributeType_t, those that are not four bytes wide. */
enum type {
    TYPE_HANDLE = 0,
    TYPE_BOOLEAN = 2,
    TYPE_INT64 = 3,
    TYPE_DOUBLE = 5,
    TYPE_POINTER = 6,
    TYPE_DESCRIPTOR = 15,
    TYPE_CHAR = 24,
    TYPE_FRACTION = 26
};

struct attribute {
    int32_t name;
    int64_t count;
    size_t width;
    void *elements;
};

#define ATTRIBUTES_MAX 96

struct backend {
    int32_t kind;
    int32_t mode;           /* of a heuristic */
    enum engine engine;     /* of an engine, a configuration, a plan */
    struct dnn_shape shape; /* of a tensor */
    struct dnn_work work;   /* of all others */
    size_t count;
    struct attribute list[ATTRIBUTES_MAX];
};

static size_t width_of(int32_t type)
{
    switch ((enum type)type) {
    case TYPE_HANDLE:
    case TYPE_INT64:
    case TYPE_DOUBLE:
    case TYPE_POINTER:
    case TYPE_DESCRIPTOR:
    case TYPE_FRACTION:
        return 8;
    case TYPE_BOOLEAN:
    case TYPE_CHAR:
        return 1;
    default:
        return 4;
    }
}

static struct attribute *find(struct backend *backend, int32_t name)
{
    for (size_t i = 0; i < backend->count; i++)
        if (backend->list[i].name == name)
            return &backend->list[i];
    return NULL;
}

static enum dnn_kind done_by(int32_t kind)
{
    switch ((enum kind)kind) {
    case KIND_FORWARD:
        return DNN_FORWARD;
    case KIND_BACKWARD_DATA:
        return DNN_BACKWARD_DATA;
    case KIND_BACKWARD_FILTER:
        return DNN_BACKWARD_FILTER;
    case KIND_ATTENTION:
    case KIND_ATTENTION_BACKWARD:
        return DNN_ATTENTION;
    default:
        return DNN_NONE;
    }
}

API(int, cudnnBackendCreateDescriptor, int kind, struct backend **backend)
{
    *backend = calloc(1, sizeof **backend);
    if (!*backend)
        return DNN_NO_MEMORY;
    (*backend)->kind = kind;
    (*backend)->work.kind = done_by(kind);
    return DNN_FINE;
}

API(int, cudnnBackendDestroyDescriptor, struct backend *backend)
{
    for (size_t i = 0; backend && i < backend->count; i++)
        free(backend->list[i].elements);
    free(backend);
    return DNN_FINE;
}

/* An attention is an operation of its own, or two products with what is between them. */
static bool is_attention(struct backend *const *operations, int64_t count)
{
    int64_t products = 0;
    for (int64_t i = 0; i < count; i++) {
        if (operations[i]->work.kind == DNN_ATTENTION)
            return true;
        products += operations[i]->kind == KIND_MATMUL;
    }
    return products > 1;
}

static void graph_of(struct dnn_work *work, struct backend *const *operations, int64_t count)
{
    *work = (struct dnn_work){.kind = DNN_OTHER};
    if (is_attention(operations, count))
        work->kind = DNN_ATTENTION;
    else if (count == 1)
        *work = operations[0]->work;
}

static void longs(int64_t to[DNN_DIMS_MAX], const void *elements, int64_t count)
{
    if (count <= DNN_DIMS_MAX)
        memcpy(to, elements, (size_t)count * sizeof *to);
}

static void learn_tensor(struct dnn_shape *shape, int32_t name, int64_t count, const void *elements)
{
    if (name == TENSOR_TYPE)
        memcpy(&shape->type, elements, sizeof shape->type);
    else if (name == TENSOR_STRIDES)
        longs(shape->stride, elements, count);
    else if (name == TENSOR_SIZES) {
        shape->dims = (int32_t)(count <= DNN_DIMS_MAX ? count : 0);
        longs(shape->size, elements, count);
    }
}

/* What this attribute, with an element at least, says of what is done. */
static void learn(struct backend *backend, int32_t name, int64_t count, const void *elements)
{
    struct backend *const *of = elements;
    switch ((enum said)name) {
    case FORWARD_X:
    case BACKWARD_DATA_X:
    case BACKWARD_FILTER_X:
        backend->work.x = of[0]->shape;
        break;
    case FORWARD_W:
    case BACKWARD_DATA_W:
    case BACKWARD_FILTER_W:
        backend->work.w = of[0]->shape;
        break;
    case FORWARD_Y:
    case BACKWARD_DATA_Y:
    case BACKWARD_FILTER_Y:
        backend->work.y = of[0]->shape;
        break;
    case FORWARD_CONVOLUTION:
    case BACKWARD_DATA_CONVOLUTION:
    case BACKWARD_FILTER_CONVOLUTION:
        memcpy(backend->work.stride, of[0]->work.stride, sizeof backend->work.stride);
        memcpy(backend->work.dilation, of[0]->work.dilation, sizeof backend->work.dilation);
        break;
    case STRIDES:
        longs(backend->work.stride, elements, count);
        break;
    case DILATIONS:
        longs(backend->work.dilation, elements, count);
        break;
    case OPERATIONS:
        graph_of(&backend->work, of, count);
        break;
    case GRAPH_OF_HEURISTIC:
    case GRAPH_OF_ENGINE:
    case ENGINE_OF_CONFIG:
    case CONFIG_OF_PLAN:
        backend->work = of[0]->work;
        backend->engine = of[0]->engine;
        break;
    case TENSOR_TYPE:
    case TENSOR_SIZES:
    case TENSOR_STRIDES:
        learn_tensor(&backend->shape, name, count, elements);
        break;
    case HEURISTIC_MODE:
        memcpy(&backend->mode, elements, sizeof backend->mode);
    }
}

API(int, cudnnBackendSetAttribute, struct backend *backend, int32_t name, int32_t type,
    int64_t count, const void *elements)
{
    struct attribute *attribute = find(backend, name);
    if (count < 0 || (!attribute && backend->count == ATTRIBUTES_MAX))
        return DNN_BAD_VALUE;
    size_t width = width_of(type);
    void *copy = calloc((size_t)count + 1, width);
    if (!copy)
        return DNN_NO_MEMORY;
    if (elements)
        memcpy(copy, elements, (size_t)count * width);
    if (!attribute)
        attribute = &backend->list[backend->count++];
    free(attribute->elements);
    *attribute = (struct attribute){name, count, width, copy};
    if (count && elements)
        learn(backend, name, count, elements);
    return DNN_FINE;
}

/* One element of that value. */
static int answer(int64_t *count, void *elements, int64_t wanted, int64_t value, size_t width)
{
    if (count)
        *count = 1;
    if (elements && wanted > 0)
        memcpy(elements, &value, width); /* little-endian */
    return DNN_FINE;
}

static int answer_text(int64_t *count, char *elements, int64_t wanted, const char *text)
{
    size_t bytes = strlen(text) + 1;
    if (count)
        *count = (int64_t)bytes;
    if (elements && wanted > 0)
        memcpy(elements, text, bytes < (size_t)wanted ? bytes : (size_t)wanted);
    return DNN_FINE;
}

/* A descriptor that the program brings to be filled. */
static int fill(const struct backend *from, int64_t *count, struct backend *const *brought,
                int64_t wanted)
{
    if (brought && wanted > 0 && brought[0]) {
        brought[0]->work = from->work;
        brought[0]->engine = from->engine;
    }
    return answer(count, NULL, 0, 0, 0);
}

/* Whether a plan was asked since the heuristics were. A program that tries all out asks for every
 * engine before it makes the first plan; another one falls back where a plan's workspace was
 * refused, and then there is the one that wants nothing. */
static _Thread_local bool planned;

static int fall_back(const struct backend *from, int64_t *count, struct backend *const *brought,
                     int64_t wanted)
{
    static const enum engine tried[] = {ENGINE_LARGEST, ENGINE_SPARING};
    int64_t n = planned ? 1 : FALLBACKS;
    if (brought && wanted < n)
        n = wanted;
    for (int64_t i = 0; brought && i < n; i++) {
        if (!brought[i])
            continue;
        brought[i]->work = from->work;
        brought[i]->engine = planned ? ENGINE_LAST : tried[i];
    }
    if (count)
        *count = n;
    return DNN_FINE;
}

static int results(const struct backend *heuristic, int64_t *count, struct backend *const *brought,
                   int64_t wanted)
{
    if (heuristic->mode == MODE_FALLBACK && dnn_is_convolution(&heuristic->work))
        return fall_back(heuristic, count, brought, wanted);
    planned = false;
    return fill(heuristic, count, brought, wanted);
}

/* What the rules do not cover is told as not known. */
static int64_t workspace(const struct backend *plan)
{
    const struct profile *gpu = device_profile();
    int32_t capability = gpu->capability ? gpu->capability->major : 0;
    int64_t bytes = 0;
    planned = true;
    switch (plan->engine) {
    case ENGINE_CHOSEN:
        if (dnn_workspace(&plan->work, capability, gpu->sms, &bytes))
            read_modelled("cudnn graph");
        else
            read_library("cudnn graph");
        break;
    case ENGINE_LARGEST:
        if (dnn_trial_workspace(&plan->work, capability, gpu->sms, &bytes))
            read_modelled("cudnn.benchmark trials");
        else
            read_library("cudnn.benchmark trials");
        break;
    case ENGINE_SPARING:
    case ENGINE_LAST:
        break;
    }
    return bytes;
}

API(int, cudnnBackendGetAttribute, struct backend *backend, int32_t name, int32_t type,
    int64_t wanted, int64_t *count, void *elements)
{
    switch ((enum answer)name) {
    case HEURISTIC_RESULTS:
        return results(backend, count, elements, wanted);
    case CONFIG_ENGINE:
        return fill(backend, count, elements, wanted);
    case GRAPH_ENGINES:
        return answer(count, elements, wanted, 1, 8);
    case PLAN_WORKSPACE:
        return answer(count, elements, wanted, workspace(backend), 8);
    case ENGINE_INDEX:
    case CONFIG_WORKSPACE:
        return answer(count, elements, wanted, 0, 8);
    case CONFIG_SHARED:
        return answer(count, elements, wanted, 0, width_of(type));
    case PLAN_JSON:
        return answer_text(count, elements, wanted, "{}");
    }
    const struct attribute *attribute = find(backend, name);
    int64_t n = attribute ? attribute->count : 0;
    if (count)
        *count = n;
    if (elements && n > 0)
        memcpy(elements, attribute->elements, (size_t)(n < wanted ? n : wanted) * attribute->width);
    return DNN_FINE;
}

/* What the pack of addresses leads to may be written. */
API(int, cudnnBackendExecute, void *handle, struct backend *plan, struct backend *pack)
{
    (void)handle;
    if (plan && (plan->engine == ENGINE_LARGEST || plan->engine == ENGINE_SPARING))
        event_take(SLOW_NS); /* so that the chosen one is kept */
    for (size_t i = 0; pack && i < pack->count; i++)
        if (pack->list[i].width == sizeof(uint64_t))
            values_forget_led_to(pack->list[i].elements, (uint32_t)pack->list[i].count);
    return DNN_FINE;
}
