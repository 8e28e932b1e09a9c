/*
 * A block is decided by two searches in the row of stretches and the rules in the order of the
 * view, with its arithmetic: a comparison with something that is not known is not true.
 *
 * Rules are texts such as "allocated in forward, freed in backward"; each that comes up is made
 * once.
 */
#include "category_rules.h"

#include "buf.h"
#include "error.h"
#include "mem.h"
#include "query.h"
#include "search.h"

/* %1 and %2 are the roles of the phases of birth and end. */
static const struct {
    enum purpose purpose;
    const char *text[3]; /* what stands before, between and after the roles */
} rules_of[] = {
    [RULE_TAG] = {PURPOSE_OTHER, {"tag"}}, /* of that purpose which the tag names */
    [RULE_LIBRARY_BY_FRAME] = {PURPOSE_LIBRARY, {"allocated inside cuBLAS' wrapper, kept"}},
    [RULE_LIBRARY_BY_SITE] =
        {PURPOSE_LIBRARY,
         {"as large as cuBLAS' workspace, allocated in a matrix multiplication, "
          "kept"}},
    [RULE_LIBRARY_BY_SIZE] = {PURPOSE_LIBRARY,
                              {"as large as cuBLAS' workspace, without a tag, kept"}},
    [RULE_GATHERED] = {PURPOSE_GATHERED, {"gathered by FSDP from all ranks"}},
    [RULE_GATHERED_IN] = {PURPOSE_COMMUNICATION, {"FSDP gathers parameters in it"}},
    [RULE_COLLECTIVE] = {PURPOSE_COMMUNICATION,
                         {"allocated by torch.distributed and freed inside one phase"}},
    [RULE_NO_STEP_SEEN] = {PURPOSE_OTHER, {"no step was seen"}},
    [RULE_PARAMETER] = {PURPOSE_PARAMETER, {"live before the first step and to the end"}},
    [RULE_PARAMETER_COPY] =
        {PURPOSE_COPY,
         {"as large as a parameter, made after it and before the first step, live "
          "to the end"}},
    [RULE_NOT_TAGGED] =
        {PURPOSE_OTHER,
         {"live before the first step and to the end, but not tagged as a parameter"}},
    [RULE_EARLY] = {PURPOSE_OTHER, {"allocated before the first step, freed before the end"}},
    [RULE_WORKSPACE] = {PURPOSE_WORKSPACE, {"allocated and freed inside one phase"}},
    [RULE_GRADIENT_FREED] = {PURPOSE_GRADIENT, {"allocated in backward, freed by zero_grad"}},
    [RULE_CUT_SHORT] = {PURPOSE_OTHER, {"allocated in backward, live when the step was cut short"}},
    [RULE_CUT_OFF] = {PURPOSE_OTHER,
                      {"allocated in backward, live when the recording ended inside the step"}},
    [RULE_GRADIENT] = {PURPOSE_GRADIENT, {"allocated in backward, live at the end of the step"}},
    [RULE_OPTIMIZER_STATE] = {PURPOSE_OPTIMIZER_STATE,
                              {"allocated in the first optimizer phase, still live"}},
    [RULE_ACTIVATION] = {PURPOSE_ACTIVATION, {"allocated in ", ", freed in ", ""}},
    [RULE_ACTIVATION_CUT_SHORT] = {PURPOSE_ACTIVATION,
                                   {"allocated in ", ", live when the step was cut short"}},
    [RULE_ACTIVATION_CUT_OFF] = {PURPOSE_ACTIVATION,
                                 {"allocated in ", ", live when the recording ended"}},
    [RULE_HELD] = {PURPOSE_HELD, {"allocated in ", ", live after backward"}},
    [RULE_OTHER_LIVING] = {PURPOSE_OTHER, {"allocated in ", ", live at the end"}},
    [RULE_OTHER_FREED] = {PURPOSE_OTHER, {"allocated in ", ", freed in ", ""}},
};

static const char *make_rule(struct category_rules *rules, enum category_rule by, uint16_t role,
                             uint16_t freed_role)
{
    const char *const *parts = rules_of[by].text;
    struct buf text = {0};
    if (!MEM_GROW(rules->texts, rules->text_cap, rules->text_count + 1))
        return NULL;
    buf_print(&text, "%s%s%s%s", parts[0], category_kind_name(rules, role), parts[1],
              parts[2] ? category_kind_name(rules, freed_role) : "");
    char *made = text.broken ? NULL : mem_copy(buf_string(&text), text.count);
    buf_clear(&text);
    if (made)
        rules->texts[rules->text_count++] = made;
    return made;
}

static const char *rule_text(struct category_rules *rules, enum category_rule by, uint16_t role,
                             uint16_t freed_role)
{
    if (!rules_of[by].text[1])
        return rules_of[by].text[0];
    if (!rules_of[by].text[2])
        freed_role = PHASE_KIND_NONE;
    uint64_t key = (uint64_t)by << 32 | (uint64_t)role << 16 | freed_role;
    uint64_t place = map_get(&rules->text_index, key);
    if (place != MAP_NONE)
        return rules->texts[place];
    place = rules->text_count;
    if (!make_rule(rules, by, role, freed_role) || !map_put(&rules->text_index, key, place, NULL))
        return NULL;
    return rules->texts[place];
}

/* Is `place` the first stretch that begins after seq? */
static bool is_behind(const struct category_rules *rules, size_t place, int64_t seq)
{
    return (!place || rules->stretches[place - 1].begin_seq <= seq) &&
           (place == rules->stretch_count || rules->stretches[place].begin_seq > seq);
}

/* Blocks come in the order of their births, mostly, so that many ask for one place; `near` is that
 * of the last answer. */
static uint32_t phase_at(const struct category_rules *rules, int64_t seq, size_t *near)
{
    if (!rules->stretch_count || seq < rules->stretches[0].begin_seq)
        return CATEGORY_NO_PHASE;
    if (!is_behind(rules, *near, seq))
        SEARCH_FIRST(*near, 0, rules->stretch_count, rules->stretches[*near].begin_seq <= seq);
    return rules->stretches[*near - 1].phase;
}

static bool is_later(int64_t seq, int64_t bound) /* false where the bound is not known */
{
    return bound != CATEGORY_UNKNOWN && seq > bound;
}

static bool is_computed(uint16_t role)
{
    return role == PHASE_KIND_FORWARD || role == PHASE_KIND_LOSS || role == PHASE_KIND_RECOMPUTE;
}

/* Of a model, in a program that does not train. */
static bool is_call(uint16_t role)
{
    return role == PHASE_KIND_FORWARD || role == PHASE_KIND_FORWARD_NO_GRAD ||
           role == PHASE_KIND_EVAL;
}

/* A block and all that the rules ask about it. */
struct question {
    int64_t seq, free_seq, size;
    bool lives, tagged;
    uint32_t born, freed; /* indices, CATEGORY_NO_PHASE */
    uint16_t role, freed_role, freed_kind;
    int64_t step;         /* of its birth, CATEGORY_UNKNOWN */
    int64_t end_seq;      /* of that step, CATEGORY_UNKNOWN */
    int64_t backward_end; /* likewise */
    int64_t cut;          /* likewise */
};

/* It lived when its step was cut short, before the backward was done. */
static bool is_cut_short(const struct question *q)
{
    return q->backward_end == CATEGORY_UNKNOWN && q->cut != CATEGORY_UNKNOWN && q->seq <= q->cut &&
           (q->lives || q->free_seq > q->cut);
}

static enum category_rule by_computation(const struct category_rules *rules,
                                         const struct question *q)
{
    if (is_computed(q->role)) {
        if (q->freed_role == PHASE_KIND_BACKWARD || q->freed_role == PHASE_KIND_RECOMPUTE)
            return RULE_ACTIVATION;
        if (is_cut_short(q))
            return RULE_ACTIVATION_CUT_SHORT;
        if (q->lives && q->backward_end == CATEGORY_UNKNOWN && q->step != CATEGORY_UNKNOWN &&
            q->step == rules->last_step)
            return RULE_ACTIVATION_CUT_OFF;
        if (q->backward_end != CATEGORY_UNKNOWN && q->seq < q->backward_end &&
            (q->lives || q->free_seq > q->backward_end))
            return RULE_HELD;
    }
    return q->lives ? RULE_OTHER_LIVING : RULE_OTHER_FREED;
}

/* Born before the first step. */
static enum category_rule by_tags_of_others(const struct category_rules *rules,
                                            const struct question *q)
{
    static const enum category_rule rules_by[] = {[COPIES_NO_TAGS] = RULE_PARAMETER,
                                                  [COPIES_NONE] = RULE_NOT_TAGGED,
                                                  [COPIES_COPY] = RULE_PARAMETER_COPY};
    if (!q->lives && !is_later(q->free_seq, rules->last_seq))
        return RULE_EARLY;
    return rules_by[category_copies_decide(&rules->copies, q->seq, q->size, q->tagged)];
}

/* By the functions of FSDP or torch.distributed that asked for it. */
static bool by_sharing(const struct category_rules *rules, const struct question *q,
                       enum category_rule *by)
{
    static const enum category_rule rules_by[] = {[SHARING_GATHERED] = RULE_GATHERED,
                                                  [SHARING_GATHERED_IN] = RULE_GATHERED_IN,
                                                  [SHARING_COLLECTIVE] = RULE_COLLECTIVE};
    enum sharing_verdict verdict = category_sharing_decide(&rules->sharing, q->seq);
    if (verdict == SHARING_NONE ||
        (verdict == SHARING_COLLECTIVE && (q->born == CATEGORY_NO_PHASE || q->born != q->freed)))
        return false;
    *by = rules_by[verdict];
    return true;
}

/* The rules in the order of the view: the first that is true decides. */
static enum category_rule judge(const struct category_rules *rules, const struct question *q)
{
    bool outlives_step = q->lives || is_later(q->free_seq, q->end_seq);
    enum category_rule by;
    if (by_sharing(rules, q, &by))
        return by;
    bool inside = q->born != CATEGORY_NO_PHASE && q->born == q->freed;
    if (!rules->step_count)
        return inside && is_call(q->role) ? RULE_WORKSPACE : RULE_NO_STEP_SEEN;
    if (q->seq < rules->first_seq)
        return by_tags_of_others(rules, q);
    if (inside)
        return RULE_WORKSPACE;
    if (q->role == PHASE_KIND_BACKWARD && !q->lives && q->freed_kind == PHASE_KIND_ZERO_GRAD)
        return RULE_GRADIENT_FREED;
    if (q->role == PHASE_KIND_BACKWARD && is_cut_short(q))
        return RULE_CUT_SHORT;
    if (q->role == PHASE_KIND_BACKWARD && q->end_seq == CATEGORY_UNKNOWN && q->lives)
        return RULE_CUT_OFF;
    if (q->role == PHASE_KIND_BACKWARD && outlives_step)
        return RULE_GRADIENT;
    if (q->role == PHASE_KIND_OPTIMIZER && q->step != CATEGORY_UNKNOWN &&
        q->step == rules->optimizer_step && outlives_step)
        return RULE_OPTIMIZER_STATE;
    return by_computation(rules, q);
}

static void look_up(struct category_rules *rules, const struct category_block *block,
                    struct question *q)
{
    *q = (struct question){.seq = block->seq,
                           .free_seq = block->free_seq,
                           .size = block->size,
                           .tagged = block->tag != CATEGORY_UNKNOWN,
                           .lives = block->free_seq < 0,
                           .step = CATEGORY_UNKNOWN,
                           .end_seq = CATEGORY_UNKNOWN,
                           .backward_end = CATEGORY_UNKNOWN,
                           .cut = CATEGORY_UNKNOWN};
    q->born = block->phase != CATEGORY_UNKNOWN ? category_phase_index(rules, block->phase)
                                               : phase_at(rules, block->seq, &rules->near_birth);
    q->freed = phase_at(rules, block->free_seq, &rules->near_end);
    if (q->freed != CATEGORY_NO_PHASE) {
        q->freed_role = rules->phases[q->freed].role;
        q->freed_kind = rules->phases[q->freed].kind;
    }
    if (q->born == CATEGORY_NO_PHASE)
        return;
    const struct category_phase *born = &rules->phases[q->born];
    q->role = born->role;
    if (born->step == CATEGORY_NO_STEP)
        return;
    q->step = rules->steps[born->step].step;
    q->end_seq = rules->steps[born->step].end_seq;
    q->backward_end = rules->steps[born->step].backward_end_seq;
    q->cut = rules->steps[born->step].cut_seq;
}

/* A recording of many processes has many tags, and a process a few of them. */
static int find_tag(struct category_rules *rules, int64_t tag, uint64_t *category)
{
    *category = map_get(&rules->tags, (uint64_t)tag);
    if (*category != MAP_NONE)
        return 0;
    int64_t found = TAG_NONE;
    int err = query_first(rules->db, "SELECT category AS found FROM tag WHERE id = ?", Q_IN(tag),
                          Q_OUT(Q_INT(found)));
    bool known = found > TAG_NONE && found < TAG_OTHER;
    *category = err == DB_ROW && !known ? TAG_OTHER : (uint64_t)found;
    if (err >= 0 && !map_put(&rules->tags, (uint64_t)tag, *category, NULL))
        err = ERR_NOMEM;
    return err < 0 ? err : 0;
}

/* *out is PURPOSES if no tag says it. */
static int tag_purpose(struct category_rules *rules, int64_t tag, uint16_t role, enum purpose *out)
{
    static const enum purpose purposes[] = {
        [TAG_NONE] = PURPOSES,
        [TAG_PARAMETER] = PURPOSE_PARAMETER,
        [TAG_GRADIENT] = PURPOSE_GRADIENT,
        [TAG_OPTIMIZER_STATE] = PURPOSE_OPTIMIZER_STATE,
        [TAG_ACTIVATION] = PURPOSE_ACTIVATION,
        [TAG_INPUT] = PURPOSE_INPUT,
        [TAG_BUCKET] = PURPOSE_BUCKET,
        [TAG_WORKSPACE] = PURPOSE_WORKSPACE,
        [TAG_OTHER] = PURPOSE_OTHER,
    };
    uint64_t category = TAG_NONE;
    int err = tag == CATEGORY_UNKNOWN ? 0 : find_tag(rules, tag, &category);
    bool computed = is_computed(role) || role == PHASE_KIND_BACKWARD || role == PHASE_KIND_EVAL;
    *out = err < 0 || (category == TAG_INPUT && computed) ? PURPOSES : purposes[category];
    return err;
}

/* Before all other rules: what a library keeps lives like a parameter, or like what is held. */
static int by_library(struct category_rules *rules, const struct category_block *block,
                      const struct question *q, enum category_rule *by, bool *found)
{
    static const enum category_rule rules_by[] = {[LIBRARY_FRAME] = RULE_LIBRARY_BY_FRAME,
                                                  [LIBRARY_MULTIPLY] = RULE_LIBRARY_BY_SITE,
                                                  [LIBRARY_NO_TAG] = RULE_LIBRARY_BY_SIZE};
    const struct library_birth birth = {
        .backward = q->role == PHASE_KIND_BACKWARD,
        .proves = rules->step_count && rules->last_step > rules->first_step &&
                  (q->seq < rules->first_seq || q->step == rules->first_step),
    };
    enum library_proof proof = LIBRARY_NONE;
    int err = 0;
    if (block->tag == CATEGORY_UNKNOWN &&
        (q->lives || (rules->step_count && is_later(q->free_seq, rules->last_seq))))
        err = category_library_decide(rules->db, &rules->library, q->seq, block->size, &birth,
                                      &proof);
    *found = proof != LIBRARY_NONE;
    *by = rules_by[proof];
    return err;
}

/* What no tag says. */
static int decide_by_life(struct category_rules *rules, const struct category_block *block,
                          const struct question *q, struct category_verdict *out)
{
    bool found;
    int err = by_library(rules, block, q, &out->by, &found);
    if (err >= 0 && !found)
        out->by = judge(rules, q);
    if (err >= 0)
        out->purpose = rules_of[out->by].purpose;
    return err;
}

int category_decide(struct category_rules *rules, const struct category_block *block,
                    struct category_verdict *out)
{
    struct question q;
    look_up(rules, block, &q);
    out->born = q.born == CATEGORY_NO_PHASE ? CATEGORY_UNKNOWN : rules->phases[q.born].id;
    out->freed = q.freed == CATEGORY_NO_PHASE ? CATEGORY_UNKNOWN : rules->phases[q.freed].id;
    out->step = q.step;
    out->by = RULE_TAG;
    int err = tag_purpose(rules, block->tag, q.role, &out->purpose);
    if (err >= 0 && out->purpose == PURPOSES)
        err = decide_by_life(rules, block, &q, out);
    if (err >= 0)
        out->rule = rule_text(rules, out->by, q.role, q.freed_role);
    return err < 0 ? err : out->rule ? 0 : ERR_NOMEM;
}
