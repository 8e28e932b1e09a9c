#include "phases_steps.h"

#include "query.h"

int phases_step_before(struct db *db, int64_t process, int64_t id, int64_t *step)
{
    *step = QUERY_NONE;
    return query_read(db,
                      "SELECT step FROM phase WHERE process = ?1 AND id < ?2 AND step IS NOT NULL"
                      " ORDER BY id DESC LIMIT 1",
                      Q_IN(process, id), Q_OUT(Q_OPT(*step)));
}

int phases_highest_evaluation(struct db *db, int64_t process, int64_t device, int64_t first,
                              int64_t last, struct phases_evaluation *out)
{
    *out = (struct phases_evaluation){QUERY_NONE, QUERY_NONE, QUERY_NONE, NULL};
    int err = query_read(db,
                         "SELECT pd.peak_allocated AS peak, ph.id AS phase, ph.name FROM phase ph"
                         "  JOIN phase_device pd ON pd.phase = ph.id AND pd.device = ?2"
                         " WHERE ph.process = ?1 AND ph.step IS NULL AND" PHASES_BEHIND_STEPS(
                             "ph") " AND" PHASES_EVALUATES("ph") "ORDER BY 1 DESC, ph.id LIMIT 1",
                         Q_IN(process, device, first, last),
                         Q_OUT(Q_INT(out->peak), Q_INT(out->phase), Q_COPY(out->name)));
    if (err >= 0 && out->phase != QUERY_NONE)
        err = phases_step_before(db, process, out->phase, &out->step);
    return err < 0 ? err : 0;
}
