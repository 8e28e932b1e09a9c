/*
 * category.h - what a block is for, and which rule says so: the same as view allocation_category
 * (schema/100_views.sql), decided from what one process did, read once. The view looks up phases
 * and bounds for each block, which takes seconds where a hundred thousand blocks are asked for;
 * this takes microseconds for each thousand of them.
 *
 * The view is the promise. The two must agree on every block: tests/viewer/test_category.c holds
 * them to it, and a rule that changes here changes there.
 */
#ifndef TIDEMARK_ANALYSIS_CATEGORY_H
#define TIDEMARK_ANALYSIS_CATEGORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "purpose.h"

#define CATEGORY_UNKNOWN INT64_MIN

struct category_rules; /* of one process */

struct category_block {
    int64_t seq;
    int64_t free_seq; /* negative: it lives */
    int64_t tag;      /* tag.id, CATEGORY_UNKNOWN */
    int64_t phase;    /* as allocation_phase says; CATEGORY_UNKNOWN */
    int64_t size;
};

/* Which rule decided, in the order of the view. */
enum category_rule {
    RULE_TAG,
    RULE_LIBRARY_BY_FRAME,
    RULE_LIBRARY_BY_SITE,
    RULE_LIBRARY_BY_SIZE,
    RULE_GATHERED,    /* by FSDP */
    RULE_GATHERED_IN, /* what these are received in */
    RULE_COLLECTIVE,
    RULE_NO_STEP_SEEN,
    RULE_PARAMETER,
    RULE_PARAMETER_COPY,
    RULE_NOT_TAGGED,
    RULE_EARLY,
    RULE_WORKSPACE,
    RULE_GRADIENT_FREED,
    RULE_CUT_SHORT, /* an exception or the end of the process ended the step */
    RULE_CUT_OFF,   /* the recording ended inside of it */
    RULE_GRADIENT,
    RULE_OPTIMIZER_STATE,
    RULE_ACTIVATION,
    RULE_ACTIVATION_CUT_SHORT,
    RULE_ACTIVATION_CUT_OFF,
    RULE_HELD,
    RULE_OTHER_LIVING,
    RULE_OTHER_FREED
};

struct category_verdict {
    enum purpose purpose;
    enum category_rule by;
    const char *rule;    /* the rule in words, one text for each; as long as the rules */
    int64_t born, freed; /* phase.id, CATEGORY_UNKNOWN */
    int64_t step;        /* of its birth, CATEGORY_UNKNOWN */
};

/* 0 or an error; then *out is NULL. All phases of the process are read, once for each transaction:
 * the connection keeps what the last call made (db_keep), so that rules that are used are those of
 * the last call. Outside of a transaction category_free frees them. */
int category_load(struct db *db, int64_t process, struct category_rules **out);
void category_free(struct category_rules *rules);
/* Those that the connection keeps; NULL: none of that process. */
const struct category_rules *category_kept(struct db *db, int64_t process);
/* Of a process that exited well the last step if it has no backward, and the one before it has: a
 * forward behind the training, as of a test, begins a step, which ends with the program, when what
 * main() held is free. CATEGORY_UNKNOWN: there is none. */
int64_t category_test_behind(const struct category_rules *rules);
/* The first step, and of those that have ended the last but for such a test, with its last event.
 * False: none has ended. */
bool category_steps(const struct category_rules *rules, int64_t *first_step, int64_t *last_step,
                    int64_t *end_seq);
/* Those that have phases, in no order: index < category_step_count. */
size_t category_step_count(const struct category_rules *rules);
void category_step_begin(const struct category_rules *rules, size_t index, int64_t *step,
                         int64_t *begin_seq);
bool category_is_valid(const struct category_rules *rules);

/* 0 or an error. */
int category_decide(struct category_rules *rules, const struct category_block *block,
                    struct category_verdict *out);

#endif
