/*
 * pick.h - writes pickles of snapshots, one opcode after the other, as Python's pickler does:
 * protocol 4 with MEMOIZE, or 2 with BINPUT; containers in batches of 1000; texts and frames once.
 */
#ifndef TIDEMARK_TESTS_PICK_H
#define TIDEMARK_TESTS_PICK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "buf.h"

#define PICK_TEXTS 64
#define PICK_FRAMES 40

struct pick {
    struct buf out;
    FILE *file; /* if set, bytes go there when there are many */
    unsigned protocol;
    uint32_t memo; /* next number */
    const char *texts[PICK_TEXTS];
    uint32_t text_memo[PICK_TEXTS];
    size_t text_count;
    uint32_t frame_memo[PICK_FRAMES];
    size_t frame_count;
    size_t written; /* to the file */
};

void pick_begin(struct pick *pick, unsigned protocol);
size_t pick_bytes(const struct pick *pick);
void pick_op(struct pick *pick, unsigned char opcode);
void pick_put(struct pick *pick);                    /* MEMOIZE or a PUT */
void pick_text(struct pick *pick, const char *text); /* the pointer is the key of its memo */
void pick_int(struct pick *pick, uint64_t number);
void pick_list(struct pick *pick); /* EMPTY_LIST, its memo, MARK */
void pick_dict(struct pick *pick); /* likewise */
void pick_key_int(struct pick *pick, const char *key, uint64_t number);
void pick_key_text(struct pick *pick, const char *key, const char *text);
/* "frames": a new list of `depth` of the shared frames, from number `first` on. */
void pick_frames(struct pick *pick, size_t first, size_t depth);
struct pick_event {
    const char *action;
    uint64_t addr, size, time_us;
    size_t depth; /* of frames */
};
void pick_event(struct pick *pick, const struct pick_event *event);

/* A whole snapshot: one small segment with blocks, and a trace of `events` pairs of alloc and free.
 * Two of its blocks live at the end; one of them, and a segment, come in the trace. */
void pick_snapshot(struct pick *pick, unsigned protocol, size_t events);

#endif
