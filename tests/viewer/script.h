/*
 * script.h - recordings of small training runs, made of phases and blocks that a test lists. What
 * the recorder would have computed (stretches, highest points of phases) is computed here by plain
 * scans.
 */
#ifndef TIDEMARK_TESTS_SCRIPT_H
#define TIDEMARK_TESTS_SCRIPT_H

#include <stdint.h>

#include "db.h"

enum { SCRIPT_BLOCKS = 400, SCRIPT_PHASES = 60, SCRIPT_OUTSIDE = -1, SCRIPT_LIVES = -1 };

#define MIB(n) ((int64_t)(n)*1048576)

struct script_block {
    int64_t seq, end; /* SCRIPT_LIVES */
    int64_t size;
    int site, tag; /* 0 = none; a tag is a category of table tag */
};

struct script_phase {
    const char *kind, *name;
    int step;           /* SCRIPT_OUTSIDE */
    int parent;         /* id, 0 */
    int64_t begin, end; /* SCRIPT_LIVES: it has not ended */
};

struct script {
    struct script_block blocks[SCRIPT_BLOCKS];
    int block_count;
    struct script_phase phases[SCRIPT_PHASES];
    int phase_count;
};

void script_block(struct script *script, int64_t seq, int64_t end, int64_t size, int site);
void script_tagged(struct script *script, int64_t seq, int64_t end, int64_t size, int site,
                   int tag);
/* Its id. */
int script_phase(struct script *script, const char *kind, int step, int64_t begin, int64_t end);

/* Sites: 1 to 9 are `site_names` of script.c, and of script_sites.h. Process 1 on device 1. */
struct db *script_record(const struct script *script);

#endif
