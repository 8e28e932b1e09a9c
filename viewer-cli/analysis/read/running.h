/*
 * running.h - what a device did at an instant, where kernels and copies were recorded.
 *
 * Invariants (running_is_valid): every item began at or before the instant and ended behind it; the
 * one that began first comes first.
 */
#ifndef TIDEMARK_ANALYSIS_RUNNING_H
#define TIDEMARK_ANALYSIS_RUNNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "group.h"

struct running_item {
    char *name; /* NULL: it has none */
    const char *kind;
    int64_t stream, begin_ns, end_ns;
    int64_t bytes; /* that were copied or set; GROUP_NONE */
};

struct running {
    bool told; /* activities of the process on the device were recorded */
    int64_t at_ns;
    struct running_item *items;
    size_t count, cap;
};

/* 0 or an error; running_clear in both cases. */
int running_read(struct db *db, int64_t process, int64_t device, int64_t at_ns,
                 struct running *out);
void running_clear(struct running *running);
bool running_is_valid(const struct running *running);

#endif
