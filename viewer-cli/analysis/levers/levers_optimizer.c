/*
 * Levers on optimizers: what a step makes and lets go, and what it keeps.
 */
#include "error.h"
#include "levers_work.h"
#include "mem.h"
#include "query.h"

/* A frame of the implementations that make temporaries: one parameter after the other, or all. */
static const char made_sql[] =
    "SELECT coalesce(max(n.text LIKE '\\_single\\_tensor\\_adam%' ESCAPE '\\'"
    "        OR n.text LIKE '\\_multi\\_tensor\\_adam%' ESCAPE '\\'"
    "        OR n.text LIKE '\\_single\\_tensor\\_sgd%' ESCAPE '\\'"
    "        OR n.text LIKE '\\_multi\\_tensor\\_sgd%' ESCAPE '\\'"
    "        OR n.text LIKE '\\_single\\_tensor\\_adagrad%' ESCAPE '\\'"
    "        OR n.text LIKE '\\_multi\\_tensor\\_adagrad%' ESCAPE '\\'), 0) AS made"
    "  FROM site s JOIN frame f ON f.id = s.frame JOIN string n ON n.id = f.function"
    " WHERE s.site = ?1";

static const char any_sql[] = "SELECT EXISTS(SELECT 1 FROM string"
                              "  WHERE text LIKE '\\_single\\_tensor\\_%' ESCAPE '\\'"
                              "     OR text LIKE '\\_multi\\_tensor\\_%' ESCAPE '\\') AS named";

static int can_be_fused(struct levers_work *work, struct map *known, int64_t site, bool *yes)
{
    uint64_t before = map_get(known, (uint64_t)site);
    bool made = false;
    *yes = before == 1;
    if (site == GROUP_NONE || before != MAP_NONE)
        return 0;
    int err = query_read(work->seen.db, made_sql, Q_IN(site), Q_OUT(Q_INT(made)));
    *yes = made;
    if (err >= 0 && !map_put(known, (uint64_t)site, made, NULL))
        err = ERR_NOMEM;
    return err;
}

bool levers_is_temporary(const struct levers_step *step, const struct levers_block *block)
{
    const struct levers_phase *phase =
        levers_phase_around(&step->phases, LEVERS_OPTIMIZER, block->seq);
    return phase && block->end <= phase->end && block->purpose != PURPOSE_LIBRARY;
}

/* On the CPU since PyTorch 2.4; before, it raises. */
enum { FUSED_ON_HOST = 204 };

/* A fused kernel computes in place, from parameter, gradient and states. */
int levers_fused_optimizer(struct levers_work *work)
{
    struct levers_words words = {
        .kind = LEVER_FUSED_OPTIMIZER,
        .site = LEVERS_NONE,
        .before = "make the optimizer with fused=True: its step needs no temporaries then"};
    const struct levers_step *step = &work->seen.step;
    struct levers_edit edit = {0};
    struct map known = {0};
    bool named = false;
    if (work->seen.on_host && !levers_has(work, FUSED_ON_HOST))
        return 0;
    int err = query_read(work->seen.db, any_sql, Q_NOTHING, Q_OUT(Q_INT(named)));
    if (err < 0 || !named)
        return err;
    if (work->seen.on_host && !work->seen.torch)
        words.after = " (on the CPU: torch 2.4 or later)";
    for (size_t i = step->older; i < step->count && err >= 0; i++) {
        bool yes = false;
        if (!levers_is_temporary(step, &step->blocks[i]))
            continue;
        err = can_be_fused(work, &known, step->blocks[i].site, &yes);
        if (err >= 0 && yes && !levers_cut(&edit, i, INT64_MIN, LEVERS_NEVER))
            err = ERR_NOMEM;
    }
    map_clear(&known);
    if (err >= 0 && edit.count)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    return err;
}
