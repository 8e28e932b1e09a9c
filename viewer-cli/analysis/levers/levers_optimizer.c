/*
 * Levers on optimizers: what a step makes and lets go, and what it keeps.
 */
#include "error.h"
#include "levers_work.h"
#include "mem.h"

/* A frame of the implementations that make temporaries: one parameter after the other, or all. */
static const char made_sql[] =
    "SELECT max(n.text LIKE '\\_single\\_tensor\\_adam%' ESCAPE '\\'"
    "        OR n.text LIKE '\\_multi\\_tensor\\_adam%' ESCAPE '\\'"
    "        OR n.text LIKE '\\_single\\_tensor\\_sgd%' ESCAPE '\\'"
    "        OR n.text LIKE '\\_multi\\_tensor\\_sgd%' ESCAPE '\\'"
    "        OR n.text LIKE '\\_single\\_tensor\\_adagrad%' ESCAPE '\\'"
    "        OR n.text LIKE '\\_multi\\_tensor\\_adagrad%' ESCAPE '\\')"
    "  FROM site s JOIN frame f ON f.id = s.frame JOIN string n ON n.id = f.function"
    " WHERE s.site = ?1";

static int can_be_fused(struct levers_work *work, struct db_stmt *stmt, struct map *known,
                        int64_t site, bool *yes)
{
    uint64_t before = map_get(known, (uint64_t)site);
    *yes = before == 1;
    if (site == GROUP_NONE || before != MAP_NONE)
        return 0;
    (void)work;
    db_bind_int(stmt, 0, site);
    int err = db_step(stmt);
    *yes = err == DB_ROW && db_column_int(stmt, 0) == 1;
    db_reset(stmt);
    if (err >= 0 && !map_put(known, (uint64_t)site, *yes, NULL))
        err = ERR_NOMEM;
    return err < 0 ? err : 0;
}

static bool is_temporary(const struct levers_step *step, const struct levers_block *block)
{
    const struct levers_phase *phase =
        levers_phase_around(&step->phases, LEVERS_OPTIMIZER, block->seq);
    return phase && block->end <= phase->end && block->purpose != PURPOSE_LIBRARY;
}

/* A fused kernel computes in place, from parameter, gradient and states. */
int levers_fused_optimizer(struct levers_work *work)
{
    const struct levers_words words = {
        .kind = LEVER_FUSED_OPTIMIZER,
        .site = LEVERS_NONE,
        .before = "make the optimizer with fused=True: its step needs no temporaries then"};
    const struct levers_step *step = &work->step;
    struct levers_edit edit = {0};
    struct map known = {0};
    struct db_stmt *stmt = NULL;
    int err = db_prepare(work->db, &stmt, made_sql);
    for (size_t i = step->older; i < step->count && err >= 0; i++) {
        bool yes = false;
        if (!is_temporary(step, &step->blocks[i]))
            continue;
        err = can_be_fused(work, stmt, &known, step->blocks[i].site, &yes);
        if (err >= 0 && yes && !levers_cut(&edit, i, INT64_MIN, LEVERS_NEVER))
            err = ERR_NOMEM;
    }
    db_finalize(stmt);
    map_clear(&known);
    if (err >= 0 && edit.count)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    return err;
}
