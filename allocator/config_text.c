/*
 * config_text.c - settings back into a string as PYTORCH_CUDA_ALLOC_CONF has them; config.c reads
 * it.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "engine.h"

#define MIB UINT64_C(20) /* as a shift */

struct text {
    char *at;
    size_t size, length;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
    va_list args;
    size_t room = text->length < text->size ? text->size - text->length : 0;
    va_start(args, format);
    int length = vsnprintf(room ? text->at + text->length : NULL, room, format, args);
    va_end(args);
    text->length += length > 0 ? (size_t)length : 0;
}

static void add_key(struct text *text, const char *key)
{
    add(text, "%s%s:", text->length ? "," : "", key);
}

static void add_mib(struct text *text, const char *key, uint64_t bytes, uint64_t usual)
{
    if (bytes == usual)
        return;
    add_key(text, key);
    add(text, "%" PRIu64, bytes >> MIB);
}

static void add_real(struct text *text, const char *key, double value)
{
    add_key(text, key);
    add(text, "%.17g", value);
}

static void add_true(struct text *text, const char *key, bool value)
{
    if (value)
        add(text, "%s%s:True", text->length ? "," : "", key);
}

/* One number if all slots are the same; else as few pairs as will do. Where > begins at the last
 * boundary, that boundary is the first slot of what it stands for. */
static void add_roundup(struct text *text, const uint32_t *slots, bool above_is_from)
{
    int first = 0, last = ALLOC_ROUNDUP_SLOTS - 1;
    while (first < last && slots[first + 1] == slots[0])
        first++;
    while (last > 0 && slots[last - 1] == slots[last])
        last--;
    if (last == 0 && slots[0] == 0)
        return;
    add_key(text, "roundup_power2_divisions");
    if (last == 0) {
        add(text, "%" PRIu32, slots[0]);
        return;
    }
    add(text, "[");
    for (int i = first; i < last + above_is_from; i++)
        add(text, "%d:%" PRIu32 ",", 1 << i, slots[i]);
    add(text, ">:%" PRIu32 "]", slots[last]);
}

void alloc_config_format(const struct alloc_config *config, char *text, size_t size)
{
    struct text to = {.at = text, .size = size};
    if (size)
        *text = '\0';
    add_mib(&to, "max_split_size_mb", config->max_split_size, UINT64_MAX);
    add_mib(&to, "max_non_split_rounding_mb", config->max_non_split_rounding,
            config->large_segment_size);
    add_mib(&to, "large_segment_size_mb", config->large_segment_size, ALLOC_LARGE_SEGMENT);
    if (config->gc_threshold > 0)
        add_real(&to, "garbage_collection_threshold", config->gc_threshold);
    add_roundup(&to, config->roundup, config->policy.above_is_from);
    if (config->memory_fraction < 1)
        add_real(&to, "per_process_memory_fraction", config->memory_fraction);
    add_true(&to, "throw_on_cudamalloc_oom", config->throws);
    add_true(&to, "expandable_segments", config->expandable_segments);
    if (config->reserve.value > 0) {
        add_real(&to, "expandable_segments_reserve", config->reserve.value);
        add(&to, "%s", config->reserve.gib ? "G" : "");
    }
}
