/*
 * block_log_telling.h - a log while it is told: what the files behind block_log_feed share.
 *
 * Definitions are made at their first use; numbers are those of the process, 0 = not defined yet.
 */
#ifndef TIDEMARK_IMPORT_BLOCK_LOG_TELLING_H
#define TIDEMARK_IMPORT_BLOCK_LOG_TELLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "block_log.h"
#include "map.h"

struct open_range {
    uint32_t name;  /* of the log; 0 = it says nothing of a block (a step) */
    uint32_t below; /* index + 1 in `open`, 0 = none */
};

struct telling {
    struct block_log_feed *feed;
    struct state_process *process;
    uint32_t *strings;         /* numbers of definitions by name, 0 = not defined yet; likewise */
    uint32_t *frames, *places; /* frames by name, as ranges are */
    uint32_t *own_frames;      /* by number of the log's frames */
    uint32_t *stacks;          /* by number of the log's stacks */
    bool *has_line;            /* by name: the frame is one of a source */
    struct intern sites;       /* frames' numbers, BLOCK_LOG_DEPTH at most */
    uint32_t *site_numbers;
    size_t site_cap;
    uint32_t sites_defined;
    struct open_range *open; /* ranges that are open, in stacks; free ones in a list */
    size_t open_count, open_cap;
    uint32_t open_free;
    struct map tops; /* thread -> index + 1 */
    uint32_t defined;
    int64_t base_ns;
    uint64_t now_ns;
    size_t next;          /* entry */
    struct map pools;     /* hash of address and device -> bytes */
    struct map pool_sums; /* device -> bytes of all of its pools */
    uint32_t pool_text, total_text;
    struct intern stems; /* of names of NVTX that count, without their number */
    uint32_t *stem_numbers;
    size_t stem_cap;
    uint32_t stems_defined;
    bool no_memory; /* for a stack or a name: the next event ends the import */
};

uint32_t telling_define(struct telling *telling, enum arena_kind kind, const void *payload,
                        size_t bytes);
uint32_t telling_text(struct telling *telling, const char *text, size_t bytes); /* a new one */
uint32_t telling_string(struct telling *telling, uint32_t name); /* 0: the name is empty, or 0 */
uint32_t telling_place(struct telling *telling, uint32_t place);
uint32_t telling_stack(struct telling *telling, uint32_t stack);
/* A range begins, and ends, on a thread: ranges that do not nest end each other. */
int telling_open(struct telling *telling, uint32_t thread, uint32_t name);
void telling_close(struct telling *telling, uint32_t thread);
/* What is open on the thread, as a call site; 0 = nothing is, or no memory. */
uint32_t telling_site(struct telling *telling, uint32_t thread);
/* A base_err. */
int telling_give(struct telling *telling, const struct event *event);

/* The event has the requested bytes, if they are known. */
void telling_requested(uint64_t bytes, struct event *event);

/* block_log_before.c: what lived before the first entry. */
int telling_before(struct telling *telling);
int telling_throughout(struct telling *telling);

/* block_log_driver.c: an entry of one of its kinds, or of NVTX. */
int telling_driver(struct telling *telling, const struct block_log_entry *entry);
int telling_nvtx(struct telling *telling, const struct block_log_entry *entry);
void telling_driver_clear(struct telling *telling);

#endif
