/*
 * site_apart.h - call sites of one table whose short names are alike, told apart.
 *
 * A short name has the program's own frame and the innermost one (view site_short). Sites that came
 * there by other ways are alike in it: then the next caller that differs stands in the name, too,
 * "Net.forward (net.py:9) > Block.forward (net.py:4) > conv2d (functional.py:8)". Where that frame
 * is the same but for its folder, the folder is shown.
 */
#ifndef TIDEMARK_ANALYSIS_SITE_APART_H
#define TIDEMARK_ANALYSIS_SITE_APART_H

#include <stddef.h>
#include <stdint.h>

#include "db.h"

struct site_row {
    int64_t site; /* GROUP_NONE */
    int beside;   /* what else is in the row: rows that differ in it are apart */
    char **shown; /* as view site_short; NULL where it has no name. Replaced where it is alike */
};

/* Several rows may have one site: they stay alike. 0 or an error. */
int sites_tell_apart(struct db *db, const struct site_row *rows, size_t count);

#endif
