/*
 * frag_block.h - the parts of frag_read: who is in the segments, and what they are called.
 */
#ifndef TIDEMARK_ANALYSIS_FRAG_BLOCK_H
#define TIDEMARK_ANALYSIS_FRAG_BLOCK_H

#include "frag.h"

/* Living and waiting blocks after frag->seq, by address. */
int frag_read_blocks(struct db *db, int64_t process, int64_t device, struct frag *frag);
/* Sites that pin something. */
int frag_find_sites(struct frag *frag);
int frag_find_pins(struct frag *frag);
int frag_name(struct db *db, struct frag *frag, size_t named);
int frag_read_step(struct db *db, int64_t process, int64_t seq, int64_t *step);

#endif
