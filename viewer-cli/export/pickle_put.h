/*
 * pickle_put.h - writes a pickle of protocol 4 with no more than data in it: numbers, texts, lists,
 * dictionaries, pairs. Nothing in it can import or call, so whoever reads it may refuse that.
 *
 * Readers in browsers know fewer opcodes than Python, and spread a batch of items as arguments of
 * one call. So: numbers are at most 8 bytes, but for those from 2^63 on; texts have 32-bit lengths;
 * a list comes in batches of PICKLE_BATCH; there are no frames.
 *
 * Invariants: depth <= PICKLE_DEPTH is how many lists are open; of the innermost, in_batch items
 * stand behind the last mark, 0 = there is none; memos is how many things were remembered, and a
 * number below that names one.
 */
#ifndef TIDEMARK_EXPORT_PICKLE_PUT_H
#define TIDEMARK_EXPORT_PICKLE_PUT_H

#include <stdint.h>

#include "export_out.h"

#define PICKLE_BATCH 1000u
#define PICKLE_DEPTH 8u

struct pickle_put {
    struct export_out *out;
    uint32_t memos;
    unsigned depth;
    unsigned in_batch[PICKLE_DEPTH];
    struct buf text; /* of one text, as UTF-8 */
};

void pickle_begin(struct pickle_put *pickle, struct export_out *out);
void pickle_end(struct pickle_put *pickle); /* and frees what it had */

void pickle_int(struct pickle_put *pickle, int64_t value);
void pickle_uint(struct pickle_put *pickle, uint64_t value);
void pickle_bool(struct pickle_put *pickle, bool value);
/* What is not UTF-8 becomes U+FFFD. */
void pickle_text(struct pickle_put *pickle, const char *text);
void pickle_pair(struct pickle_put *pickle, uint64_t first, uint64_t second);

void pickle_list(struct pickle_put *pickle);
void pickle_item(struct pickle_put *pickle); /* before each */
void pickle_list_end(struct pickle_put *pickle);
/* Keys and values follow, a thousand pairs at most and one at least. */
void pickle_dict(struct pickle_put *pickle);
void pickle_dict_end(struct pickle_put *pickle);

/* What was put last gets a number, by which it is put again. */
uint32_t pickle_remember(struct pickle_put *pickle);
void pickle_again(struct pickle_put *pickle, uint32_t memo);

#endif
