/* levers_work.c - see levers_work.h. */
#include "levers_work.h"

#include <string.h>

#include "buf.h"
#include "error.h"
#include "group.h"
#include "mem.h"

/* A change is of use only from there on. */
int64_t levers_least(int64_t whole)
{
    return whole / 100 > 1 ? whole / 100 : 1;
}

bool levers_has(const struct levers_work *work, int64_t since)
{
    return !work->seen.torch || work->seen.torch >= since;
}

int levers_add(struct levers_work *work, int64_t bytes, int64_t reserved,
               const struct levers_words *words)
{
    struct levers *out = work->out;
    struct buf text = {0};
    if (!MEM_GROW(out->levers, out->cap, out->count + 1))
        return ERR_NOMEM;
    struct lever *lever = &out->levers[out->count++];
    *lever = (struct lever){.kind = words->kind,
                            .at_most = words->at_most,
                            .estimated = words->estimated,
                            .changes = words->changes,
                            .elsewhere = words->elsewhere,
                            .next_step = LEVERS_NONE,
                            .bytes = bytes,
                            .reserved = reserved,
                            .site = words->site};
    char *name = NULL;
    int err = site_names(work->seen.db, words->site, &name, &lever->site_text);
    mem_free(name);
    buf_text(&text, words->before);
    lever->name_at = !words->name && lever->site_text ? text.count : 0;
    if (words->name || lever->site_text)
        buf_text(&text, words->name ? words->name : lever->site_text);
    buf_text(&text, words->after ? words->after : "");
    if (err == 0 && text.broken)
        err = ERR_NOMEM;
    if (err == 0 && !(lever->text = mem_copy(buf_string(&text), text.count)))
        err = ERR_NOMEM;
    buf_clear(&text);
    return err;
}

/* Bytes that are not there any more at that moment. */
static void find_alive(const struct levers_step *step, const struct levers_edit *edit,
                       int64_t *alive, int64_t *held)
{
    *alive = *held = 0;
    for (size_t i = 0; i < edit->count; i++) {
        const struct levers_change *change = &edit->changes[i];
        const struct levers_block *block = &step->blocks[change->block];
        if (change->how == LEVERS_CUT && change->from <= step->peak && change->to > step->peak &&
            levers_at_peak(step, block)) {
            *alive += block->size;
            *held += block->purpose == PURPOSE_HELD ? block->size : 0;
        }
    }
}

/* Step and phase of the highest point that is left; of a refusal there is none. */
static int find_next(const struct levers_work *work, int64_t at, struct lever *lever)
{
    const struct levers_phase *phase = levers_phase_at(&work->seen.step.phases, at);
    if (!phase || work->seen.step.moment != LEVERS_NEVER)
        return 0;
    lever->next_step = phase->step;
    lever->next_phase = mem_copy(phase->name, strlen(phase->name));
    return lever->next_phase ? 0 : ERR_NOMEM;
}

/* What the source counts and never showed is there with the lever too. */
int64_t levers_saved(const struct levers_work *work, int64_t highest, bool anew)
{
    int64_t unseen = work->seen.peak->allocated - work->seen.step.highest;
    if (!anew && highest + unseen < work->out->floor)
        highest = work->out->floor - unseen;
    return work->seen.step.highest - highest;
}

int levers_try(struct levers_work *work, struct levers_edit *edit, const struct levers_words *words)
{
    int64_t highest, bytes, at;
    work->out->tried += edit->count > 0;
    int err = levers_highest(&work->seen.step, edit, &highest, &at);
    if (err < 0)
        return err;
    bytes = levers_saved(work, highest, words->anew);
    if (bytes < levers_least(work->out->peak))
        return 0;
    if (!MEM_GROW(work->kept, work->kept_cap, work->kept_count + 1))
        return ERR_NOMEM;
    int64_t alive, held;
    find_alive(&work->seen.step, edit, &alive, &held);
    struct levers_kept *kept = &work->kept[work->kept_count++];
    *kept = (struct levers_kept){.lever = work->out->count, .edit = *edit};
    *edit = (struct levers_edit){0};
    if (words->brief && !(kept->brief = mem_copy(words->brief, strlen(words->brief))))
        return ERR_NOMEM;
    err = levers_add(work, bytes, LEVERS_NONE, words);
    if (err < 0)
        return err;
    struct lever *lever = &work->out->levers[work->out->count - 1];
    lever->alive = alive;
    lever->held = held;
    lever->estimated = lever->estimated ||
                       (work->uncut && !lever->at_most && bytes < LEVERS_SURE_OF * work->uncut);
    return find_next(work, at, lever);
}
