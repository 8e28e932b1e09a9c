/*
 * replay_device.h - the device below a replay: it gives out addresses and has no memory.
 *
 * Where the recorded settings are replayed, a segment is put where the record has the next one of
 * that size that was not given out yet: at a distance of at most REPLAY_AHEAD, for a replay that
 * went another way once may come back; and only if nothing else lies there. So it is with the
 * ranges of expandable segments, each stream's in their order. Everything else gets addresses that
 * the record has not, in ascending order, none twice.
 */
#ifndef TIDEMARK_ANALYSIS_REPLAY_DEVICE_H
#define TIDEMARK_ANALYSIS_REPLAY_DEVICE_H

#include "replay.h"

#define REPLAY_AHEAD 64

struct replay_held {
    uint64_t address, end;
};

/* Invariants: segments before next_segment are given out, or were adopted; of the others those with
 * true in `given`; held <= peak; `out` has what the allocator holds of whole segments where they
 * are put as recorded, in the order of addresses, none over another. */
struct replay_device {
    struct alloc_device seam;
    const struct replay_trace *trace;
    bool addresses; /* as recorded */
    bool *given;    /* one for each segment; NULL without */
    struct replay_held *out;
    size_t out_count, out_cap;
    bool *given_ranges;           /* one for each range; NULL without */
    struct replay_held *reserved; /* ranges of addresses that the allocator holds */
    size_t reserved_count, reserved_cap;
    size_t next_segment, next_range, next_mapping;
    uint64_t next_address;
    uint64_t total;  /* as the allocator is told */
    uint64_t memory; /* that there is to give */
    bool short_once; /* refuse the next segment */
    bool starved;    /* there was no memory for `out` */
    uint64_t held;   /* bytes, with what was adopted */
    uint64_t peak;
    uint32_t block; /* for which the replay asks just now */
    uint32_t peak_block;
    uint64_t taken, equal; /* segments and pieces of ranges, asked for and as recorded */
    uint64_t next_event;
};

int replay_device_begin(struct replay_device *device, const struct replay_trace *trace,
                        bool addresses);
/* It has only so much, and says so: an expandable segment reserves an eighth more addresses than
 * the device has memory, and on a small one they run out before the memory does. */
void replay_device_memory(struct replay_device *device, uint64_t bytes);
/* Addresses that the allocator had reserved before the record. False without memory. */
bool replay_device_reserved(struct replay_device *device, uint64_t address, uint64_t bytes);
void replay_device_end(struct replay_device *device);
bool replay_device_is_valid(const struct replay_device *device);
/* A segment, or pages of a range, that were there before the record. ERR_EXISTS: something else
 * lies there. */
int replay_device_adopt(struct replay_device *device, uint64_t address, uint64_t bytes,
                        bool expandable);
/* They were not, after all. */
void replay_device_leave(struct replay_device *device, uint64_t address, uint64_t bytes,
                         bool expandable);

#endif
