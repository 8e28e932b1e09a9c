#include "levers_step.h"

#include "block_rows.h"
#include "category_rules.h"
#include "error.h"
#include "group.h"
#include "levers_window.h"
#include "mem.h"
#include "query.h"
#include "radix.h"
#include "search.h"
#include "span.h"

/* ---- blocks ---- */

/* From the last keyframe before the window to its end, in one pass. */
#define COLUMNS                                                                                    \
    "a.seq, a.size, a.free_seq AS \"end\", a.site, a.requested AS asked, a.tag, a.module, "
#define LIVES " WHERE a.free_seq NOT BETWEEN 0 AND ?3 - 1 AND" BLOCK_ROWS_THEIRS
#define BLOCKS(born, join)                                                                         \
    "WITH base(seq) AS (SELECT coalesce((SELECT max(seq) FROM keyframe WHERE seq < ?3), -1))"      \
    "SELECT " COLUMNS born " FROM base CROSS JOIN keyframe k ON k.seq = base.seq"                  \
    "  CROSS JOIN allocation a ON a.seq = k.allocation" join LIVES                                 \
    "   AND k.allocation >= " SPAN_FIRST " UNION ALL "                                             \
    "SELECT " COLUMNS born " FROM base"                                                            \
    "  CROSS JOIN allocation a ON a.seq > max(base.seq, " SPAN_FIRST " - 1)"                       \
    "   AND a.seq <= ?4" join LIVES
static const char *const blocks_sql[] = BLOCK_ROWS_TEXTS(BLOCKS);

bool levers_at_peak(const struct levers_step *step, const struct levers_block *block)
{
    return block->seq <= step->peak && block->end > step->peak;
}

/* What the columns tell. */
struct told {
    struct levers_block block;
    int64_t tag, born;
};

static int decide(struct category_rules *rules, const struct told *told, struct levers_block *block,
                  struct levers_step *out)
{
    struct category_verdict verdict;
    const struct category_block asked = {block->seq, told->block.end, told->tag, told->born,
                                         block->size};
    int err = category_decide(rules, &asked, &verdict);
    if (err < 0)
        return err;
    block->purpose = verdict.purpose;
    block->tagged = verdict.by == RULE_TAG;
    out->cut_short = out->cut_short ||
                     (levers_at_peak(out, block) &&
                      (verdict.by == RULE_CUT_SHORT || verdict.by == RULE_ACTIVATION_CUT_SHORT));
    return 0;
}

static int take_block(struct category_rules *rules, const struct told *told,
                      struct levers_step *out)
{
    if (out->count == LEVERS_MOST)
        return ERR_LIMIT;
    if (!MEM_GROW(out->blocks, out->cap, out->count + 1))
        return ERR_NOMEM;
    struct levers_block *block = &out->blocks[out->count++];
    *block = told->block;
    block->tag = told->tag;
    block->asked = block->asked == GROUP_NONE ? block->size : block->asked;
    if (block->end < 0)
        block->end = LEVERS_NEVER;
    out->older += block->seq < out->begin;
    out->base += block->seq < out->begin ? block->size : 0;
    return decide(rules, told, block, out);
}

static int read_rows(struct db *db, const struct peak *peak, struct category_rules *rules,
                     struct levers_step *out)
{
    struct told told = {0};
    struct block_rows theirs;
    int err = block_rows_find(db, peak->process, peak->device, &theirs);
    if (err < 0)
        return err;
    struct query query =
        query_ask(db, blocks_sql[theirs.born],
                  Q_IN(peak->process, peak->device, out->begin, out->end, BLOCK_ROWS_IN(theirs)),
                  Q_OUT(Q_INT(told.block.seq), Q_SIZE(told.block.size), Q_INT(told.block.end),
                        Q_OPT(told.block.site), Q_OPT(told.block.asked), Q_OPT(told.block.module),
                        Q_OPT(told.tag), Q_OPT(told.born)));
    while (query_next(&query))
        query_fail(&query, take_block(rules, &told, out));
    return query_end(&query);
}

static int read_blocks(struct db *db, const struct peak *peak, struct levers_step *out)
{
    struct category_rules *rules;
    int err = category_load(db, peak->process, &rules);
    if (err == 0)
        err = read_rows(db, peak, rules, out);
    category_free(rules);
    if (err == 0 && !radix_sort(out->blocks, out->count, sizeof *out->blocks))
        err = ERR_NOMEM;
    return err;
}

size_t levers_first_from(const struct levers_step *step, int64_t seq)
{
    size_t at;
    SEARCH_FIRST(at, 0, step->count, step->blocks[at].seq < seq);
    return at;
}

/* A category knows the last backward of a step. In one with several, what outlives the backward
 * that follows its birth is held by the program, too. */
static void find_held(struct levers_step *step)
{
    for (size_t i = step->older; i < step->count; i++) {
        struct levers_block *block = &step->blocks[i];
        if (block->tagged || block->purpose != PURPOSE_OTHER ||
            !levers_computes(&step->phases, block->seq))
            continue;
        const struct levers_phase *backward =
            levers_phase_after(&step->phases, LEVERS_BACKWARD, block->seq);
        if (backward && block->end > backward->end)
            block->purpose = PURPOSE_HELD;
    }
}

/* ---- events ---- */

static int make_events(struct levers_step *step)
{
    const struct levers_edit nothing = {0};
    struct levers_event *event = mem_resize(NULL, 2 * step->count + 1, sizeof *event);
    if (!(step->events = event))
        return ERR_NOMEM;
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (i >= step->older)
            *event++ = (struct levers_event){block->seq, block->size};
        if (block->end <= step->end)
            *event++ = (struct levers_event){block->end, -block->size};
    }
    step->event_count = (size_t)(event - step->events);
    if (!radix_sort(step->events, step->event_count, sizeof *event))
        return ERR_NOMEM;
    return levers_highest(step, &nothing, &step->highest, NULL);
}

static int read_with(struct db *db, const struct peak *peak,
                     int (*find)(struct db *db, const struct peak *peak, struct levers_step *out),
                     struct levers_step *out)
{
    *out = (struct levers_step){.step = peak->step, .peak = peak->living_seq};
    out->moment = peak->refused ? peak->seq : LEVERS_NEVER;
    int err = find(db, peak, out);
    if (err == 0)
        err = levers_phases_read(db, peak->process, out->begin, out->end, &out->phases);
    if (err == 0)
        err = read_blocks(db, peak, out);
    if (err == 0)
        find_held(out);
    if (err == 0 && out->cut_short)
        err = levers_hold_as_before(db, peak, out);
    if (err == 0)
        err = make_events(out);
    return err;
}

int levers_step_read(struct db *db, const struct peak *peak, struct levers_step *out)
{
    return read_with(db, peak, levers_window_find, out);
}

int levers_step_read_run(struct db *db, const struct peak *peak, struct levers_step *out)
{
    return read_with(db, peak, levers_window_run, out);
}

void levers_step_clear(struct levers_step *step)
{
    levers_phases_clear(&step->phases);
    mem_free(step->blocks);
    mem_free(step->events);
    *step = (struct levers_step){0};
}

static bool blocks_are_valid(const struct levers_step *step)
{
    int64_t base = 0;
    if (step->older > step->count)
        return false;
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if ((i && block->seq <= step->blocks[i - 1].seq) || block->end <= block->seq ||
            (i < step->older) != (block->seq < step->begin) || block->end < step->begin)
            return false;
        base += i < step->older ? block->size : 0;
    }
    return base == step->base;
}

bool levers_step_is_valid(const struct levers_step *step)
{
    int64_t now = step->base, left = 0, highest = step->base, before = step->base;
    if (!blocks_are_valid(step) || !levers_phases_is_valid(&step->phases))
        return false;
    for (size_t i = 0; i < step->count; i++)
        left += step->blocks[i].end > step->end ? step->blocks[i].size : 0;
    for (size_t i = 0; i < step->event_count; i++) {
        if (i && step->events[i].seq < step->events[i - 1].seq)
            return false;
        now += step->events[i].change;
        highest = now > highest ? now : highest;
        before += step->events[i].seq < step->moment ? step->events[i].change : 0;
    }
    highest = step->moment != LEVERS_NEVER ? before : highest;
    return now == left && highest == step->highest;
}
