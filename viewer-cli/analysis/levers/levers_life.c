/*
 * Levers that end blocks earlier: what the program holds on to, gradients, buckets' twins.
 *
 * Bytes that less than a hundredth of the peak depends on are not looked at more closely, so there
 * are at most a hundred groups, whatever the number of sites.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "error.h"
#include "human.h"
#include "levers_work.h"
#include "mem.h"
#include "query.h"
#include "search.h"

enum { GROUPS_MOST = 16 };

/* Blocks that live at the peak and are of some kind, by site, largest first. */
static int group_sites(const struct levers_work *work,
                       bool (*is)(const struct levers_step *step, const struct levers_block *block),
                       struct groups *out)
{
    for (size_t i = 0; i < work->step.count; i++) {
        const struct levers_block *block = &work->step.blocks[i];
        if (!is(&work->step, block))
            continue;
        struct group *group = groups_of(out, block->site);
        if (!group)
            return ERR_NOMEM;
        group->bytes += block->size;
        group->blocks++;
    }
    groups_sort(out);
    while (out->count && out->groups[out->count - 1].bytes < work->out->peak / 100)
        out->count--; /* nothing to free in those: they were never named */
    out->count = out->count > GROUPS_MOST ? GROUPS_MOST : out->count;
    return 0;
}

static int64_t bytes_of(const struct levers_step *step, enum purpose purpose)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < step->count; i++)
        bytes += step->blocks[i].purpose == purpose ? step->blocks[i].size : 0;
    return bytes;
}

/* ---- held by the program ---- */

/* Born before a backward and alive behind it. Those of earlier steps have the site of one that the
 * view calls so at the peak. */
static int let_go(struct levers_work *work, int64_t site, struct levers_edit *edit)
{
    const struct levers_step *step = &work->step;
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->site != site ||
            (block->purpose != LEVERS_NOT_AT_PEAK && block->purpose != PURPOSE_HELD))
            continue;
        int64_t from = step->begin;
        if (i >= step->older) {
            const struct levers_phase *backward = levers_phase_after(step, "backward", block->seq);
            if (!backward || block->end <= backward->end)
                continue;
            from = backward->begin;
        }
        if (!levers_cut(edit, i, from, LEVERS_NEVER))
            return ERR_NOMEM;
    }
    return 0;
}

static bool is_held(const struct levers_step *step, const struct levers_block *block)
{
    (void)step;
    return block->purpose == PURPOSE_HELD;
}

/* Of some operations backward needs the output: to drop the variable frees nothing before that. Of
 * what is called by its operation, as a function or as a module, that is known, of anything else it
 * is not. */
static bool saves_its_output(const char *function)
{
    static const char *const names[] = {"softmax", "log_softmax", "logsoftmax", "sigmoid",
                                        "tanh",    "relu",        "exp",        "sqrt"};
    static const char forward[] = ".forward";
    size_t end = strcspn(function, " "), tail = sizeof forward - 1;
    if (end > tail && strncmp(function + end - tail, forward, tail) == 0)
        end -= tail;
    size_t begin = end;
    while (begin > 0 && function[begin - 1] != '.')
        begin--;
    if (end - begin > 3 && strncmp(function + begin, "op_", 3) == 0)
        begin += 3;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == end - begin &&
            strncasecmp(function + begin, names[i], end - begin) == 0)
            return true;
    return false;
}

static int is_saved(struct levers_work *work, int64_t site, bool *saved)
{
    char *name = NULL, *shown = NULL;
    int err = site_names(work->db, site, &name, &shown);
    *saved = err >= 0 && name && saves_its_output(name);
    mem_free(name);
    mem_free(shown);
    return err;
}

int levers_held(struct levers_work *work)
{
    struct groups sites = {0};
    int err = group_sites(work, is_held, &sites);
    for (size_t i = 0; i < sites.count && err >= 0; i++) {
        struct levers_edit edit = {0};
        int64_t site = sites.groups[i].id;
        bool saved = false;
        err = is_saved(work, site, &saved);
        const struct levers_words words = {
            .kind = LEVER_HELD,
            .site = site,
            .at_most = saved,
            .before = "del the variable that holds the output of ",
            .name = site == GROUP_NONE ? "calls without a stack" : NULL,
            .after = work->step.cut_short ? " before loss.backward(), as it did in the step before"
                                          : " before loss.backward()"};
        if (err >= 0)
            err = let_go(work, sites.groups[i].id, &edit);
        if (err >= 0)
            err = levers_try(work, &edit, &words);
        levers_edit_clear(&edit);
    }
    groups_clear(&sites);
    return err;
}

/* ---- gradients to None ---- */

static const char before_sql[] =
    "SELECT coalesce(max(CASE WHEN kind = 'zero_grad' THEN begin_seq END), -1) AS zeroed,"
    "       coalesce(max(CASE WHEN kind = 'backward' THEN begin_seq END), -1) AS backward"
    "  FROM phase WHERE process = ?1 AND begin_seq < ?2 AND kind IN ('zero_grad', 'backward')"
    "   AND id >= ?3";

/* Begins of the last zero_grad and the last backward before the step; -1 = none. They are mostly
 * among the phases next to the step's own. */
static int read_before(struct levers_work *work, int64_t *zeroed, int64_t *backward)
{
    const int64_t first = work->step.phase_count ? work->step.phases[0].id : 0;
    const int64_t from[] = {first - 1000, INT64_MIN};
    int err = 0;
    for (int i = 0; i < 2 && err == 0 && (*zeroed < 0 || *backward < 0); i++)
        err = query_read(work->db, before_sql, Q_IN(work->peak->process, work->step.begin, from[i]),
                         Q_OUT(Q_INT(*zeroed), Q_INT(*backward)));
    return err;
}

/* The backward that a block was born in, of whatever step. */
static int read_backward_of(struct levers_work *work, int64_t seq, int64_t *begin, int64_t *end)
{
    *begin = *end = -1;
    return query_read(work->db,
                      "SELECT begin_seq AS \"begin\", coalesce(end_seq, begin_seq) AS \"end\""
                      " FROM phase WHERE process = ?1 AND kind = 'backward' AND begin_seq <= ?2"
                      " ORDER BY begin_seq DESC LIMIT 1",
                      Q_IN(work->peak->process, seq), Q_OUT(Q_INT(*begin), Q_INT(*end)));
}

/*
 * With gradients zeroed in place, each backward makes the new values as blocks of their own and
 * adds them. Without a gradient there to add to, that block becomes the gradient. Which one it is
 * of many of that size, the backward that made the gradient tells: it had none to add to, so there
 * the k-th block of that size and site was kept, and here the k-th one would be.
 */
struct renewal {
    int64_t gone;       /* from here on there are none */
    int64_t begin, end; /* of the backward that makes the new ones */
    int64_t until;      /* which live until then */
    struct levers_births now, then;
    int64_t then_begin, then_end;
    int64_t bytes;
    bool unsure;
};

static int load_then(struct levers_work *work, struct renewal *renewal, int64_t seq)
{
    if (seq >= renewal->then_begin && seq <= renewal->then_end)
        return 0;
    levers_births_clear(&renewal->then);
    int err = read_backward_of(work, seq, &renewal->then_begin, &renewal->then_end);
    if (err >= 0)
        err = levers_births_read(work->db, work->peak, renewal->then_begin, renewal->then_end,
                                 &renewal->then);
    return err;
}

/* The place of the block that would be the gradient, or SIZE_MAX. */
static size_t find_new(const struct levers_step *step, struct renewal *renewal,
                       const struct levers_block *gradient)
{
    const struct levers_birth *then, *now;
    size_t before = levers_births_like(&renewal->then, gradient->asked, gradient->site, &then);
    size_t count = levers_births_like(&renewal->now, gradient->asked, gradient->site, &now);
    size_t at = 0;
    while (at < before && then[at].seq != gradient->seq)
        at++;
    if (at == before || before != count)
        return SIZE_MAX;
    size_t low;
    SEARCH_FIRST(low, step->older, step->count, step->blocks[low].seq < now[at].seq);
    return low < step->count && step->blocks[low].end <= renewal->end ? low : SIZE_MAX;
}

static int renew(struct levers_work *work, struct renewal *renewal, struct levers_edit *edit)
{
    struct levers_step *step = &work->step;
    int err = 0;
    for (size_t i = 0; i < step->older && err >= 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->purpose != PURPOSE_GRADIENT || block->seq >= renewal->gone)
            continue;
        err = load_then(work, renewal, block->seq);
        size_t fresh = err >= 0 ? find_new(step, renewal, block) : SIZE_MAX;
        bool found = fresh != SIZE_MAX;
        if (err >= 0 && (!levers_cut(edit, i, renewal->gone, found ? LEVERS_NEVER : renewal->end) ||
                         (found && !levers_lengthen(edit, fresh, renewal->until))))
            err = ERR_NOMEM;
        renewal->unsure = renewal->unsure || !found;
        renewal->bytes += block->size;
    }
    return err;
}

/* Where the gradients of earlier steps would have gone: at the last zero_grad before the backward
 * of this step, if that is where they still were. LEVERS_NEVER: nowhere. */
static int find_zero_grad(struct levers_work *work, int64_t *gone)
{
    const struct levers_step *step = &work->step;
    const struct levers_phase *zero = levers_phase_after(step, "zero_grad", step->begin - 1);
    int64_t zeroed = -1, backward = -1;
    *gone = LEVERS_NEVER;
    int err = read_before(work, &zeroed, &backward);
    if (err < 0)
        return err;
    if (zeroed > backward && backward >= 0)
        *gone = step->begin;
    else if (zero && zero->begin <= step->peak)
        *gone = zero->begin;
    return 0;
}

int levers_gradients_to_none(struct levers_work *work)
{
    struct levers_words words = {.kind = LEVER_GRADIENTS_TO_NONE,
                                 .site = LEVERS_NONE,
                                 .before = "set gradients to None instead of zeroing them: "
                                           "zero_grad(set_to_none=True)"};
    struct levers_step *step = &work->step;
    struct levers_edit edit = {0};
    struct renewal renewal = {.then_begin = -1, .then_end = -2};
    int err = find_zero_grad(work, &renewal.gone);
    if (err < 0 || renewal.gone == LEVERS_NEVER)
        return err;
    const struct levers_phase *backward = levers_phase_after(step, "backward", renewal.gone);
    renewal.begin = renewal.end = renewal.until = LEVERS_NEVER;
    if (backward) {
        const struct levers_phase *zero = levers_phase_after(step, "zero_grad", backward->begin);
        renewal.begin = backward->begin;
        renewal.end = backward->end;
        renewal.until = zero ? zero->begin : LEVERS_NEVER;
        err =
            levers_births_read(work->db, work->peak, backward->begin, backward->end, &renewal.now);
    }
    if (err >= 0)
        err = renew(work, &renewal, &edit);
    words.at_most = renewal.unsure && backward;
    if (err >= 0 && edit.count)
        err = levers_try(work, &edit, &words);
    levers_births_clear(&renewal.now);
    levers_births_clear(&renewal.then);
    levers_edit_clear(&edit);
    return err == ERR_LIMIT ? 0 : err;
}

/* ---- gradient_as_bucket_view ---- */

/* By its category at the peak; of other blocks by their life. */
static bool is_gradient(const struct levers_step *step, size_t at)
{
    const struct levers_block *block = &step->blocks[at];
    if (block->purpose != LEVERS_NOT_AT_PEAK)
        return block->purpose == PURPOSE_GRADIENT;
    if (at < step->older)
        return block->end != LEVERS_NEVER && levers_phase_around(step, "zero_grad", block->end);
    const struct levers_phase *backward = levers_phase_around(step, "backward", block->seq);
    return backward && block->end > backward->end;
}

/* A gradient that is born in this step goes once it is copied into its bucket: before the next
 * blocks that backward needs, which come after those that came with it. */
static int64_t end_of_copy(const struct levers_step *step, size_t at)
{
    size_t next = at + 1;
    while (next < step->count && step->blocks[next].seq == step->blocks[next - 1].seq + 1)
        next++;
    return next < step->count ? step->blocks[next].seq : LEVERS_NEVER;
}

int levers_bucket_view(struct levers_work *work)
{
    const struct levers_step *step = &work->step;
    int64_t gradients = bytes_of(step, PURPOSE_GRADIENT), buckets = bytes_of(step, PURPOSE_BUCKET);
    char bytes[HUMAN_MAX], text[HUMAN_MAX + 128];
    snprintf(text, sizeof text,
             "DistributedDataParallel(..., gradient_as_bucket_view=True): the buckets (%s) are a "
             "second copy of all gradients",
             human_bytes(bytes, buckets));
    const struct levers_words words = {
        .kind = LEVER_BUCKET_VIEW, .site = LEVERS_NONE, .before = text};
    struct levers_edit edit = {0};
    int err = 0;
    if (!buckets || gradients < buckets / 10 * 9 || gradients > buckets / 10 * 11)
        return 0;
    for (size_t i = 0; i < step->count && err >= 0; i++) {
        if (!is_gradient(step, i))
            continue;
        int64_t from = i < step->older ? step->begin : end_of_copy(step, i);
        if (!levers_cut(&edit, i, from, LEVERS_NEVER))
            err = ERR_NOMEM;
    }
    if (err >= 0)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    return err;
}

/* ---- a workspace ---- */

/* What is born and freed inside backward without being called a workspace are gradients on their
 * way: they are no smaller for another algorithm. */
static bool is_workspace(const struct levers_step *step, const struct levers_block *block)
{
    return block->purpose == PURPOSE_WORKSPACE &&
           (block->tagged || !levers_phase_around(step, "backward", block->seq));
}

/* Nothing to be smaller: it goes altogether. */
static bool is_packed(const struct levers_work *work, int64_t site)
{
    for (size_t i = 0; i < work->out->count; i++)
        if (work->out->levers[i].kind == LEVER_FLATTEN_PARAMETERS &&
            work->out->levers[i].site == site)
            return true;
    return false;
}

int levers_workspace(struct levers_work *work)
{
    const struct levers_step *step = &work->step;
    struct groups sites = {0};
    struct levers_edit edit = {0};
    int64_t bytes = 0;
    int err = group_sites(work, is_workspace, &sites);
    int64_t site = sites.count ? sites.groups[0].id : LEVERS_NONE;
    const struct levers_words words = {.kind = LEVER_WORKSPACE,
                                       .at_most = true,
                                       .site = site,
                                       .before = "a smaller workspace, or none, in ",
                                       .name = site == GROUP_NONE ? "the phase of the peak" : NULL};
    for (size_t i = 0; i < step->count && err >= 0 && sites.count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->site != site || !is_workspace(step, block))
            continue;
        bytes += block->size;
        if (!levers_cut(&edit, i, INT64_MIN, LEVERS_NEVER))
            err = ERR_NOMEM;
    }
    if (err >= 0 && bytes && bytes >= work->out->peak / 20 && !is_packed(work, site))
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    groups_clear(&sites);
    return err;
}

/* ---- what cuBLAS keeps ---- */

/* All of them: the setting is the process's. Without any the same results come more slowly. */
int levers_library_workspace(struct levers_work *work)
{
    const struct levers_words words = {
        .kind = LEVER_LIBRARY_WORKSPACE,
        .site = LEVERS_NONE,
        .before = "CUBLAS_WORKSPACE_CONFIG=:0:0 turns cuBLAS' workspaces off (slower); :KIB:COUNT "
                  "or torch.backends.cuda.cublas_workspace_size() makes them smaller"};
    const struct levers_step *step = &work->step;
    struct levers_edit edit = {0};
    int err = 0;
    for (size_t i = 0; i < step->count && err >= 0; i++)
        if (step->blocks[i].purpose == PURPOSE_LIBRARY &&
            !levers_cut(&edit, i, INT64_MIN, LEVERS_NEVER))
            err = ERR_NOMEM;
    if (err >= 0 && edit.count)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    return err;
}
