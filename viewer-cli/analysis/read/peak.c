/*
 * The instant is the highest of the maxima that phase_device keeps, so no block is looked at to
 * find it. What lived then is the last keyframe before it and what was born since, less what was
 * freed: some thousand rows by their keys, whatever the length of the run. One pass over them makes
 * all groupings; names are looked up afterwards, once for each group.
 */
#include "peak.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "category_rules.h"
#include "error.h"
#include "instant.h"
#include "living.h"
#include "mem.h"
#include "phase_kind.h"
#include "phase_text.h"
#include "query.h"

/* ---- the instant ---- */

/* A phase that only went down had its highest value as it began: before its first number, for that
 * of what is between phases can be a free. */
#define HIGHEST_COLUMNS                                                                            \
    "SELECT coalesce(pd.peak_seq, ph.begin_seq) AS seq, coalesce(pd.peak_ns, ph.begin_ns) AS "     \
    "at_ns,"                                                                                       \
    "       pd.peak_allocated AS allocated, pd.peak_reserved AS reserved, ph.id AS phase,"         \
    "       coalesce(pd.peak_seq, ph.begin_seq - 1) AS living_seq"
#define HIGHEST_FIRST " ORDER BY pd.peak_allocated DESC, 1, ph.begin_seq DESC, ph.id DESC LIMIT 1"

/* Inside of an index the rows of a process are in the order of their numbers. */
static const char highest_sql[] = HIGHEST_COLUMNS
    "  FROM phase ph JOIN phase_device pd ON pd.phase = ph.id"
    " WHERE ph.process = ?1 AND pd.device = ?2 AND (?3 IS NULL OR ph.step BETWEEN ?3 AND ?4)"
    "   AND ph.id BETWEEN ?5 AND ?6 AND coalesce(pd.peak_seq, ph.begin_seq) <= ?7" HIGHEST_FIRST;

/* A commit writes what was not settled yet with the highest numbers. */
static const char maximum_sql[] =
    "SELECT most, at FROM (SELECT pd.max_allocated AS most, pd.max_allocated_seq AS at"
    "  FROM phase ph CROSS JOIN phase_device pd ON pd.phase = ph.id AND pd.device = ?2"
    " WHERE ph.process = ?1 ORDER BY ph.id DESC LIMIT 64)"
    " WHERE at IS NOT NULL ORDER BY most DESC, at LIMIT 1";

static const char max_reserved_sql[] =
    "SELECT max(most) AS max_reserved FROM (SELECT pd.max_reserved AS most"
    "  FROM phase ph CROSS JOIN phase_device pd ON pd.phase = ph.id AND pd.device = ?2"
    " WHERE ph.process = ?1 AND (?3 = 9223372036854775807 OR ph.step <= ?3)"
    " ORDER BY ph.id DESC LIMIT 64)";

static const char around_sql[] =
    "WITH RECURSIVE around(id) AS ("
    " SELECT * FROM (SELECT phase FROM stretch WHERE process = ?1 AND begin_seq <= ?3"
    "                 ORDER BY begin_seq DESC LIMIT 1)"
    " UNION SELECT phase FROM allocation_phase WHERE allocation = ?3"
    " UNION SELECT ph.parent FROM around CROSS JOIN phase ph ON ph.id = around.id"
    "        WHERE ph.parent IS NOT NULL) " HIGHEST_COLUMNS
    "  FROM around CROSS JOIN phase ph ON ph.id = around.id"
    "  CROSS JOIN phase_device pd ON pd.phase = ph.id AND pd.device = ?2"
    " WHERE ph.process = ?1" HIGHEST_FIRST;

/* The innermost phase at that event, or else the one that the maximum came from. */
static const char phase_sql[] =
    "SELECT ph.id AS phase, ph.name AS phase_name, ph.kind AS phase_kind, ph.step,"
    "       ph.begin_seq AS phase_begin_seq, pd.begin_allocated AS phase_begin_allocated"
    "  FROM phase ph"
    "  LEFT JOIN phase_device pd ON pd.phase = ph.id AND pd.device = ?4"
    " WHERE ph.id = coalesce("
    "  (SELECT phase FROM allocation_phase WHERE allocation = ?1),"
    "  (SELECT phase FROM stretch WHERE process = ?2 AND begin_seq <= ?1"
    "    ORDER BY begin_seq DESC LIMIT 1), ?3)";

/* What an import rebuilt of the time before its first event: its births are not in the phase in
 * whose midst they were written. */
static const char rebuilt_sql[] =
    "SELECT max(CAST(value AS INTEGER)) AS rebuilt_until FROM setting"
    " WHERE process = ?1 AND key = 'rebuilt_until' AND (device IS NULL OR device = ?2)";

/* The process's own, or nobody's: another process may call another device by this number. */
static const char device_used_sql[] =
    "SELECT value AS device_used FROM sample WHERE what = 'device used' AND device = ?1 AND at_ns "
    "<= ?2"
    "   AND (process = ?3 OR process IS NULL) ORDER BY at_ns DESC LIMIT 1";

/* Takes the first row of one of the questions after the highest. DB_ROW, DB_DONE or an error. */
static int read_first(struct db *db, const char *sql, const struct query_value *in,
                      struct peak *out)
{
    int err = query_first(db, sql, in,
                          Q_OUT(Q_INT(out->seq), Q_INT(out->at_ns), Q_INT(out->allocated),
                                Q_OPT(out->reserved), Q_INT(out->phase), Q_INT(out->living_seq)));
    out->found = out->found || err == DB_ROW;
    return err;
}

/* The highest since the process began, as the newest of its phases knows it. */
static int read_maximum(struct db *db, const struct peak *asked, int64_t *most, int64_t *at)
{
    return query_first(db, maximum_sql, Q_IN(asked->process, asked->device),
                       Q_OUT(Q_INT(*most), Q_INT(*at)));
}

/*
 * Each phase knows the highest since the process began and the event that reached it, so the newest
 * phases say where it was, and the phases around that event have it: a few rows by their keys,
 * whatever the length of the run. It is believed only if one of them agrees.
 */
static int find_by_maximum(struct db *db, struct peak *out)
{
    struct peak found = *out;
    int64_t bytes = 0, seq = 0;
    int err = read_maximum(db, out, &bytes, &seq);
    if (err == DB_ROW)
        err = read_first(db, around_sql, Q_IN(out->process, out->device, seq), &found);
    if (err == DB_ROW && found.allocated == bytes && found.seq == seq)
        *out = found;
    return err < 0 ? err : 0;
}

/* Where the rules of the process were read, they know between which numbers its steps lie. */
static const struct category_bounds *ids_of(struct db *db, int64_t process, int64_t first_step,
                                            int64_t last_step)
{
    static const struct category_bounds all = {.first_id = INT64_MIN, .last_id = INT64_MAX};
    const struct category_rules *rules = category_kept(db, process);
    const struct category_bounds *step =
        rules && first_step == last_step ? category_step(rules, first_step) : NULL;
    return step ? step : &all;
}

static int read_highest(struct db *db, int64_t first_step, int64_t last_step, int64_t last,
                        struct peak *out)
{
    bool whole = first_step == INT64_MIN && last_step == INT64_MAX;
    int err = whole && last == INT64_MAX ? find_by_maximum(db, out) : 0;
    if (err < 0 || out->found)
        return err;
    const struct category_bounds *ids = ids_of(db, out->process, first_step, last_step);
    err = read_first(db, highest_sql,
                     Q_IN(out->process, out->device, query_if(!whole, first_step), last_step,
                          ids->first_id, ids->last_id, last),
                     out);
    return err < 0 ? err : 0;
}

/* The last step that began before it. */
static const char step_behind_sql[] =
    "SELECT ph.step AS after_step FROM stretch s CROSS JOIN phase ph ON ph.id = s.phase"
    " WHERE s.process = ?1 AND s.begin_seq <= ?2 AND ph.step IS NOT NULL"
    " ORDER BY s.begin_seq DESC LIMIT 1";

/* An evaluation is of no step: those stay alike. Who reads of it wants to know when it was. */
static int read_after_step(struct db *db, struct peak *out)
{
    if (phase_kind_from(out->phase_kind) != PHASE_KIND_EVAL || out->step != PEAK_NONE)
        return 0;
    return query_read(db, step_behind_sql, Q_IN(out->process, out->seq),
                      Q_OUT(Q_INT(out->after_step)));
}

static int read_phase(struct db *db, struct peak *out)
{
    int err = query_read(db, phase_sql, Q_IN(out->seq, out->process, out->phase, out->device),
                         Q_OUT(Q_INT(out->phase), Q_COPY(out->phase_name), Q_COPY(out->phase_kind),
                               Q_OPT(out->step), Q_INT(out->phase_begin_seq),
                               Q_OPT(out->phase_begin_allocated)));
    out->between = phase_kind_from(out->phase_kind) == PHASE_KIND_OTHER;
    return err < 0 ? err : read_after_step(db, out);
}

static int read_rebuilt(struct db *db, struct peak *out)
{
    return query_read(db, rebuilt_sql, Q_IN(out->process, out->device),
                      Q_OUT(Q_INT(out->rebuilt_until)));
}

/* None where the highest point is that from which a phase only went down. */
static const char last_sql[] = "SELECT a.size AS last_bytes, a.site AS last_site FROM allocation a "
                               "JOIN heap h ON h.id = a.heap"
                               " WHERE a.seq = ?1 AND h.process = ?2 AND h.device = ?3";

static int read_last(struct db *db, struct peak *out)
{
    char *name = NULL;
    int err = query_read(db, last_sql, Q_IN(out->living_seq, out->process, out->device),
                         Q_OUT(Q_INT(out->last_bytes), Q_OPT(out->last_site)));
    if (err < 0 || out->last_site == PEAK_NONE)
        return err;
    err = site_names(db, out->last_site, &name, &out->last_shown);
    mem_free(name);
    return err;
}

static int read_device_used(struct db *db, struct peak *out)
{
    return query_read(db, device_used_sql, Q_IN(out->device, out->at_ns, out->process),
                      Q_OUT(Q_INT(out->device_used)));
}

/* ---- what lived ---- */

static bool add_to(struct group *group, int64_t size)
{
    if (!group)
        return false;
    group->bytes += size;
    group->blocks++;
    return true;
}

/* What one rule decided of one purpose. There are a handful. */
struct decided {
    struct peak_category part;
    const char *told; /* the rule's text as it came, one for each rule */
};

struct gather {
    struct peak *out;
    struct decided *decided;
    size_t count, cap;
};

static struct decided *decided_of(struct gather *gather, const struct living_block *block)
{
    for (size_t i = 0; i < gather->count; i++)
        if (gather->decided[i].told == block->rule &&
            gather->decided[i].part.purpose == block->purpose)
            return &gather->decided[i];
    char *rule = mem_copy(block->rule, strlen(block->rule));
    if (!rule || !MEM_GROW(gather->decided, gather->cap, gather->count + 1)) {
        mem_free(rule);
        return NULL;
    }
    struct decided *decided = &gather->decided[gather->count++];
    *decided = (struct decided){{block->purpose, block->by, rule, 0, 0, 0}, block->rule};
    return decided;
}

static bool add_rule(struct gather *gather, const struct living_block *block)
{
    struct decided *decided = decided_of(gather, block);
    if (!decided)
        return false;
    decided->part.bytes += block->size;
    decided->part.blocks++;
    return true;
}

/* The category of that purpose, made if it is new. */
static struct peak_category *category_of(struct peak *out, enum purpose purpose)
{
    size_t i = 0;
    while (i < out->category_count && out->categories[i].purpose != purpose)
        i++;
    out->category_count += i == out->category_count;
    out->categories[i].purpose = purpose;
    return &out->categories[i];
}

/* The largest first, and of equals the one that was found first. */
static void sort_categories(struct peak *out)
{
    for (size_t i = 1; i < out->category_count; i++) {
        struct peak_category moved = out->categories[i];
        size_t at = i;
        for (; at && out->categories[at - 1].bytes < moved.bytes; at--)
            out->categories[at] = out->categories[at - 1];
        out->categories[at] = moved;
    }
}

/* Each category keeps the rule that decided most of it. */
static void end_gather(struct gather *gather)
{
    int64_t most[PURPOSES] = {0};
    for (size_t i = 0; i < gather->count; i++) {
        struct peak_category *part = &gather->decided[i].part;
        struct peak_category *whole = category_of(gather->out, part->purpose);
        whole->bytes += part->bytes;
        whole->blocks += part->blocks;
        if (!whole->rule || part->bytes > most[part->purpose]) {
            mem_free(whole->rule);
            whole->rule = part->rule;
            whole->by = part->by;
            whole->by_bytes = part->bytes;
            most[part->purpose] = part->bytes;
        } else {
            mem_free(part->rule);
        }
    }
    sort_categories(gather->out);
    mem_free(gather->decided);
}

struct peak_category peak_category(const struct peak *peak, enum purpose purpose)
{
    for (size_t i = 0; i < peak->category_count; i++)
        if (peak->categories[i].purpose == purpose)
            return peak->categories[i];
    return (struct peak_category){0};
}

static bool add_block(void *self, const struct living_block *block)
{
    struct gather *gather = self;
    struct peak *out = gather->out;
    bool before = out->phase != PEAK_NONE &&
                  (block->seq < out->phase_begin_seq || block->seq <= out->rebuilt_until);

    out->bytes += block->size;
    out->blocks++;
    *(before ? &out->before_bytes : &out->added_bytes) += block->size;
    *(before ? &out->before_blocks : &out->added_blocks) += 1;
    if (block->requested == LIVING_NONE)
        out->requested = PEAK_NONE;
    else if (out->requested != PEAK_NONE)
        out->requested += block->requested;
    return add_to(groups_of(&out->sites, block->site), block->size) &&
           add_to(groups_of(&out->births, block->phase), block->size) && add_rule(gather, block);
}

static int read_living(struct db *db, struct peak *out)
{
    struct gather gather = {.out = out};
    int err = living_read_kept(db, out->process, out->device, out->living_seq, add_block, &gather);
    end_gather(&gather);
    if (out->blocks == 0)
        out->requested = PEAK_NONE;
    groups_sort(&out->sites);
    groups_sort(&out->births);
    return err;
}

static void begin(int64_t process, int64_t device, struct peak *out)
{
    *out = (struct peak){
        .process = process,
        .device = device,
        .reserved = PEAK_NONE,
        .max_reserved = PEAK_NONE,
        .device_used = PEAK_NONE,
        .phase = PEAK_NONE,
        .step = PEAK_NONE,
        .after_step = PEAK_NONE,
        .phase_begin_allocated = PEAK_NONE,
        .last_bytes = PEAK_NONE,
        .last_site = PEAK_NONE,
    };
}

/* It is a running maximum: the newest phases have the highest. */
static int read_max_reserved(struct db *db, int64_t last_step, struct peak *out)
{
    return query_read(db, max_reserved_sql, Q_IN(out->process, out->device, last_step),
                      Q_OUT(Q_OPT(out->max_reserved)));
}

/* What is around its seq. */
static int read_around(struct db *db, struct peak *out)
{
    int err = read_phase(db, out);
    if (err == 0)
        err = read_rebuilt(db, out);
    if (err == 0)
        err = phase_path(db, out->phase, &out->phase_path);
    return err;
}

int peak_find(struct db *db, int64_t process, int64_t device, int64_t first_step, int64_t last_step,
              struct peak *out)
{
    begin(process, device, out);
    out->first_step = first_step;
    out->last_step = last_step;
    int err = read_highest(db, first_step, last_step, INT64_MAX, out);
    return err < 0 || !out->found ? err : read_around(db, out);
}

int peak_find_until(struct db *db, int64_t process, int64_t device, int64_t last, struct peak *out)
{
    begin(process, device, out);
    out->first_step = INT64_MIN;
    out->last_step = INT64_MAX;
    int err = read_highest(db, INT64_MIN, INT64_MAX, last, out);
    return err < 0 || !out->found ? err : read_around(db, out);
}

/* Who held it. */
static int read_holders(struct db *db, size_t named, struct peak *out)
{
    int err = read_device_used(db, out);
    if (err == 0)
        err = read_living(db, out);
    if (err == 0)
        err = read_last(db, out);
    if (err == 0)
        err = groups_name_sites(db, &out->sites, named);
    if (err == 0)
        err = groups_name_phases(db, &out->births, named);
    return err;
}

int peak_read(struct db *db, int64_t process, int64_t device, int64_t first_step, int64_t last_step,
              size_t named, struct peak *out)
{
    int err = peak_find(db, process, device, first_step, last_step, out);
    if (err == 0 && out->found)
        err = read_max_reserved(db, last_step, out);
    return err < 0 || !out->found ? err : read_holders(db, named, out);
}

int peak_read_at(struct db *db, int64_t process, int64_t device, const struct instant *moment,
                 size_t named, struct peak *out)
{
    begin(process, device, out);
    out->found = true;
    out->seq = out->living_seq = moment->seq;
    out->at_ns = moment->at_ns;
    out->reserved = moment->reserved;
    out->phase = moment->phase;
    int err = read_around(db, out);
    out->first_step = out->last_step = out->step;
    if (err == 0)
        err = read_max_reserved(db, INT64_MAX, out);
    if (err == 0)
        err = read_holders(db, named, out);
    out->allocated = moment->allocated == INSTANT_NONE ? out->bytes : moment->allocated;
    return err;
}

int peak_read_refusal(struct db *db, int64_t process, int64_t device, const struct instant *moment,
                      size_t named, struct peak *out)
{
    int err = peak_read_at(db, process, device, moment, named, out);
    out->refused = true;
    return err;
}

const char *peak_remark(char text[PEAK_REMARK], const struct peak *peak)
{
    text[0] = '\0';
    if (peak->between)
        snprintf(text, PEAK_REMARK, "%s", PHASE_BETWEEN_REMARK);
    else if (peak->after_step != PEAK_NONE)
        snprintf(text, PEAK_REMARK, " after step %" PRId64, peak->after_step);
    return text;
}

void peak_clear(struct peak *peak)
{
    mem_free(peak->phase_name);
    mem_free(peak->phase_kind);
    mem_free(peak->phase_path);
    mem_free(peak->last_shown);
    groups_clear(&peak->sites);
    groups_clear(&peak->births);
    for (size_t i = 0; i < peak->category_count; i++)
        mem_free(peak->categories[i].rule);
    *peak = (struct peak){0};
}

static bool add_up(const struct groups *groups, const struct peak *peak)
{
    int64_t bytes = 0, blocks = 0;
    for (size_t i = 0; i < groups->count; i++) {
        bytes += groups->groups[i].bytes;
        blocks += groups->groups[i].blocks;
    }
    return bytes == peak->bytes && blocks == peak->blocks && groups_is_valid(groups);
}

static bool categories_add_up(const struct peak *peak)
{
    int64_t bytes = 0, blocks = 0;
    for (size_t i = 0; i < peak->category_count; i++) {
        bytes += peak->categories[i].bytes;
        blocks += peak->categories[i].blocks;
        if (i && peak->categories[i].bytes > peak->categories[i - 1].bytes)
            return false;
    }
    return bytes == peak->bytes && blocks == peak->blocks;
}

bool peak_is_valid(const struct peak *peak)
{
    return peak->before_bytes + peak->added_bytes == peak->bytes &&
           peak->before_blocks + peak->added_blocks == peak->blocks && add_up(&peak->sites, peak) &&
           add_up(&peak->births, peak) && categories_add_up(peak);
}
