/*
 * lexicon.h - the texts, frames and call stacks that a page names, each once.
 *
 * Invariants: a place that was handed out stays; text 0 is ""; site 0 has no frames and stands for
 * "not known"; a stack has at most LEXICON_DEPTH frames, the innermost first, and all stacks
 * together LEXICON_FRAMES: where there is no more room, a stack keeps its two innermost.
 */
#ifndef TIDEMARK_HTML_LEXICON_H
#define TIDEMARK_HTML_LEXICON_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "db.h"
#include "map.h"
#include "query.h"

#define LEXICON_DEPTH 40u
#define LEXICON_FRAMES 300000u

struct lexicon_frame {
    uint32_t shown; /* as view frame_short: "forward (net.py:9)" */
    uint32_t file;  /* with its folder */
    bool library;   /* not the program's own */
};

struct lexicon {
    struct db *db;
    struct buf texts; /* as pack_text writes them */
    uint32_t text_count;
    struct map text_index; /* string.id -> place */
    struct lexicon_frame *frames;
    size_t frame_count, frame_cap;
    struct map frame_index; /* frame.id -> place */
    struct buf sites;       /* each: its id, how many frames, their places */
    uint32_t site_count;
    size_t stacked; /* frames of all stacks */
    struct map site_index;
    struct query stack; /* asked again and again */
    struct {
        int64_t frame;
    } row;
    struct query_place places[2]; /* of the row */
    bool open;
    int err; /* the first error; places are 0 from then on */
};

int lexicon_begin(struct lexicon *lexicon, struct db *db);
uint32_t lexicon_text(struct lexicon *lexicon, const char *text);
/* QUERY_NONE: 0. */
uint32_t lexicon_site(struct lexicon *lexicon, int64_t site);
/* All of it, behind what is there. */
void lexicon_pack(const struct lexicon *lexicon, struct buf *out);
/* The first error, or 0. */
int lexicon_end(struct lexicon *lexicon);

#endif
