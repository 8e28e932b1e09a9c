/*
 * gunzip.h - what a gzip file holds (RFC 1952, with deflate of RFC 1951), as a stream: the bytes of
 * an input that is read once, in pieces of any size. Several members behind each other are one
 * stream, as gzip(1) takes them.
 *
 * The file is not believed. Codes that cannot be, distances to before the beginning, a wrong
 * checksum or length, and what stands behind the last member end the stream with a reason. A small
 * file may unpack to terabytes: no more than GUNZIP_BASE + GUNZIP_FACTOR times the packed bytes
 * read so far comes out of it.
 *
 * Invariants (gunzip_is_valid): bit_count <= 63; bits has nothing above its bit_count lowest bits;
 * left_length > 0 only inside of a block, with left_distance <= what the member gave so far.
 */
#ifndef TIDEMARK_IMPORT_GUNZIP_H
#define TIDEMARK_IMPORT_GUNZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pickle_input.h"

#define GUNZIP_BASE (UINT64_C(64) << 20)
#define GUNZIP_FACTOR 100u
#define GUNZIP_WINDOW ((size_t)32768) /* no distance is longer */
#define GUNZIP_SYMBOLS 288u
#define GUNZIP_LONGEST 15u   /* bits of a code */
#define GUNZIP_FAST_BITS 10u /* codes up to here are found by one look into a table */

struct gunzip_code {
    uint16_t fast[1u << GUNZIP_FAST_BITS]; /* symbol << 4 | bits of its code; 0 = a longer code */
    uint16_t count[GUNZIP_LONGEST + 1];    /* codes by their length */
    uint16_t symbol[GUNZIP_SYMBOLS];       /* by code: shorter codes first */
};

enum gunzip_state {
    GUNZIP_HEAD,   /* of a member */
    GUNZIP_BLOCK,  /* of a block */
    GUNZIP_STORED, /* left_length bytes as they are */
    GUNZIP_CODES,
    GUNZIP_TAIL,
    GUNZIP_END,
    GUNZIP_WRONG /* `trouble` says why */
};

struct gunzip {
    struct pickle_input packed;
    enum gunzip_state state;
    const char *trouble; /* a constant, or NULL */
    int error;           /* errno, if reading failed */
    uint64_t bits;       /* read and not used, the first one lowest */
    unsigned bit_count;
    bool last;          /* the block is the member's last */
    bool first;         /* no member was begun */
    size_t left_length; /* of a copy, or of stored bytes */
    size_t left_distance;
    uint64_t given; /* of the member */
    uint64_t whole; /* of all members */
    uint32_t crc;
    struct gunzip_code lengths, distances;
    unsigned char window[GUNZIP_WINDOW];
};

bool gunzip_is(const unsigned char *first, size_t count);
/* Takes the packed input over. */
void gunzip_start(struct gunzip *gunzip, const struct pickle_input *packed);
void gunzip_clear(struct gunzip *gunzip);
/* Up to `count` bytes; 0: the stream has ended, or is wrong. */
size_t gunzip_read(struct gunzip *gunzip, unsigned char *out, size_t count);
bool gunzip_is_valid(const struct gunzip *gunzip);

#endif
