/*
 * values.h - the bytes of device memory that are known: what the program itself brought there, and
 * what was computed from nothing else (kernels.h). All others read as zeros. Small pieces only: it
 * is for lengths, masks and indices, of which a size may come. Of what the program brings, a piece
 * that is larger than VALUES_PLAIN is kept only if its words look like whole numbers: weights do
 * not.
 *
 * Who hands memory out anew, or writes something that was not computed, forgets: a stale value is
 * worse than none. Where there is no room the oldest pages give way; who asks for one of those
 * later is told (values_was_lost).
 *
 * Invariants: a page is stored only while a byte of it is known, at most VALUES_PAGES of them;
 * bytes of it that are not known are zero. Every function may be called from any thread, and a
 * process that forks finds no lock held.
 */
#ifndef TIDEMARK_REHEARSAL_VALUES_H
#define TIDEMARK_REHEARSAL_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VALUES_MOST (UINT64_C(16) << 20)  /* bytes of a piece that is kept */
#define VALUES_PLAIN (UINT64_C(64) << 10) /* of one that is kept whatever lies in it */
#define VALUES_PAGE 4096u
#define VALUES_PAGES 65536u

/* Known from now on. A piece that is too large is forgotten. */
void values_put(uint64_t at, const void *bytes, uint64_t count);
/* The same of what comes from the host, of which nobody says what it is. */
void values_bring(uint64_t at, const void *bytes, uint64_t count);
void values_fill(uint64_t at, int value, uint64_t count);
/* What is known of the source is known at the target, and no more. */
void values_move(uint64_t to, uint64_t from, uint64_t count);
void values_forget(uint64_t at, uint64_t count);
/* A block of an allocator begins here: nothing in it is known. */
void values_block(uint64_t at, uint64_t count);
/* Forgets from here to the end of the block; where it is not known which block that is, to the
 * first byte that is not known. */
void values_forget_run(uint64_t at);
/* The same as values_forget, and what stood to be written there are whole numbers: who reads them,
 * of whatever size, is told so. */
void values_forget_whole(uint64_t at, uint64_t count);
bool values_is_whole(uint64_t at);
/* Here stand whole numbers, in a block of an allocator: unless they are known, who reads them is
 * told. */
void values_note_whole(uint64_t at);
bool values_in_block(uint64_t at);
void values_forget_all(void);

/* Zeros where nothing is known. True: all of it is. */
bool values_get(uint64_t at, void *bytes, uint64_t count);
/* The same without the bytes: of what is not known, which most is, it takes no time. */
bool values_are_known(uint64_t at, uint64_t count);
bool values_are_real(uint64_t at, uint64_t count);
/* Floats that came of whole numbers (reals.h) are marked so: no other bytes are taken for such,
 * but a number that has a block of its own, whoever brought it: an optimizer counts in these. */
void values_put_real(uint64_t at, const void *bytes, uint64_t count);
bool values_get_real(uint64_t at, void *bytes, uint64_t count);
/* A library was called that may have written any of them; of those in a block of their own only
 * the ones that stand among its arguments. */
void values_forget_led_to(const uint64_t *arguments, uint32_t count);
/* The same, and what it writes stands in no argument. */
void values_forget_reals(void);
/* What was on its way to here (pending.h) has come. */
void values_arrive(uint64_t at, const void *bytes, uint64_t count);
/* False: nothing at all is known, which is the usual case and costs two loads to find out. */
bool values_any(void);

/* Whether something there was known, and gave way. */
bool values_was_lost(uint64_t at, uint64_t count);

bool values_are_valid(void);

#endif
