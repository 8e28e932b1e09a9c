/*
 * held.h - what lived at a moment, as profiles want it: the blocks of one call stack, one phase of
 * birth and one purpose are one sample. They are those that living.h names, so the sums of the
 * samples are what `peak` and `why` say of that moment.
 *
 * Invariants (held_is_valid): no two groups have the same site, phase and purpose; they add up to
 * bytes and blocks; they stand in the order of their sites.
 */
#ifndef TIDEMARK_EXPORT_HELD_H
#define TIDEMARK_EXPORT_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "purpose.h"

struct held_group {
    int64_t site, phase; /* LIVING_NONE */
    enum purpose purpose;
    int64_t bytes, blocks;
};

struct held { /* all zero is empty */
    struct held_group *groups;
    size_t count, cap;
    int64_t bytes, blocks;
};

/* What lives after the event `seq`. `by_site`: phase and purpose do not matter, and say nothing. 0
 * or an error; held_clear in both cases. */
int held_read(struct db *db, int64_t process, int64_t device, int64_t seq, bool by_site,
              struct held *out);
void held_clear(struct held *held);
bool held_is_valid(const struct held *held);

#endif
