/*
 * levers_births.h - births between two events, by what was asked for and where.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_BIRTHS_H
#define TIDEMARK_ANALYSIS_LEVERS_BIRTHS_H

#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "peak.h"

struct levers_birth {
    int64_t seq, asked, site;
};

struct levers_births { /* by bytes asked for, site, seq */
    struct levers_birth *births;
    size_t count, cap;
};

/* ERR_LIMIT: there are too many. levers_births_clear in all cases. */
int levers_births_read(struct db *db, const struct peak *peak, int64_t begin, int64_t end,
                       struct levers_births *out);
void levers_births_clear(struct levers_births *births);
/* Those that asked for so much at this site: how many, and the first. */
size_t levers_births_like(const struct levers_births *births, int64_t asked, int64_t site,
                          const struct levers_birth **first);

#endif
