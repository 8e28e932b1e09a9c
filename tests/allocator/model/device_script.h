/*
 * device_script.h - a device that does what a test says, and complains about what nobody may do.
 *
 * Two of them, asked the same things, answer the same things: addresses follow from the segments
 * that are taken at that moment alone, never from the order of calls before. Neighbouring segments
 * touch, so that an allocator which merges across segments is caught.
 *
 * An event is (stream, number on that stream). What a stream was asked to do is done when the test
 * says so (device_script_complete), or when somebody waits for it.
 *
 * The first thing done wrong (a segment given twice, a page unmapped that was not mapped, an event
 * asked while that is forbidden, a forgotten event) is kept as a sentence in `trouble`.
 */
#ifndef TIDEMARK_TESTS_DEVICE_SCRIPT_H
#define TIDEMARK_TESTS_DEVICE_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"

#define SCRIPT_STREAMS 8
#define SCRIPT_PIECE (UINT64_C(2) << 20) /* addresses are multiples of it */

struct script_range {
    uint64_t address, bytes;
    uint64_t page; /* of a reserved range, if somebody said */
};

struct script_stream {
    uint64_t handle;
    uint64_t recorded, done; /* events up to number `done` are reached */
    uint64_t alive;          /* recorded and not forgotten */
};

/* Invariants: ranges are in address order and do not overlap; used is the sum of `taken` and
 * `mapped`; mapped ranges lie inside reserved ones. */
struct device_script {
    struct alloc_device seam;
    uint64_t capacity, total, used;
    bool downwards;      /* highest address first instead of lowest first */
    bool forbid_queries; /* a pool is begun: nobody may ask an event */
    int fail_next;       /* not 0: the next take or map says this */
    int fail_next_query;
    const char *trouble; /* NULL = nothing was done wrong */
    struct script_range *taken, *reserved, *mapped;
    size_t taken_count, reserved_count, mapped_count;
    size_t taken_cap, reserved_cap, mapped_cap;
    struct script_stream streams[SCRIPT_STREAMS];
    size_t stream_count;
};

void device_script_open(struct device_script *script, uint64_t capacity, uint64_t total);
/* Whatever is still held then is a trouble. */
const char *device_script_close(struct device_script *script);
/* The next `count` events of the stream are reached (recorded or not yet: no more than recorded).
 */
void device_script_complete(struct device_script *script, uint64_t stream, uint64_t count);
bool device_script_is_valid(const struct device_script *script);

#endif
