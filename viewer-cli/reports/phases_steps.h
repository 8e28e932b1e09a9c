/*
 * phases_steps.h - the step that a phase is listed with: its own, or, of an evaluation and of what
 * lies between that and the step, the one after which it ran. Recordings have no step there, so
 * that steps stay alike (docs/architecture.md).
 */
#ifndef TIDEMARK_REPORTS_PHASES_STEPS_H
#define TIDEMARK_REPORTS_PHASES_STEPS_H

#include <stdint.h>

#include "db.h"

/* For statements: the phase `ph` is an evaluation of no step, or leads to one. What a program names
 * itself around or before an evaluation does so, too. CASE asks for the phase behind it only where
 * that matters: SQLite computes both sides of AND in a column. It looks no more than a thousand
 * numbers ahead, of phases of all processes, threads and libraries: each phase looks for itself, so
 * without an end many thousands of a program's own in a row take minutes. */
#define PHASES_EVALUATES(ph)                                                                       \
    " CASE WHEN " ph ".step IS NULL AND " ph ".domain IS NULL AND " ph ".scope = 'process'"        \
    "        AND " ph ".kind IN ('eval', 'other', 'user')"                                         \
    "      THEN CASE " ph ".kind WHEN 'eval' THEN 1 ELSE coalesce('eval' ="                        \
    "        (SELECT n.kind FROM phase n WHERE n.process = " ph ".process"                         \
    "            AND n.id > " ph ".id AND n.id <= " ph ".id + 1000"                                \
    "            AND n.scope = 'process' AND n.domain IS NULL"                                     \
    "            AND n.kind NOT IN ('other', 'user') ORDER BY n.id LIMIT 1), 0) END ELSE 0 END "

/* For statements: it lies behind the beginning of the first of the steps ?3 to ?4 of process ?1 and
 * before the first step behind them. */
#define PHASES_BEHIND_STEPS(ph)                                                                    \
    " (" ph ".begin_seq > (SELECT min(begin_seq) FROM phase"                                       \
    "                       WHERE process = ?1 AND step BETWEEN ?3 AND ?4)"                        \
    "  AND " ph ".begin_seq < coalesce((SELECT min(begin_seq) FROM phase"                          \
    "                       WHERE process = ?1 AND step > ?4), 9223372036854775807)) "

/* The step of the last phase before that number which has one; QUERY_NONE: none has. */
int phases_step_before(struct db *db, int64_t process, int64_t id, int64_t *step);

struct phases_evaluation {
    int64_t peak, phase, step; /* bytes; QUERY_NONE: there was none */
    char *name;                /* free it */
};

/* The highest of the evaluations that ran after one of these steps. */
int phases_highest_evaluation(struct db *db, int64_t process, int64_t device, int64_t first,
                              int64_t last, struct phases_evaluation *out);

#endif
