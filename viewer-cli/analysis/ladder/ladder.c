#include "ladder.h"

#include <stdio.h>
#include <string.h>

#include "error.h"
#include "frag_area.h"
#include "living.h"
#include "query.h"
#include "span.h"

const char *ladder_step_text(enum ladder_step step)
{
    static const char *const texts[LADDER_STEPS] = {
        "requested", "allocated", "active", "reserved", "this process on the device", "device used",
    };
    return texts[step];
}

const char *ladder_rung_text(const struct ladder *ladder, enum ladder_step step)
{
    static const char *const texts[LADDER_STEPS] = {
        "requested", "allocated", NULL, NULL, "RSS", "cgroup used",
    };
    return ladder->is_host ? texts[step] : ladder_step_text(step);
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

/* The same on the CPU, for the rungs that are the kernel's. */
static const char *host_gap_text(size_t above, bool negative)
{
    if (above == LADDER_PROCESS)
        return negative ? "allocated, but never touched"
                        : "the rest of the process: Python, libraries, freed memory kept by malloc";
    return negative ? "pages of files that are charged to another cgroup"
                    : "other processes of the cgroup, and files in its page cache";
}

static void name_host_gaps(struct ladder *ladder)
{
    for (size_t i = LADDER_PROCESS; i < LADDER_STEPS; i++) {
        struct ladder_rung *rung = &ladder->rungs[i];
        if (rung->gap != LADDER_NONE)
            snprintf(rung->what, sizeof rung->what, "%s", host_gap_text(i, rung->gap < 0));
    }
}

/* The group's, or else the machine's. */
static void add_limit(const struct host *host, struct ladder *ladder)
{
    bool group = host->group_limit != HOST_NONE && host->group_used != HOST_NONE;
    ladder->limit = (struct ladder_rung){.bytes = LADDER_NONE, .gap = LADDER_NONE};
    if (!group && host->machine == HOST_NONE)
        return;
    ladder->limit_text = group ? "cgroup limit" : "machine memory";
    ladder->limit.bytes = group ? host->group_limit : host->machine;
    ladder->limit.gap = group ? host->group_limit - host->group_used : host->available;
    if (ladder->limit.gap != LADDER_NONE)
        snprintf(ladder->limit.what, sizeof ladder->limit.what, "%s",
                 group ? "free below the limit" : "available on the machine");
}

static void add_part(struct ladder *ladder, enum ladder_step under, const char *quantity,
                     int64_t bytes)
{
    ladder->parts[ladder->part_count++] =
        (struct ladder_part){.quantity = quantity, .bytes = bytes, .under = under};
}

static char *part_text(struct ladder *ladder)
{
    return ladder->parts[ladder->part_count - 1].what;
}

static void add_outside(const struct outside *outside, struct ladder *ladder)
{
    const size_t room = sizeof ladder->parts[0].what;
    for (size_t i = 0; i < outside->count; i++) {
        const struct outside_part *part = &outside->parts[i];
        add_part(ladder, LADDER_PROCESS,
                 ladder->alone ? "from the driver" : "outside the allocator", part->bytes);
        if (part->pieces)
            snprintf(part_text(ladder), room, "%s, %lld piece%s", part->name,
                     (long long)part->pieces, part->pieces == 1 ? "" : "s");
        else
            snprintf(part_text(ladder), room, "%s", part->name);
    }
}

/* The context is what was there at first; with other processes, where only the device was asked. */
static void add_base(const struct ladder_facts *facts, struct ladder *ladder)
{
    const size_t room = sizeof ladder->parts[0].what;
    const struct outside *outside = &facts->outside;
    bool process = facts->bytes[LADDER_PROCESS] != LADDER_NONE;
    bool device = facts->bytes[LADDER_DEVICE] != LADDER_NONE;
    if (process && outside->process.bytes != OUTSIDE_NONE) {
        add_part(ladder, LADDER_PROCESS, "context", outside->process.bytes);
        snprintf(part_text(ladder), room, "there when the process was first observed");
    }
    if (process && device) {
        add_part(ladder, LADDER_DEVICE, "other processes",
                 facts->bytes[LADDER_DEVICE] - facts->bytes[LADDER_PROCESS]);
        snprintf(part_text(ladder), room, "used on the device by others");
    } else if (device && outside->device.bytes != OUTSIDE_NONE) {
        add_part(ladder, LADDER_DEVICE, "context, other processes", outside->device.bytes);
        snprintf(part_text(ladder), room, "there when the device was first observed");
    }
}

static size_t lowest_of(const struct ladder_facts *facts)
{
    size_t i = 0;
    while (i < LADDER_STEPS && facts->bytes[i] == LADDER_NONE)
        i++;
    return i;
}

/* What the highest rung has that nobody told of. */
static void attribute(const struct ladder_facts *facts, struct ladder *ladder)
{
    int64_t lowest = facts->alone ? 0 : LADDER_NONE, highest = 0, known = ladder->unattributed;
    if (!facts->alone &&
        lowest_of(facts) >= LADDER_PROCESS) { /* the parts would stand on nothing */
        ladder->told = false;
        return;
    }
    ladder->measured =
        facts->bytes[LADDER_PROCESS] != LADDER_NONE || facts->bytes[LADDER_DEVICE] != LADDER_NONE;
    add_outside(&facts->outside, ladder);
    add_base(facts, ladder);
    for (size_t i = 0; i < LADDER_STEPS; i++) {
        struct ladder_rung *rung = &ladder->rungs[i];
        if (rung->bytes == LADDER_NONE)
            continue;
        lowest = lowest == LADDER_NONE ? rung->bytes : lowest;
        highest = rung->bytes;
        if (i >= LADDER_PROCESS) {
            rung->gap = LADDER_NONE;
            rung->what[0] = '\0';
        }
        known += rung->gap == LADDER_NONE ? 0 : rung->gap;
    }
    for (size_t i = 0; i < ladder->part_count; i++)
        known += ladder->parts[i].bytes;
    if (ladder->measured && lowest != LADDER_NONE)
        ladder->unattributed += highest - lowest - known;
}

void ladder_make(const struct ladder_facts *facts, struct ladder *out)
{
    size_t below = LADDER_STEPS;
    *out = (struct ladder){.told = facts->outside.told,
                           .alone = facts->outside.told && facts->alone,
                           .sample_age = facts->sample_age,
                           .is_host = facts->is_host};
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
    if (out->is_host) {
        name_host_gaps(out);
        add_limit(&facts->host, out);
    }
    if (!out->told)
        return;
    out->once = out->alone && facts->bytes[LADDER_PROCESS] == LADDER_NONE &&
                facts->bytes[LADDER_DEVICE] != LADDER_NONE &&
                facts->sampled_ns == facts->outside.device.at_ns;
    out->managed = facts->outside.managed;
    out->blind_ns = facts->outside.blind_ns;
    attribute(facts, out);
}

bool ladder_is_valid(const struct ladder *ladder)
{
    int64_t sum = ladder->unattributed, lowest = 0, highest = 0;
    size_t known = 0;
    bool measured = false;
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
        bool parted = ladder->told && i >= LADDER_PROCESS;
        measured = measured || parted;
        if (named != (known > 0 && !parted))
            return false;
        lowest = known++ || ladder->alone ? lowest : rung->bytes;
        highest = rung->bytes;
        sum += named ? rung->gap : 0;
    }
    for (size_t i = 0; i < ladder->part_count; i++) {
        const struct ladder_part *part = &ladder->parts[i];
        if (!part->quantity || !part->what[0] || part->under < LADDER_PROCESS)
            return false;
        sum += measured ? part->bytes : 0;
    }
    return known == ladder->known && (!ladder->told || measured == ladder->measured) &&
           sum == highest - lowest && ladder->part_count <= LADDER_PARTS &&
           (ladder->told || !ladder->part_count);
}

/* ---- reading ---- */

/* NULL unless the source tells of waits: a phase says what was active, or a block became idle. A
 * source that told once tells on, so the newest phases know. */
#define IDLES                                                                                      \
    " FROM idle i CROSS JOIN allocation a ON a.seq = i.allocation"                                 \
    " CROSS JOIN heap h ON h.id = a.heap WHERE h.process = ?1 AND h.device = ?2"
static const char waiting_sql[] =
    "SELECT CASE WHEN EXISTS"
    "  (SELECT 1 FROM (SELECT pd.active AS active"
    "    FROM phase ph CROSS JOIN phase_device pd ON pd.phase = ph.id AND pd.device = ?2"
    "    WHERE ph.process = ?1 ORDER BY ph.id DESC LIMIT 64) WHERE active IS NOT NULL)"
    " OR EXISTS (SELECT 1" IDLES
    " AND" SPAN_HAS("i.allocation") ")"
                                    " THEN (SELECT coalesce(sum(a.size), 0)" IDLES
                                    " AND i.allocation BETWEEN " SPAN_FIRST
                                    " AND ?3 AND i.seq > ?3 AND a.free_seq >= 0 AND a.free_seq <= "
                                    "?3) END AS waiting";

/* ?5: a sample of the whole device may be nobody's. It is never another process's: that may call
 * another device by this number. */
static const char sample_sql[] =
    "SELECT value, at_ns AS ns FROM sample"
    " WHERE what = ?4 AND (process = ?1 OR (?5 AND process IS NULL)) AND device = ?2"
    "   AND at_ns <= ?3"
    " ORDER BY at_ns DESC LIMIT 1";

static int read_waiting(struct db *db, int64_t process, int64_t device, int64_t seq,
                        struct ladder_facts *facts)
{
    int64_t waiting = QUERY_NONE;
    int err = query_read(db, waiting_sql, Q_IN(process, device, seq), Q_OUT(Q_OPT(waiting)));
    if (waiting != QUERY_NONE)
        facts->bytes[LADDER_ACTIVE] = facts->bytes[LADDER_ALLOCATED] + waiting;
    return err;
}

static int read_sample(struct db *db, int64_t process, int64_t device, int64_t at_ns,
                       enum ladder_step step, int64_t *value, int64_t *ns)
{
    bool all = step == LADDER_DEVICE;
    return query_read(db, sample_sql,
                      Q_IN(process, device, at_ns, all ? "device used" : "process used", all),
                      Q_OUT(Q_INT(*value), Q_INT(*ns)));
}

/* A sample is older than the instant: what the driver is known to have given since is used, too. */
static int read_used(struct db *db, int64_t process, int64_t device, int64_t seq, int64_t at_ns,
                     enum ladder_step step, struct ladder_facts *facts)
{
    int64_t ns = LADDER_NONE, since = 0;
    int err = read_sample(db, process, device, at_ns, step, &facts->bytes[step], &ns);
    if (err < 0 || ns == LADDER_NONE)
        return err;
    err = outside_since(db, process, device, seq, ns, facts->bytes[LADDER_RESERVED], &since);
    facts->bytes[step] += since;
    if (step == LADDER_DEVICE) {
        facts->sampled_ns = ns;
        facts->sample_age = at_ns - ns;
    }
    return err;
}

static int read_host(struct db *db, int64_t process, int64_t at_ns, struct ladder_facts *facts)
{
    int err = host_read(db, process, at_ns, &facts->host);
    facts->bytes[LADDER_PROCESS] = facts->host.rss;
    facts->bytes[LADDER_DEVICE] = facts->host.group_used;
    return err;
}

static int read_is_host(struct db *db, int64_t device, bool *is_host)
{
    *is_host = false;
    return query_read(db, "SELECT kind = 'cpu' AS is_host FROM device WHERE id = ?1", Q_IN(device),
                      Q_OUT(Q_INT(*is_host)));
}

int ladder_read_around(struct db *db, int64_t process, int64_t device, int64_t seq, int64_t at_ns,
                       struct ladder_facts *facts)
{
    facts->bytes[LADDER_ACTIVE] = LADDER_NONE;
    facts->bytes[LADDER_PROCESS] = LADDER_NONE;
    facts->bytes[LADDER_DEVICE] = LADDER_NONE;
    facts->sampled_ns = LADDER_NONE;
    int err = facts->alone ? 0 : read_waiting(db, process, device, seq, facts);
    if (err == 0)
        err = read_is_host(db, device, &facts->is_host);
    if (err == 0 && facts->is_host)
        return read_host(db, process, at_ns, facts);
    if (err == 0)
        err = read_used(db, process, device, seq, at_ns, LADDER_PROCESS, facts);
    if (err == 0)
        err = read_used(db, process, device, seq, at_ns, LADDER_DEVICE, facts);
    if (err == 0)
        err = outside_read(db, process, device, seq, at_ns, &facts->outside);
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

/* An allocator's words mean nothing there. */
static int read_alone(struct db *db, int64_t process, int64_t device, const struct instant *instant,
                      struct ladder_facts *facts)
{
    facts->living = LADDER_NONE;
    for (int i = 0; i < LADDER_STEPS; i++)
        facts->bytes[i] = LADDER_NONE;
    return ladder_read_around(db, process, device, instant->seq, instant->at_ns, facts);
}

int ladder_read(struct db *db, int64_t process, int64_t device, const struct instant *instant,
                struct ladder_facts *facts)
{
    *facts = (struct ladder_facts){.sampled_ns = LADDER_NONE, .alone = instant->driven};
    if (instant->driven)
        return read_alone(db, process, device, instant, facts);
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
