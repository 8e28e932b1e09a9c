/*
 * pieces.h - a piece of device memory, fetched to compute with, and brought back.
 *
 * Invariant: `bytes` holds `count` of them, or the piece is empty because it was not known, too
 * large, or there was no memory.
 */
#ifndef TIDEMARK_REHEARSAL_PIECES_H
#define TIDEMARK_REHEARSAL_PIECES_H

#include <stdbool.h>
#include <stdint.h>

struct piece {
    uint64_t at, count;
    uint8_t *bytes;
};

/* False: not all of it is known. */
bool piece_fetch(struct piece *piece, uint64_t at, uint64_t count);
/* The same of floats that came of whole numbers. */
bool piece_fetch_real(struct piece *piece, uint64_t at, uint64_t count);
/* A piece to write: zeros. */
bool piece_new(struct piece *piece, uint64_t at, uint64_t count);
void piece_drop(struct piece *piece);
/* Known from now on, and dropped. */
void piece_put(struct piece *piece);
void piece_put_real(struct piece *piece);

/* What is put one behind the other, of a number that is not known before: in parts. */
struct piece_run {
    uint64_t at; /* of what is put next */
    uint32_t count;
    uint8_t bytes[4096];
};
void piece_run_put(struct piece_run *run, const void *bytes, uint32_t count);
void piece_run_end(struct piece_run *run);

#endif
