/* plan_scale_peak.c - the highest point of a scaled run: see plan_scale.h. */
#include <string.h>

#include "instant.h"
#include "db.h"
#include "error.h"
#include "mem.h"
#include "plan_scale.h"
#include "query.h"

static const char phase_sql[] =
    "SELECT coalesce((SELECT phase FROM allocation_phase WHERE allocation = ?2),"
    " (SELECT phase FROM stretch WHERE process = ?1 AND begin_seq <= ?2"
    "   ORDER BY begin_seq DESC LIMIT 1)) AS phase";
static const char step_sql[] = "SELECT step FROM phase WHERE id = ?1";

/* Which block lives how long; the op after which most is there. */
static size_t find_highest(const struct scale *scale, int64_t number, int64_t *most)
{
    const struct replay_trace *trace = &scale->fit.trace;
    int64_t now = 0;
    size_t highest = 0;
    *most = 0;
    for (size_t i = 0; i < trace->adopted; i++)
        now +=
            trace->adopted_blocks[i].state == REPLAY_LIVING ? scale_block_at(scale, i, number) : 0;
    for (size_t i = 0; i < trace->op_count; i++) {
        const struct replay_op *op = &trace->ops[i];
        if (op->kind == REPLAY_ALLOC)
            now += scale_block_at(scale, op->block, number);
        else if (op->kind == REPLAY_FREE || op->kind == REPLAY_GIVE)
            now -= scale_block_at(scale, op->block, number);
        if (now > *most) {
            *most = now;
            highest = i + 1;
        }
    }
    return highest;
}

/* A site's law is that of most of its bytes; while they are added up, of the largest block so far.
 */
struct site_laws {
    int64_t bytes[SCALE_LAWS];
};

static int add_block(const struct scale *scale, size_t block, int64_t bytes, struct scale_peak *out,
                     struct site_laws **laws, size_t *cap)
{
    const struct scale_block *it = &scale->blocks[block];
    struct group *group = groups_of(&out->sites, it->site);
    if (!group || !MEM_GROW(*laws, *cap, out->sites.count))
        return ERR_NOMEM;
    size_t place = (size_t)(group - out->sites.groups);
    if (group->blocks == 0)
        (*laws)[place] = (struct site_laws){{0}};
    group->bytes += bytes;
    group->blocks++;
    (*laws)[place].bytes[it->law] += bytes;
    out->law[it->law] += bytes;
    return 0;
}

static int name_laws(struct scale_peak *out, const struct site_laws *laws)
{
    for (size_t i = 0; i < out->sites.count; i++) {
        enum scale_law most = SCALE_CONSTANT;
        for (int law = 0; law < SCALE_LAWS; law++)
            if (laws[i].bytes[law] > laws[i].bytes[most])
                most = (enum scale_law)law;
        const char *text = scale_law_text(most);
        out->sites_without_law += laws[i].bytes[SCALE_NONE] > 0;
        out->sites.groups[i].kind = mem_copy(text, strlen(text));
        if (!out->sites.groups[i].kind)
            return ERR_NOMEM;
    }
    return 0;
}

/* What lives after the first `ops` operations. */
static int gather(const struct scale *scale, size_t ops, int64_t number, struct scale_peak *out)
{
    const struct replay_trace *trace = &scale->fit.trace;
    struct site_laws *laws = NULL;
    size_t cap = 0;
    bool *lives = mem_alloc(trace->block_count + 1, sizeof *lives);
    int err = lives ? 0 : ERR_NOMEM;
    for (size_t i = 0; i < trace->adopted && err == 0; i++)
        lives[i] = trace->adopted_blocks[i].state == REPLAY_LIVING;
    for (size_t i = 0; i < ops && err == 0; i++) {
        const struct replay_op *op = &trace->ops[i];
        if (op->kind == REPLAY_ALLOC)
            lives[op->block] = true;
        else if (op->kind == REPLAY_FREE || op->kind == REPLAY_GIVE)
            lives[op->block] = false;
    }
    for (size_t i = 0; i < trace->block_count && err == 0; i++)
        if (lives[i])
            err = add_block(scale, i, scale_block_at(scale, i, number), out, &laws, &cap);
    if (err == 0)
        err = name_laws(out, laws);
    mem_free(lives);
    mem_free(laws);
    return err;
}

/* ---- where it is ---- */

static int read_phase(const struct scale *scale, size_t ops, struct scale_peak *out)
{
    const struct replay_trace *trace = &scale->fit.trace;
    int64_t phase = GROUP_NONE;
    if (ops == 0 || trace->ops[ops - 1].kind != REPLAY_ALLOC)
        return 0;
    int err = query_read(scale->db, phase_sql,
                         Q_IN(scale->process, trace->blocks[trace->ops[ops - 1].block].seq),
                         Q_OUT(Q_OPT(phase)));
    if (err < 0 || phase == GROUP_NONE)
        return err;
    err = query_read(scale->db, step_sql, Q_IN(phase), Q_OUT(Q_OPT(out->step)));
    return err < 0 ? err : phase_path(scale->db, phase, &out->phase);
}

int scale_look(struct scale *scale, int64_t number, size_t named, struct scale_peak *out)
{
    *out = (struct scale_peak){.step = GROUP_NONE};
    size_t ops = find_highest(scale, number, &out->bytes);
    int err = gather(scale, ops, number, out);
    if (err == 0)
        err = read_phase(scale, ops, out);
    if (err < 0)
        return err;
    groups_sort(&out->sites);
    err = groups_name_sites(scale->db, &out->sites, named);
    return err < 0 ? err : groups_tell_apart(scale->db, &out->sites, named);
}

void scale_peak_clear(struct scale_peak *peak)
{
    mem_free(peak->phase);
    groups_clear(&peak->sites);
    *peak = (struct scale_peak){0};
}
