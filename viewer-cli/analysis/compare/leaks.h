/*
 * leaks.h - what steps leave behind: blocks born in one step and alive some steps later, by the
 * call that asked for them.
 *
 * The look is taken as the last complete step ends (category_steps), so what a program frees while
 * it shuts down counts as left. Steps that are too young to have left anything `keep` steps later
 * do not count, and neither do the first `warm_up` ones, in which gradients, optimizer states and
 * caches are made once.
 *
 * What is made between two steps, in an evaluation, counts as left by the step before it. What the
 * last evaluation alone left does not: the next may replace it. Where one came behind the look, and
 * the blocks lived on as it ended, it did not.
 *
 * How sure: of the steps that count, in how many the site left something. What is left in every
 * step is a leak; what is left in one of twenty may be a list of losses that somebody keeps. Of
 * what evaluations alone made, the steps with one behind them count.
 *
 * Invariants (leaks_is_valid): sites come by how sure it is, then by bytes, largest first; 1 <=
 * steps <= chances <= window of a site; bytes and blocks of the sites add up to the totals.
 */
#ifndef TIDEMARK_ANALYSIS_LEAKS_H
#define TIDEMARK_ANALYSIS_LEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "group.h"
#include "leak_holder.h"
#include "map.h"
#include "module_label.h"
#include "purpose.h"

enum leak_sure { LEAK_SURE, LEAK_LIKELY, LEAK_PERHAPS };

struct leak_site {
    int64_t site;       /* GROUP_NONE */
    char *name, *shown; /* NULL = not known */
    char *module;       /* of its blocks, as module_label.h has it; NULL = none */
    struct module_label modules;
    enum purpose purpose; /* of its largest block */
    int64_t largest;
    int64_t bytes, blocks; /* left, over all steps that count */
    int64_t steps;         /* that left something */
    int64_t first_step, last_step;
    bool between;     /* all of it was made between steps */
    int64_t outlived; /* of its blocks, those that lived on behind an evaluation after the look */
    int64_t chances;  /* of the window the steps that could have left it */
    double slope;     /* bytes a step */
    enum leak_sure sure;
    int64_t held;              /* blocks that a known variable leads to */
    int64_t votes;             /* for `holder`, while they are counted */
    struct leak_holder holder; /* of most of its blocks */
};

struct leak_evaluated {
    int64_t count, low, high; /* of the steps that count those with an evaluation behind them */
    int64_t last;             /* of all steps before the look; -1 = none */
};

struct leaks {
    bool on_host;                  /* the device is the CPU */
    bool steps_known;              /* false: no two steps are complete */
    int64_t first_step, last_step; /* that count; last < first: the run is too short */
    int64_t window;                /* how many steps count */
    int64_t seq;                   /* the look: what lives after this event */
    int64_t bytes, blocks;
    double slope; /* of all sites */
    struct leak_evaluated evaluated;
    struct leak_site *sites;
    size_t count, cap;
    struct leak_holders holders;
    struct map index; /* site to place, while they are collected */
};

/* What counts unless other numbers are asked for. */
enum { LEAK_KEEP = 2, LEAK_WARM_UP = 1 };
/* Steps in which a list that is cut shows whether it grows. */
enum { LEAK_A_WHILE = 20 };

struct leak_options {
    int64_t first_step, last_step; /* only births of these; INT64_MIN, INT64_MAX = all */
    int64_t keep;                  /* steps that a block must live on to count; >= 1 */
    int64_t warm_up;               /* steps at the beginning that do not count */
    size_t named;                  /* sites that get their names */
};

/* 0 or an error; leaks_clear in both cases. */
int leaks_read(struct db *db, int64_t process, int64_t device, const struct leak_options *options,
               struct leaks *out);
/* Sites that are alike in their names, of the first `most`, are told apart. 0 or an error. */
int leaks_tell_apart(struct db *db, struct leaks *leaks, size_t most);
void leaks_clear(struct leaks *leaks);
bool leaks_is_valid(const struct leaks *leaks);
const char *leak_sure_text(enum leak_sure sure);

#endif
