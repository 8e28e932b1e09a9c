/* levers_trial.c - see levers_trial.h. */
#include "levers_trial.h"

#include <string.h>

bool levers_is_repeated(const struct levers_unit *unit)
{
    for (size_t i = 1; i < unit->count; i++)
        if (unit->calls[i].forward == unit->calls[i - 1].forward)
            return true;
    return false;
}

bool levers_is_single(const struct levers_unit *unit)
{
    for (size_t i = 0; i < unit->count; i++)
        if (unit->calls[i].instance == SIZE_MAX ||
            unit->calls[i].instance != unit->calls[0].instance)
            return false;
    return unit->count && !unit->again;
}

/* "each Block": one that is called once is itself, and so is one instance that is called twice. */
static void put_name(const struct levers_unit *unit, struct buf *text)
{
    const bool each = (levers_is_repeated(unit) && !levers_is_single(unit)) || unit->again;
    buf_print(text, "%s%s", each ? "each " : "", unit->name);
}

static void put_unit(const struct levers_unit *unit, struct buf *text)
{
    put_name(unit, text);
    if (unit->instances)
        buf_print(text, " (%s)", unit->instances);
    if (unit->again)
        buf_text(text, " that is not checkpointed yet");
    if (unit->called && !unit->of_library)
        buf_print(text, ", called in %s", unit->called);
}

void levers_put_trial(enum levers_loop loop, const struct levers_trial *trial, bool normalizes,
                      struct buf *text)
{
    for (size_t i = 0; i < trial->count; i++) {
        buf_text(text, i ? " and " : "checkpoint ");
        put_unit(trial->units[i], text);
    }
    if (trial->units[0]->of_library)
        buf_print(text, ": %s",
                  levers_in_loop(loop, LEVER_CHECKPOINT,
                                 "model.gradient_checkpointing_enable("
                                 "gradient_checkpointing_kwargs={'use_reentrant': False})"));
    else
        buf_text(
            text,
            ": torch.utils.checkpoint.checkpoint(m, ..., use_reentrant=False) in place of m(...)");
    if (normalizes)
        buf_text(text, "; BatchNorm then updates its running statistics twice in each step");
}

void levers_put_brief(const struct levers_trial *trial, struct buf *text)
{
    for (size_t i = 0; i < trial->count; i++) {
        buf_text(text, i ? " and " : "checkpoint ");
        put_name(trial->units[i], text);
    }
}

/* "transformer.h" of "transformer.h[0-11]": one list of modules, as code has it. 0: it is another.
 */
static size_t bytes_of_list(const char *instances)
{
    const char *open = instances && !strchr(instances, '#') ? strchr(instances, '[') : NULL;
    const char *close = open ? strchr(open, ']') : NULL;
    return close && close[1] == '\0' && open > instances ? (size_t)(open - instances) : 0;
}

void levers_put_half(const struct levers_trial *trial, bool normalizes, struct buf *text)
{
    const struct levers_unit *unit = trial->units[0];
    const size_t list = bytes_of_list(unit->instances);
    buf_print(text, "checkpoint every second %s, half of the recomputation: ", unit->name);
    if (unit->of_library && list)
        buf_print(text,
                  "after model.gradient_checkpointing_enable(...): for m in model.%.*s[1::2]: "
                  "m.gradient_checkpointing = False",
                  (int)list, unit->instances);
    else if (unit->of_library)
        buf_text(text, "after model.gradient_checkpointing_enable(...): m.gradient_checkpointing = "
                       "False in every second layer m");
    else
        buf_text(text, "torch.utils.checkpoint.checkpoint(m, ..., use_reentrant=False) in [::2]");
    if (unit->instances && !unit->of_library)
        buf_print(text, " of %s", unit->instances);
    if (normalizes)
        buf_text(text, "; BatchNorm then updates its running statistics twice in each step");
}
