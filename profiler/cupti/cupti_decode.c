/*
 * cupti_decode.c - see cupti_decode.h.
 *
 * The parameters of a call are a struct with its arguments in the order of their declaration. All
 * that is read stands at a multiple of 8 bytes, but for the narrow numbers of CUDA's first
 * versions: so parameter n of 8 bytes is at 8 n, and copied from there.
 */
#include "cupti_decode.h"

#include <stddef.h>
#include <string.h>

#include "cupti_abi.h"
#include "cupti_device.h"
#include "event.h"
#include "intern.h"

static uint64_t word_at(const void *params, size_t at)
{
    uint64_t word;
    memcpy(&word, (const char *)params + at, sizeof word);
    return word;
}

static uint32_t half_at(const void *params, size_t at)
{
    uint32_t half;
    memcpy(&half, (const char *)params + at, sizeof half);
    return half;
}

static const void *pointer_at(const void *params, size_t at)
{
    return (const void *)(uintptr_t)word_at(params, at);
}

/* The value that a call stored where its first parameter points; 0: nowhere. */
static uint64_t given_by(const struct call *call, const void *params)
{
    const void *out = pointer_at(params, 0);
    if (!out)
        return 0;
    return call->narrow ? half_at(out, 0) : word_at(out, 0);
}

static uint64_t input_of(const struct call *call, const void *params)
{
    return call->narrow ? half_at(params, 0) : word_at(params, 0);
}

/* ---- sizes ---- */

/* Bytes of one channel of an element; 0: the format is packed otherwise. */
static uint64_t channel_bytes(uint32_t format)
{
    switch (format) {
    case 0x01: /* 8 bits, unsigned and signed */
    case 0x08:
        return 1;
    case 0x02: /* 16 bits; half */
    case 0x09:
    case 0x10:
        return 2;
    case 0x03: /* 32 bits; float */
    case 0x0a:
    case 0x20:
        return 4;
    default:
        return 0;
    }
}

/* Bytes of a whole element of the normalized formats, whose channels are in their name: 1, 2, 4 of
 * 8 bits, then of 16 bits, unsigned and then signed. */
static uint64_t normalized_bytes(uint32_t format)
{
    static const uint8_t bytes[] = {1, 2, 4, 2, 4, 8};
    return format >= 0xc0 && format <= 0xcb ? bytes[(format - 0xc0) % 6] : 0;
}

/* Bytes of a block of 4 x 4 elements of the compressed formats. */
static uint64_t block_bytes(uint32_t format)
{
    if (format < 0x91 || format > 0x9e)
        return 0;
    return format <= 0x92 || format == 0x97 || format == 0x98 ? 8 : 16;
}

uint64_t decode_array_bytes(uint64_t width, uint64_t height, uint64_t depth, uint32_t format,
                            uint32_t channels)
{
    height = height ? height : 1;
    depth = depth ? depth : 1;
    if (block_bytes(format))
        return (width + 3) / 4 * ((height + 3) / 4) * depth * block_bytes(format);
    uint64_t element = normalized_bytes(format);
    if (!element)
        element = channel_bytes(format) * channels;
    return width * height * depth * element;
}

/* All levels of a mipmapped array; layers do not shrink with the level. */
static uint64_t levels_bytes(const struct abi_array3d *array, uint32_t levels)
{
    uint64_t bytes = 0;
    if (array->flags & (ABI_ARRAY_SPARSE | ABI_ARRAY_DEFERRED))
        return 0; /* memory is mapped into it later */
    for (uint32_t i = 0; i < levels && i < 32; i++) {
        uint64_t width = array->width >> i, height = array->height >> i;
        uint64_t depth = array->flags & ABI_ARRAY_LAYERED ? array->depth : array->depth >> i;
        bytes +=
            decode_array_bytes(width ? width : 1, height, depth, array->format, array->channels);
    }
    return bytes;
}

static uint64_t bytes_of_array(const struct call *call, const void *params)
{
    struct abi_array flat;
    struct abi_array3d array;
    const void *descriptor = pointer_at(params, 8);
    if (!descriptor)
        return 0;
    if (call->size == SIZE_ARRAY) {
        memcpy(&flat, descriptor, sizeof flat);
        return decode_array_bytes(flat.width, flat.height, 0, flat.format, flat.channels);
    }
    memcpy(&array, descriptor, sizeof array);
    return levels_bytes(&array, call->size == SIZE_MIPMAP ? half_at(params, 16) : 1);
}

static uint64_t bytes_of(const struct call *call, const void *params)
{
    const void *second;
    struct abi_external external;
    switch ((enum call_size)call->size) {
    case SIZE_SECOND:
        return word_at(params, 8);
    case SIZE_SECOND32:
        return half_at(params, 8);
    case SIZE_PITCH:
        second = pointer_at(params, 8);
        return second ? word_at(second, 0) * word_at(params, 24) : 0;
    case SIZE_PITCH32:
        second = pointer_at(params, 8);
        return second ? (uint64_t)half_at(second, 0) * half_at(params, 20) : 0;
    case SIZE_ARRAY:
    case SIZE_ARRAY3D:
    case SIZE_MIPMAP:
        return bytes_of_array(call, params);
    case SIZE_EXTERNAL:
        second = pointer_at(params, 8);
        if (!second)
            return 0;
        memcpy(&external, second, sizeof external);
        return external.bytes;
    case SIZE_UNKNOWN:
        break;
    }
    return 0;
}

/* ---- what was given ---- */

static bool is_of_the_host(uint32_t memory)
{
    return memory == DRIVER_HOST || memory == DRIVER_REGISTERED;
}

/* Whether it goes with the context in which it was asked for. */
static bool goes_with_context(const struct call *call)
{
    return call->object == SPACE_ADDRESS || call->object == SPACE_ARRAY;
}

static struct live_entry entry_of(const struct call *call, const struct live_call *who)
{
    return (struct live_entry){
        .context = goes_with_context(call) ? who->context : 0,
        .heap = is_of_the_host(call->memory) ? 0 : who->heap,
        .name = who->name,
        .site = who->site,
        .library = who->library,
        .space = call->object,
        .memory = call->memory,
        .refs = 1,
    };
}

/* Where the properties that a call was given say that the memory is to be. */
static uint32_t heap_of_properties(const void *properties)
{
    struct abi_memory_prop prop;
    memcpy(&prop, properties, sizeof prop);
    return prop.location == ABI_LOCATION_DEVICE ? device_heap(prop.location_id) : 0;
}

/* On a stream that is being captured it is a node of a graph. */
static void ask_of_stream(struct live_entry *entry, uint64_t stream)
{
    uint64_t graph = live_captured(stream);
    entry->of = graph ? graph : stream;
    if (graph)
        entry->memory = DRIVER_GRAPH;
}

static void give(const struct call *call, const void *params, const struct live_call *who)
{
    struct live_entry entry = entry_of(call, who);
    const void *properties = call->memory == DRIVER_POOL ? pointer_at(params, 8) : NULL;
    if (properties)
        entry.heap = heap_of_properties(properties);
    entry.key = call->action == CALL_REGISTER ? input_of(call, params) : given_by(call, params);
    entry.bytes = bytes_of(call, params);
    if (call->stream_at)
        ask_of_stream(&entry, word_at(params, call->stream_at));
    if (entry.key)
        live_given(&entry);
}

static void give_handle(const struct call *call, const void *params, const struct live_call *who)
{
    struct live_entry entry = entry_of(call, who);
    const void *properties = call->action == CALL_CREATE ? pointer_at(params, 16) : NULL;
    entry.key = given_by(call, params);
    entry.bytes = bytes_of(call, params);
    if (properties)
        entry.heap = heap_of_properties(properties);
    if (entry.key)
        live_given(&entry);
}

static void give_node(const struct call *call, const void *params, const struct live_call *who)
{
    struct live_entry entry = entry_of(call, who);
    struct abi_alloc_node node;
    const void *from = pointer_at(params, 32);
    if (!from)
        return;
    memcpy(&node, from, sizeof node);
    entry.key = node.address;
    entry.bytes = node.bytes;
    entry.of = word_at(params, 8);
    if (entry.key)
        live_given(&entry);
}

void decode_graph_end(const struct call *call, const void *params, uint32_t name)
{
    live_graph_gone(input_of(call, params), name);
}

void decode_graph_ready(const void *params)
{
    live_graph_ready(word_at(params, 8));
}

/* Whoever ends a capture from another thread than began it is told so, and it goes on; so it does
 * if the call was wrong. */
static bool has_ended(int result)
{
    return result == 0 || (result >= ABI_CAPTURE_FIRST_ERROR && result < ABI_CAPTURE_WRONG_THREAD);
}

void decode_capture(const struct call *call, const void *params, const void *context, int result)
{
    uint64_t stream = word_at(params, 0);
    if (call->action == CALL_CAPTURE_END) {
        const void *out = result == 0 ? pointer_at(params, 8) : NULL;
        if (has_ended(result))
            live_capture_ends(stream, out ? word_at(out, 0) : 0, intern_string(call->name));
    } else if (result == 0) {
        live_capture_begins(stream, call->action == CALL_CAPTURE_INTO ? word_at(params, 8) : 0,
                            (uint64_t)(uintptr_t)context);
    }
}

static void map_buffer(const struct call *call, const void *params, const struct live_call *who)
{
    struct abi_external_buffer buffer;
    const void *from = pointer_at(params, 16);
    uint64_t address = given_by(call, params);
    if (!from || !address)
        return;
    memcpy(&buffer, from, sizeof buffer);
    live_mapped(address, buffer.bytes, SPACE_EXTERNAL, word_at(params, 8), who);
}

/* ---- enter and exit ---- */

/* The address that a call frees. */
static uint64_t freed_by(const struct call *call, const void *params)
{
    return call->action == CALL_GRAPH_FREE ? word_at(params, 32) : input_of(call, params);
}

bool decode_takes(const struct call *call)
{
    return call->action == CALL_FREE || call->action == CALL_RELEASE ||
           call->action == CALL_UNMAP || call->action == CALL_GRAPH_FREE;
}

/* A buffer of imported memory is given back by the call that frees addresses. */
static uint64_t mapping_freed_by(const struct call *call, uint64_t address)
{
    return call->action == CALL_FREE && call->object == SPACE_ADDRESS ? live_mapping_at(address)
                                                                      : 0;
}

/* What an unknown address is taken for. */
static uint32_t taken_for(const struct call *call, const void *params)
{
    bool captured = call->stream_at && live_captured(word_at(params, call->stream_at));
    return captured ? DRIVER_GRAPH : call->memory;
}

bool decode_enter(const struct call *call, const void *params, const struct live_call *who)
{
    uint64_t key = decode_takes(call) ? freed_by(call, params) : 0;
    if (!key)
        return false;
    uint64_t mapped = mapping_freed_by(call, key);
    if (mapped)
        live_unmap(key, mapped, who);
    else if (call->action == CALL_UNMAP)
        live_unmap(key, word_at(params, 8), who);
    else if (call->action == CALL_RELEASE)
        live_release(key, who);
    else
        return live_leave((enum live_space)call->object, key, who, taken_for(call, params));
    return true;
}

static void settle(const struct call *call, const void *params, const struct live_call *who,
                   bool known, bool failed)
{
    uint64_t key = freed_by(call, params);
    if (!key)
        return;
    if (call->action == CALL_UNMAP)
        live_unmapped(key, word_at(params, 8), who, failed);
    else if (call->action == CALL_RELEASE)
        live_released(key, who, failed);
    else {
        live_unmapped(key, 1, who, failed); /* one mapping, if it is one */
        live_left((enum live_space)call->object, key, who, known, failed, taken_for(call, params));
    }
}

void decode_exit(const struct call *call, const void *params, const struct live_call *who,
                 bool known, bool failed)
{
    if (decode_takes(call)) {
        settle(call, params, who, known, failed);
        return;
    }
    if (failed)
        return;
    switch ((enum call_action)call->action) {
    case CALL_ALLOC:
    case CALL_REGISTER:
        give(call, params, who);
        break;
    case CALL_CREATE:
    case CALL_IMPORT:
        give_handle(call, params, who);
        break;
    case CALL_RETAIN:
        live_retained(given_by(call, params));
        break;
    case CALL_MAP:
        live_mapped(input_of(call, params), word_at(params, 8), SPACE_HANDLE, word_at(params, 24),
                    who);
        break;
    case CALL_MAP_BUFFER:
        map_buffer(call, params, who);
        break;
    case CALL_GRAPH_ALLOC:
        give_node(call, params, who);
        break;
    default:
        break;
    }
}
