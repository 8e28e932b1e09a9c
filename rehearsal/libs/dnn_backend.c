/*
 * dnn_backend.c - cuDNN's graph interface: descriptors that are stores of attributes, and one engine
 * that takes every graph and wants no workspace.
 *
 * An attribute that a program set is handed back as it was set. What only cuDNN can say of an
 * engine, a heuristic or a plan is answered here; anything else was never set, and has no elements.
 */
#include "dnn.h"
#include "stub.h"

/* cudnnBackendAttributeName_t, those that cuDNN itself answers. */
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

API(int, cudnnBackendCreateDescriptor, int kind, struct backend **backend)
{
    (void)kind;
    *backend = calloc(1, sizeof **backend);
    return *backend ? DNN_FINE : DNN_NO_MEMORY;
}

API(int, cudnnBackendDestroyDescriptor, struct backend *backend)
{
    for (size_t i = 0; backend && i < backend->count; i++)
        free(backend->list[i].elements);
    free(backend);
    return DNN_FINE;
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

API(int, cudnnBackendGetAttribute, struct backend *backend, int32_t name, int32_t type,
    int64_t wanted, int64_t *count, void *elements)
{
    switch ((enum answer)name) {
    case HEURISTIC_RESULTS: /* the program brings descriptors to be filled, and one is */
    case CONFIG_ENGINE:
        return answer(count, NULL, 0, 0, 0);
    case GRAPH_ENGINES:
        return answer(count, elements, wanted, 1, 8);
    case PLAN_WORKSPACE:
        read_library("cudnn graph");
        return answer(count, elements, wanted, 0, 8);
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
        memcpy(elements, attribute->elements,
               (size_t)(n < wanted ? n : wanted) * attribute->width);
    return DNN_FINE;
}

/* What the pack of addresses leads to may be written. */
API(int, cudnnBackendExecute, void *handle, void *plan, struct backend *pack)
{
    (void)handle, (void)plan;
    for (size_t i = 0; pack && i < pack->count; i++)
        if (pack->list[i].width == sizeof(uint64_t))
            values_forget_led_to(pack->list[i].elements, (uint32_t)pack->list[i].count);
    return DNN_FINE;
}
