/*
 * group.h - bytes and blocks gathered by something: a call site, the phase of their birth. Reports
 * show the largest and say what the others come to.
 *
 * Groups are collected in any order, sorted once, and only then named: a recording can have more
 * sites than anybody wants to read, and a name costs a walk over the frames of a stack.
 *
 * Invariants (groups_is_valid): no two groups have one id; once sorted, a group that is not smaller
 * comes first.
 */
#ifndef TIDEMARK_ANALYSIS_GROUP_H
#define TIDEMARK_ANALYSIS_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "map.h"

#define GROUP_NONE INT64_MIN /* no id; not known */

struct group {
    int64_t id;   /* site or phase.id, GROUP_NONE */
    char *name;   /* NULL = not known */
    char *kind;   /* of a phase */
    bool between; /* it is the time between phases */
    char *shown;  /* of a phase: with the phases around it; of a site: as view site_short; NULL */
    int64_t step; /* of a phase, GROUP_NONE */
    int64_t ordinal; /* of a phase: the how many-th of its name in its step, from 0 */
    int64_t bytes;
    int64_t blocks;
};

struct groups { /* all zero is empty */
    struct group *groups;
    size_t count, cap;
    struct map index; /* id to place, until they are sorted */
    bool sorted;
};

/* The group, made if it is new; NULL without memory. */
struct group *groups_of(struct groups *groups, int64_t id);

void groups_sort(struct groups *groups); /* by bytes, largest first */
/* Names of the first `most`; 0 or an error. */
int groups_name_sites(struct db *db, struct groups *groups, size_t most);
int groups_name_phases(struct db *db, struct groups *groups, size_t most);

/* The same names of the first `most` sites, told apart where they are alike. 0 or an error. */
int groups_tell_apart(struct db *db, struct groups *groups, size_t most);

void groups_clear(struct groups *groups);
bool groups_is_valid(const struct groups *groups);

/* For those who keep sites in records of their own: the names of a site, to be freed by the caller;
 * NULL for GROUP_NONE and for what is not there. */
int site_names(struct db *db, int64_t site, char **name, char **shown);

/* The phase's name with those around it, "forward > encoder"; NULL if there is no such phase. To be
 * freed by the caller. */
int phase_path(struct db *db, int64_t phase, char **out);

#endif
