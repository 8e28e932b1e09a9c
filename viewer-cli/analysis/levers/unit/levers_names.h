/*
 * levers_names.h - the last part of a function's name, as call sites have it.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_NAMES_H
#define TIDEMARK_ANALYSIS_LEVERS_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* The last part of a name, without what stands behind the function and without `.forward`. */
struct levers_last {
    const char *begin;
    size_t bytes;
};
struct levers_last levers_last_of(const char *function);

/* The function's last name, without "op_" before or ".forward" behind, is one of these. */
bool levers_is_one_of(const char *function, const char *const *names, size_t count);

#endif
