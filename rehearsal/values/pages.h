/*
 * pages.h - which bytes of the device are known, and what they are: pages of VALUES_PAGE bytes, of
 * which the one that was written longest ago gives way when there are too many.
 *
 * Everything is called under one lock, which values.c has, but for pages_any, pages_may_be_in and
 * pages_gave_way. Invariants: what is not known reads as 0; a page in which nothing is known is
 * none.
 */
#ifndef TIDEMARK_REHEARSAL_PAGES_H
#define TIDEMARK_REHEARSAL_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#define PAGES_STEP 512u /* blocks begin at multiples of so many bytes */

/* A real is a float that is exact; forgotten apart from the others. So is a scalar: one that has a
 * block of its own. */
enum known { KNOWN = 1, KNOWN_REAL = 2, KNOWN_SCALAR = 3 };

/* `bytes` NULL: all are `value`. False: no memory; a part may be known then. */
bool pages_put(uint64_t at, const uint8_t *bytes, int value, uint64_t count, enum known how);
/* False: not all are known. */
bool pages_get(uint64_t at, uint8_t *bytes, uint64_t count);
/* Whether all of them are known; whether in that way. */
bool pages_know(uint64_t at, uint64_t count);
bool pages_are(uint64_t at, uint64_t count, enum known how);
/* That a block begins where something is known, as long as it is. */
void pages_note_begin(uint64_t at);
bool pages_begin(uint64_t at);
bool pages_any(void);
/* False: nothing is known in the bytes from `at` on, as far as it costs no look at any page. */
bool pages_may_be_in(uint64_t at, uint64_t count);

void pages_forget(uint64_t at, uint64_t count);
/* What is known from `at` on without a gap. */
void pages_forget_run(uint64_t at);
/* All that is known in that way. */
void pages_forget_known(enum known how);
void pages_forget_all(void);

/* Whether a page ever gave way; whether one that did lay there; and that what lay there is missed
 * by nobody, for it is handed out anew. */
bool pages_gave_way(void);
bool pages_were_lost(uint64_t at, uint64_t count);
void pages_find_again(uint64_t at, uint64_t count);

bool pages_are_valid(void);

#endif
