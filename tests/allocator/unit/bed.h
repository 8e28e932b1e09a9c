/*
 * bed.h - an allocator on a virtual device, and its events as they come. Every call checks that all
 * structures are valid behind it.
 */
#ifndef TIDEMARK_TESTS_ALLOCATOR_BED_H
#define TIDEMARK_TESTS_ALLOCATOR_BED_H

#include "alloc.h"
#include "error.h"
#include "test.h"
#include "virtual.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define BED_BASE VIRTUAL_BASE
#define BED_EVENTS 4096

struct bed {
    struct virtual_device *device;
    struct alloc *alloc;
    struct alloc_event events[BED_EVENTS]; /* since bed_forget; the last ones are dropped */
    size_t event_count;
};

struct bed_options {
    uint64_t capacity; /* 0 = 64 GiB */
    uint64_t limit;
    const char *config; /* a string; NULL = defaults */
    bool manual;        /* events of the device */
    unsigned flags;
};

void bed_begin(struct bed *bed, const struct bed_options *options);
/* All blocks may live: the device must have nothing left behind alloc_delete. */
void bed_end(struct bed *bed);

uint64_t bed_malloc(struct bed *bed, uint64_t bytes, uint64_t stream);  /* must succeed */
uint64_t bed_refused(struct bed *bed, uint64_t bytes, uint64_t stream); /* its segment size */
void bed_give(struct bed *bed, uint64_t address);
void bed_use(struct bed *bed, uint64_t address, uint64_t stream);
void bed_empty(struct bed *bed);
void bed_configure(struct bed *bed, const char *config);
struct alloc_stats bed_stats(struct bed *bed);
struct virtual_counts bed_counts(struct bed *bed);

/* Events: of one kind since bed_forget, and the last of it. */
void bed_forget(struct bed *bed);
size_t bed_seen(const struct bed *bed, enum alloc_event_kind kind);
const struct alloc_event *bed_last(const struct bed *bed, enum alloc_event_kind kind);

/* The heap as one line: "20971520: 512 free512 wait1024 ..." for each segment, then ";". */
const char *bed_picture(struct bed *bed);

#endif
