/*
 * The instant is the highest of the maxima that phase_device keeps, so no block is looked at to
 * find it. What lived then is the last keyframe before it and what was born since, less what was
 * freed: some thousand rows by their keys, whatever the length of the run. One pass over them makes
 * all groupings; names are looked up afterwards, once for each group.
 */
#include "peak.h"

#include <string.h>

#include "category_rules.h"
#include "error.h"
#include "instant.h"
#include "living.h"
#include "mem.h"
#include "phase_text.h"

/* ---- the instant ---- */

/* A phase that only went down had its highest value as it began: before its first number, for that
 * of what is between phases can be a free. */
#define HIGHEST_COLUMNS                                                                            \
    "SELECT coalesce(pd.peak_seq, ph.begin_seq), coalesce(pd.peak_ns, ph.begin_ns),"               \
    "       pd.peak_allocated, pd.peak_reserved, ph.id, coalesce(pd.peak_seq, ph.begin_seq - 1)"
#define HIGHEST_FIRST " ORDER BY pd.peak_allocated DESC, 1, ph.begin_seq DESC, ph.id DESC LIMIT 1"

/* Inside of an index the rows of a process are in the order of their numbers. */
static const char highest_sql[] = HIGHEST_COLUMNS
    "  FROM phase ph JOIN phase_device pd ON pd.phase = ph.id"
    " WHERE ph.process = ?1 AND pd.device = ?2 AND (?3 IS NULL OR ph.step BETWEEN ?3 AND ?4)"
    "   AND ph.id BETWEEN ?5 AND ?6" HIGHEST_FIRST;

/* A commit writes what was not settled yet with the highest numbers. */
static const char maximum_sql[] =
    "SELECT most, at FROM (SELECT pd.max_allocated AS most, pd.max_allocated_seq AS at"
    "  FROM phase ph CROSS JOIN phase_device pd ON pd.phase = ph.id AND pd.device = ?2"
    " WHERE ph.process = ?1 ORDER BY ph.id DESC LIMIT 64)"
    " WHERE at IS NOT NULL ORDER BY most DESC, at LIMIT 1";

static const char max_reserved_sql[] =
    "SELECT max(most) FROM (SELECT pd.max_reserved AS most"
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
    "SELECT ph.id, ph.name, ph.kind, ph.step, ph.begin_seq, pd.begin_allocated FROM phase ph"
    "  LEFT JOIN phase_device pd ON pd.phase = ph.id AND pd.device = ?4"
    " WHERE ph.id = coalesce("
    "  (SELECT phase FROM allocation_phase WHERE allocation = ?1),"
    "  (SELECT phase FROM stretch WHERE process = ?2 AND begin_seq <= ?1"
    "    ORDER BY begin_seq DESC LIMIT 1), ?3)";

/* What an import rebuilt of the time before its first event: its births are not in the phase in
 * whose midst they were written. */
static const char rebuilt_sql[] =
    "SELECT max(CAST(value AS INTEGER)) FROM setting"
    " WHERE process = ?1 AND key = 'rebuilt_until' AND (device IS NULL OR device = ?2)";

/* The process's own, or nobody's: another process may call another device by this number. */
static const char device_used_sql[] =
    "SELECT value FROM sample WHERE what = 'device used' AND device = ?1 AND at_ns <= ?2"
    "   AND (process = ?3 OR process IS NULL) ORDER BY at_ns DESC LIMIT 1";

/* Takes the first row of one of the questions after the highest. DB_ROW, DB_DONE or an error. */
static int take_highest(struct db_stmt *stmt, struct peak *out)
{
    int err = db_step(stmt);
    if (err == DB_ROW) {
        out->found = true;
        out->seq = db_column_int(stmt, 0);
        out->at_ns = db_column_int(stmt, 1);
        out->allocated = db_column_int(stmt, 2);
        out->reserved = column_known(stmt, 3);
        out->phase = db_column_int(stmt, 4);
        out->living_seq = db_column_int(stmt, 5);
    }
    return err;
}

/* The highest since the process began, as the newest of its phases knows it. */
static int read_maximum(struct db *db, const struct peak *asked, int64_t *bytes, int64_t *seq)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, maximum_sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, asked->process);
    db_bind_int(stmt, 1, asked->device);
    err = db_step(stmt);
    if (err == DB_ROW) {
        *bytes = db_column_int(stmt, 0);
        *seq = db_column_int(stmt, 1);
    }
    db_finalize(stmt);
    return err;
}

/*
 * Each phase knows the highest since the process began and the event that reached it, so the newest
 * phases say where it was, and the phases around that event have it: a few rows by their keys,
 * whatever the length of the run. It is believed only if one of them agrees.
 */
static int find_by_maximum(struct db *db, struct peak *out)
{
    struct db_stmt *stmt = NULL;
    struct peak found = *out;
    int64_t bytes = 0, seq = 0;
    int err = read_maximum(db, out, &bytes, &seq);
    if (err != DB_ROW)
        return err < 0 ? err : 0;
    err = db_prepare(db, &stmt, around_sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, out->process);
    db_bind_int(stmt, 1, out->device);
    db_bind_int(stmt, 2, seq);
    err = take_highest(stmt, &found);
    db_finalize(stmt);
    if (err == DB_ROW && found.allocated == bytes && found.seq == seq)
        *out = found;
    return err < 0 ? err : 0;
}

/* Where the rules of the process were read, they know between which numbers its steps lie. */
static void bind_ids(struct db *db, struct db_stmt *stmt, int64_t process, int64_t first_step,
                     int64_t last_step)
{
    const struct category_rules *rules = category_kept(db, process);
    const struct category_bounds *step =
        rules && first_step == last_step ? category_step(rules, first_step) : NULL;
    db_bind_int(stmt, 4, step ? step->first_id : INT64_MIN);
    db_bind_int(stmt, 5, step ? step->last_id : INT64_MAX);
}

static int read_highest(struct db *db, int64_t first_step, int64_t last_step, struct peak *out)
{
    struct db_stmt *stmt = NULL;
    bool whole = first_step == INT64_MIN && last_step == INT64_MAX;
    int err = whole ? find_by_maximum(db, out) : 0;
    if (err < 0 || out->found)
        return err;
    err = db_prepare(db, &stmt, highest_sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, out->process);
    db_bind_int(stmt, 1, out->device);
    db_bind_int(stmt, 2, first_step);
    db_bind_int(stmt, 3, last_step);
    if (whole)
        db_bind_null(stmt, 2);
    bind_ids(db, stmt, out->process, first_step, last_step);
    err = take_highest(stmt, out);
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

static int read_phase(struct db *db, struct peak *out)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, phase_sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, out->seq);
    db_bind_int(stmt, 1, out->process);
    db_bind_int(stmt, 2, out->phase);
    db_bind_int(stmt, 3, out->device);
    err = db_step(stmt);
    if (err == DB_ROW) {
        out->phase = db_column_int(stmt, 0);
        out->step = column_known(stmt, 3);
        out->phase_begin_seq = db_column_int(stmt, 4);
        out->phase_begin_allocated = column_known(stmt, 5);
        if (!column_copy(stmt, 1, &out->phase_name) || !column_copy(stmt, 2, &out->phase_kind))
            err = ERR_NOMEM;
    }
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

static int read_rebuilt(struct db *db, struct peak *out)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, rebuilt_sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, out->process);
    db_bind_int(stmt, 1, out->device);
    err = db_step(stmt);
    if (err == DB_ROW)
        out->rebuilt_until = db_column_int(stmt, 0); /* NULL: 0 */
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

/* None where the highest point is that from which a phase only went down. */
static const char last_sql[] =
    "SELECT a.size, a.site FROM allocation a JOIN heap h ON h.id = a.heap"
    " WHERE a.seq = ?1 AND h.process = ?2 AND h.device = ?3";

static int read_last(struct db *db, struct peak *out)
{
    struct db_stmt *stmt = NULL;
    char *name = NULL;
    int err = db_prepare(db, &stmt, last_sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, out->living_seq);
    db_bind_int(stmt, 1, out->process);
    db_bind_int(stmt, 2, out->device);
    if ((err = db_step(stmt)) == DB_ROW) {
        out->last_bytes = db_column_int(stmt, 0);
        out->last_site = column_known(stmt, 1);
    }
    db_finalize(stmt);
    if (err < 0 || out->last_site == PEAK_NONE)
        return err < 0 ? err : 0;
    err = site_names_prepare(db, &stmt);
    if (err == 0)
        err = site_names(stmt, out->last_site, &name, &out->last_shown);
    mem_free(name);
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

static int read_device_used(struct db *db, struct peak *out)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, device_used_sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, out->device);
    db_bind_int(stmt, 1, out->at_ns);
    db_bind_int(stmt, 2, out->process);
    err = db_step(stmt);
    if (err == DB_ROW)
        out->device_used = db_column_int(stmt, 0);
    db_finalize(stmt);
    return err < 0 ? err : 0;
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
    *decided = (struct decided){{block->purpose, block->by, rule, 0, 0}, block->rule};
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
    int err = living_read(db, out->process, out->device, out->living_seq, add_block, &gather);
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
        .phase_begin_allocated = PEAK_NONE,
        .last_bytes = PEAK_NONE,
        .last_site = PEAK_NONE,
    };
}

/* It is a running maximum: the newest phases have the highest. */
static int read_max_reserved(struct db *db, int64_t last_step, struct peak *out)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, max_reserved_sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, out->process);
    db_bind_int(stmt, 1, out->device);
    db_bind_int(stmt, 2, last_step);
    err = db_step(stmt);
    if (err == DB_ROW)
        out->max_reserved = column_known(stmt, 0);
    db_finalize(stmt);
    return err < 0 ? err : 0;
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
    int err = read_highest(db, first_step, last_step, out);
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

int peak_read_refusal(struct db *db, int64_t process, int64_t device, const struct instant *moment,
                      size_t named, struct peak *out)
{
    begin(process, device, out);
    out->found = out->refused = true;
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

const char *peak_remark(const struct peak *peak)
{
    bool between = peak->phase_kind && strcmp(peak->phase_kind, PHASE_OTHER) == 0;
    return between ? PHASE_BETWEEN_REMARK : "";
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
