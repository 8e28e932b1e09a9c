/*
 * compare.h - what a recording of which parts were dropped has to say as all of it says it. Both
 * lie in the current folder.
 */
#ifndef TIDEMARK_TESTS_COMPARE_H
#define TIDEMARK_TESTS_COMPARE_H

#include <stdint.h>

#include "buf.h"

extern const char whole_path[], thin_path[];

/* All rows of a question as text. */
void compare_answer(const char *path, const char *sql, struct buf *out);
/* The one number that is the answer. */
int64_t compare_number(const char *path, const char *sql);
/* Checks that both say the same of peaks, leaks, phases, sites and the first steps. */
void compare_all(void);
/* The same, but for what is said of the first steps. */
void compare_later(void);

#endif
