/*
 * emit_case.h - the end of a report, for tests of what is printed.
 */
#ifndef TIDEMARK_TESTS_EMIT_CASE_H
#define TIDEMARK_TESTS_EMIT_CASE_H

#include "emit.h"

/* What came out, until the next call: read back from a file, because that is what people get.
 * *result is what emit_finish says. */
char *emit_case_finish(struct emit *emit, int *result);

#endif
