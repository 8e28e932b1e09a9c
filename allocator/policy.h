/*
 * policy.h - in what the releases of PyTorch's allocator differ: a switch for each change, and a
 * table that bundles them by release (policy.c). docs/allocator.md says how each was found, and
 * which were shown by running the real allocators.
 *
 * What differs and leaves no trace in a recording is in no switch: which of two begun pools a
 * request goes to, a limit that the program sets itself, who may free a cache while a graph is
 * captured.
 */
#ifndef TIDEMARK_ALLOCATOR_POLICY_H
#define TIDEMARK_ALLOCATOR_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Settings that came with a later release than others. One that does not know a setting refuses the
 * whole string, and the program does not start. */
enum alloc_key {
    ALLOC_KEY_NON_SPLIT_ROUNDING = 1 << 0,
    ALLOC_KEY_PINNED_BACKGROUND = 1 << 1,
    ALLOC_KEY_RECORD_STREAM_REUSE = 1 << 2,
    ALLOC_KEY_PINNED_SEGMENT = 1 << 3,
    ALLOC_KEY_PROCESS_FRACTION = 1 << 4,
    ALLOC_KEY_LARGE_SEGMENT = 1 << 5,
    ALLOC_KEY_THROW = 1 << 6,
    ALLOC_KEY_PINNED_CATCH = 1 << 7,  /* pinned_free_catch_all */
    ALLOC_KEY_PINNED_LIMITS = 1 << 8, /* pinned_max_cached_size_mb, pinned_max_round_threshold_mb */
    ALLOC_KEY_RESERVE = 1 << 9        /* expandable_segments_reserve and ..._by_class */
};

/* All zero is the newest. */
struct alloc_policy {
    bool above_is_from;   /* until 2.9: '>' in roundup_power2_divisions begins at the last boundary;
                           * since 2.10 above it */
    bool split_is_above;  /* until 2.9: max_split_size_mb must be above 20; since 2.10 at least 20,
                           * or  large_segment_size_mb */
    bool fraction_is_cut; /* until 2.12: per_process_memory_fraction times the device is cut to
                           * whole bytes; since 2.13 it is rounded */
    bool oldest_first; /* 2.12: of free blocks of one size, the one whose record is the oldest, not
                        * the lowest address. Not known of expandable segments */
    uint32_t missing;  /* enum alloc_key: settings that came later */
};

struct alloc_release {
    const char *name; /* "2.9" */
    struct alloc_policy policy;
};

/* Oldest first; the last one is what follows the newest release. */
const struct alloc_release *alloc_releases(size_t *count);
/* Of a version as torch.__version__ has it ("2.9.0+cu128"), or of its first two numbers; NULL:
 * none. A release behind the newest that is known is the last one. */
const struct alloc_release *alloc_release_of(const char *version);

/* Switches that change where blocks lie, by name: for telling which one made a difference. The
 * others say which settings are refused. */
struct alloc_rule {
    const char *key;  /* "roundup_above" */
    const char *text; /* what differs, for people */
    size_t offset;    /* of the bool in struct alloc_policy */
};
const struct alloc_rule *alloc_rules(size_t *count);
/* Takes that one switch from `from`. False: it was the same. */
bool alloc_rule_take(const struct alloc_rule *rule, struct alloc_policy *to,
                     const struct alloc_policy *from);

#endif
