/*
 * carry.h - kernels that bring elements from one place to another, of whatever type: each of them
 * is looked up where it lies, so a large tensor of which a few elements are taken needs not be
 * known.
 *
 * Invariant: what a kernel writes is known afterwards as far as all that it brings was known; its
 * places are forgotten otherwise. Where it writes to is not known itself: the block is forgotten.
 */
#ifndef TIDEMARK_REHEARSAL_CARRY_H
#define TIDEMARK_REHEARSAL_CARRY_H

#include <stdbool.h>
#include <stdint.h>

#define CARRY_MOST (UINT64_C(1) << 18) /* elements; of more, none is computed */
#define CARRY_BYTES 16u                /* of the largest element */

struct carry {
    uint64_t to, from; /* addresses of one element; `from` 0: `value` is brought */
    uint8_t value[CARRY_BYTES];
};

/* Where element number i lies. False: an index is not known, or is none. */
typedef bool carry_fn(const void *how, uint64_t i, struct carry *place);

/* Elements of `bytes`; `type` is a whole number's letter where they are added up. `block` lies in
 * what is written. */
void carry_all(carry_fn *where, const void *how, uint64_t count, uint32_t bytes, uint64_t block);
void carry_add(carry_fn *where, const void *how, uint64_t count, char type, uint64_t block);

/* One whole number at an address. False: it is not known. */
bool carry_number(uint64_t at, char type, int64_t *value);

#endif
