/*
 * junit.h - results as JUnit XML, the format that CI systems show.
 */
#ifndef TIDEMARK_VIEWER_JUNIT_H
#define TIDEMARK_VIEWER_JUNIT_H

#include <stddef.h>

#include "buf.h"

enum junit_result { JUNIT_PASSED, JUNIT_FAILED, JUNIT_SKIPPED };

struct junit_case {
    const char *group; /* classname: of whom it is */
    const char *name;
    enum junit_result result;
    const char *message; /* of one that did not pass; else what was measured */
};

/* Well-formed whatever the texts hold: what XML cannot hold becomes U+FFFD. */
void junit_put(struct buf *out, const char *suite, const struct junit_case *cases, size_t count);

#endif
