#include "levers_model.h"

#include "peak.h"
#include "test.h"

int64_t at(int step, int offset)
{
    return 1000 + 1000 * step + offset;
}

static void phases_of(struct script *script, const struct model *model, int step)
{
    if (!model->no_zero_grad)
        script_phase(script, "zero_grad", step, at(step, ZERO), at(step, FORWARD) - 1);
    script_phase(script, "forward", step, at(step, FORWARD), at(step, LOSS) - 1);
    script_phase(script, "loss", step, at(step, LOSS), at(step, BACKWARD) - 1);
    script_phase(script, "backward", step, at(step, BACKWARD), at(step, OPTIMIZER) - 1);
    script_phase(script, "optimizer", step, at(step, OPTIMIZER), at(step, END));
}

/* Zeroed in place, a gradient stays, and the new values come and go. */
static void gradients_of(struct script *script, const struct model *model, int step)
{
    for (int i = 0; i < 4; i++) {
        int64_t born = at(step, BACKWARD) + 20 + 2 * i, end = born + 1;
        if (model->none)
            end = at(step + 1, ZERO) + 1 + i;
        else if (step == 0)
            end = SCRIPT_LIVES;
        script_block(script, born, end, MIB(25), BACKWARD_41);
    }
    if (model->other_count && step == 0)
        script_block(script, at(step, BACKWARD) + 40, at(step, BACKWARD) + 41, MIB(25),
                     BACKWARD_41);
}

static void step_of(struct script *script, const struct model *model, int step)
{
    int64_t forward = at(step, FORWARD), backward = at(step, BACKWARD);
    int64_t flight = MIB(model->flight ? model->flight : 60);
    int64_t end = backward + (model->activation_end ? model->activation_end : 10);
    phases_of(script, model, step);
    script_block(script, forward + 1, end, MIB(100), ENCODE);
    script_block(script, forward + 2, end + 1, MIB(100), ENCODE);
    script_block(script, forward + 48, model->released ? backward + 12 : at(step + 1, FORWARD) + 50,
                 MIB(60), DECODE);
    script_block(script, backward + 1, backward + 5, flight, BACKWARD_40);
    script_block(script, backward + 2, backward + 6, flight, BACKWARD_40);
    gradients_of(script, model, step);
    for (int i = 0; i < 2 && step == 0; i++)
        script_block(script, at(step, OPTIMIZER) + 1 + i, SCRIPT_LIVES, MIB(100), ADAM);
}

void train(struct script *script, const struct model *model)
{
    script_phase(script, "user", SCRIPT_OUTSIDE, 1, 99);
    for (int i = 0; i < 4; i++)
        script_block(script, 10 + i, SCRIPT_LIVES, MIB(25), BUILD);
    for (int step = 0; step < (model->steps ? model->steps : 3); step++)
        step_of(script, model, step);
}

/* ---- reading ---- */

struct levers read_levers(struct db *db, struct peak *peak)
{
    struct levers levers;
    REQUIRE(peak_read(db, 1, 1, INT64_MIN, INT64_MAX, 0, peak) == 0);
    CHECK_INT(levers_read(db, peak, false, &levers), 0);
    CHECK(levers_is_valid(&levers));
    return levers;
}

const struct lever *find(const struct levers *levers, enum lever_kind kind)
{
    for (size_t i = 0; i < levers->count; i++)
        if (levers->levers[i].kind == kind)
            return &levers->levers[i];
    return NULL;
}

int64_t worth(struct script *script, enum lever_kind kind, bool *at_most)
{
    struct peak peak;
    struct db *db = script_record(script);
    struct levers levers = read_levers(db, &peak);
    const struct lever *lever = find(&levers, kind);
    int64_t bytes = lever ? lever->bytes : -MIB(1);
    if (at_most)
        *at_most = lever && lever->at_most;
    CHECK_INT(bytes % MIB(1), 0);
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
    return bytes / MIB(1);
}

int64_t worth_of(const struct model *model, enum lever_kind kind, bool *at_most)
{
    struct script script = {0};
    train(&script, model);
    return worth(&script, kind, at_most);
}
