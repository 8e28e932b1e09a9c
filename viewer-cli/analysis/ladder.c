#include "ladder.h"

#include <stdio.h>
#include <string.h>

#include "error.h"
#include "frag_area.h"
#include "living.h"

const char *ladder_step_text(enum ladder_step step)
{
    static const char *const texts[LADDER_STEPS] = {
        "requested", "allocated", "active", "reserved", "this process on the device", "device used",
    };
    return texts[step];
}

/* ---- the arithmetic ---- */

/* What is between the rungs `below` and `above`, for a rung that is known. */
static void name_gap(char *text, size_t size, size_t below, size_t above)
{
    static const char *const gaps[LADDER_STEPS] = {
        "",
        "rounding",
        "awaiting free",
        "cached and fragmented",
        "outside the allocator",
        "other processes",
    };
    size_t used = 0;
    *text = '\0';
    for (size_t i = below + 1; i <= above; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", gaps[i]);
}

void ladder_make(const struct ladder_facts *facts, struct ladder *out)
{
    size_t below = LADDER_STEPS;
    *out = (struct ladder){0};
    for (size_t i = 0; i < LADDER_STEPS; i++) {
        struct ladder_rung *rung = &out->rungs[i];
        *rung = (struct ladder_rung){.bytes = facts->bytes[i], .gap = LADDER_NONE};
        if (rung->bytes == LADDER_NONE)
            continue;
        if (below < LADDER_STEPS) {
            rung->gap = rung->bytes - facts->bytes[below];
            name_gap(rung->what, sizeof rung->what, below, i);
        }
        if (below == LADDER_REQUESTED && i == LADDER_ALLOCATED && facts->living != LADDER_NONE) {
            out->unattributed = rung->bytes - facts->living;
            rung->gap -= out->unattributed;
        }
        below = i;
        out->known++;
    }
}

bool ladder_is_valid(const struct ladder *ladder)
{
    int64_t sum = ladder->unattributed, lowest = 0, highest = 0;
    size_t known = 0;
    for (size_t i = 0; i < LADDER_STEPS; i++) {
        const struct ladder_rung *rung = &ladder->rungs[i];
        bool named = rung->what[0] != '\0';
        if (named != (rung->gap != LADDER_NONE))
            return false;
        if (rung->bytes == LADDER_NONE) {
            if (named)
                return false;
            continue;
        }
        if (named != (known > 0))
            return false;
        lowest = known++ ? lowest : rung->bytes;
        highest = rung->bytes;
        sum += named ? rung->gap : 0;
    }
    return known == ladder->known && sum == highest - lowest;
}

/* ---- reading ---- */

/* NULL unless the source tells of waits: a phase says what was active, or a block became idle. */
static const char waiting_sql[] =
    "SELECT CASE WHEN EXISTS"
    "  (SELECT 1 FROM phase ph JOIN phase_device pd ON pd.phase = ph.id AND pd.device = ?2"
    "    WHERE ph.process = ?1 AND pd.active IS NOT NULL)"
    " OR EXISTS"
    "  (SELECT 1 FROM idle i CROSS JOIN allocation a ON a.seq = i.allocation"
    "    CROSS JOIN heap h ON h.id = a.heap WHERE h.process = ?1 AND h.device = ?2)"
    " THEN (SELECT coalesce(sum(a.size), 0)"
    "  FROM idle i CROSS JOIN allocation a ON a.seq = i.allocation"
    "  CROSS JOIN heap h ON h.id = a.heap"
    "  WHERE i.allocation <= ?3 AND i.seq > ?3 AND a.free_seq >= 0 AND a.free_seq <= ?3"
    "    AND h.process = ?1 AND h.device = ?2) END";

/* ?1 is NULL for a sample of the whole device. */
static const char sample_sql[] =
    "SELECT value, at_ns FROM sample"
    " WHERE what = ?4 AND (?1 IS NULL OR process = ?1) AND device = ?2 AND at_ns <= ?3"
    " ORDER BY at_ns DESC LIMIT 1";

static int read_waiting(struct db *db, int64_t process, int64_t device, int64_t seq,
                        struct ladder_facts *facts)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, waiting_sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, process);
    db_bind_int(stmt, 1, device);
    db_bind_int(stmt, 2, seq);
    err = db_step(stmt);
    if (err == DB_ROW && db_column_type(stmt, 0) != DB_NULL)
        facts->bytes[LADDER_ACTIVE] = facts->bytes[LADDER_ALLOCATED] + db_column_int(stmt, 0);
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

static int read_sample(struct db *db, int64_t process, int64_t device, int64_t at_ns,
                       const char *what, int64_t *value, int64_t *ns)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, sample_sql);
    if (err < 0)
        return err;
    if (process == LADDER_NONE)
        db_bind_null(stmt, 0);
    else
        db_bind_int(stmt, 0, process);
    db_bind_int(stmt, 1, device);
    db_bind_int(stmt, 2, at_ns);
    db_bind_text(stmt, 3, what, -1);
    err = db_step(stmt);
    if (err == DB_ROW) {
        *value = db_column_int(stmt, 0);
        *ns = db_column_int(stmt, 1);
    }
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

int ladder_read_around(struct db *db, int64_t process, int64_t device, int64_t seq, int64_t at_ns,
                       struct ladder_facts *facts)
{
    int64_t ns;
    facts->bytes[LADDER_ACTIVE] = LADDER_NONE;
    facts->bytes[LADDER_PROCESS] = LADDER_NONE;
    facts->bytes[LADDER_DEVICE] = LADDER_NONE;
    facts->sampled_ns = LADDER_NONE;
    int err = read_waiting(db, process, device, seq, facts);
    if (err == 0)
        err = read_sample(db, process, device, at_ns, "process used", &facts->bytes[LADDER_PROCESS],
                          &ns);
    if (err == 0)
        err = read_sample(db, LADDER_NONE, device, at_ns, "device used",
                          &facts->bytes[LADDER_DEVICE], &facts->sampled_ns);
    return err;
}

static bool add_block(void *self, const struct living_block *block)
{
    struct ladder_facts *facts = self;
    int64_t *requested = &facts->bytes[LADDER_REQUESTED];
    facts->living += block->size;
    if (block->requested == LIVING_NONE)
        *requested = LADDER_NONE;
    else if (*requested != LADDER_NONE)
        *requested += block->requested;
    return true;
}

/* The source's own sum; where it has none, its segments'. */
static int read_reserved(struct db *db, int64_t process, int64_t device,
                         const struct instant *instant, int64_t *reserved)
{
    struct areas areas;
    *reserved = instant->reserved;
    if (*reserved != INSTANT_NONE)
        return 0;
    int err = areas_read(db, process, device, instant->seq, &areas);
    if (err == 0 && areas.known)
        *reserved = 0;
    for (size_t i = 0; err == 0 && i < areas.count; i++)
        *reserved += areas.areas[i].size;
    areas_clear(&areas);
    return err;
}

int ladder_read(struct db *db, int64_t process, int64_t device, const struct instant *instant,
                struct ladder_facts *facts)
{
    *facts = (struct ladder_facts){.sampled_ns = LADDER_NONE};
    int err = living_read(db, process, device, instant->seq, add_block, facts);
    if (facts->living == 0) /* nothing was asked for, or nothing was told of it */
        facts->bytes[LADDER_REQUESTED] = LADDER_NONE;
    facts->bytes[LADDER_ALLOCATED] =
        instant->allocated == INSTANT_NONE ? facts->living : instant->allocated;
    if (err == 0)
        err = read_reserved(db, process, device, instant, &facts->bytes[LADDER_RESERVED]);
    if (err == 0)
        err = ladder_read_around(db, process, device, instant->seq, instant->at_ns, facts);
    return err;
}
