#include "instant.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "mem.h"
#include "peak.h"
#include "query.h"
#include "span.h"

struct place { /* whose moments they are */
    struct db *db;
    int64_t process, device;
};

static int nothing(struct instant *out)
{
    *out = (struct instant){
        .allocated = INSTANT_NONE,
        .reserved = INSTANT_NONE,
        .phase = INSTANT_NONE,
        .step = INSTANT_NONE,
    };
    return ERR_NOTFOUND;
}

/* ---- the highest point of steps ---- */

int instant_of_peak(const struct peak *peak, int err, struct instant *out)
{
    char remark[PEAK_REMARK];
    nothing(out);
    snprintf(out->label, sizeof out->label, "peak");
    if (err < 0 || !peak->found)
        return err < 0 ? err : ERR_NOTFOUND;
    out->seq = peak->living_seq;
    out->at_ns = peak->at_ns;
    out->allocated = peak->allocated;
    out->reserved = peak->reserved;
    out->phase = peak->phase;
    out->step = peak->step;
    const char *path = peak->phase_path ? peak->phase_path : "no phase";
    peak_remark(remark, peak);
    if (peak->step == PEAK_NONE)
        snprintf(out->label, sizeof out->label, "peak, %s%s", path, remark);
    else
        snprintf(out->label, sizeof out->label, "peak of step %" PRId64 ", %s%s", peak->step, path,
                 remark);
    return 0;
}

static int highest(const struct place *place, int64_t first_step, int64_t last_step,
                   struct instant *out)
{
    struct peak peak;
    int err = peak_find(place->db, place->process, place->device, first_step, last_step, &peak);
    err = instant_of_peak(&peak, err, out);
    peak_clear(&peak);
    return err;
}

/* ---- the highest point inside phases of a name ---- */

static const char phase_peak_sql[] =
    "SELECT coalesce(pd.peak_seq, ph.begin_seq) AS seq, coalesce(pd.peak_ns, ph.begin_ns) AS at_ns,"
    "       pd.peak_allocated AS allocated, pd.peak_reserved AS reserved, ph.id AS phase, ph.step"
    "  FROM phase ph JOIN phase_device pd ON pd.phase = ph.id"
    " WHERE ph.process = ?1 AND pd.device = ?2 AND (ph.name = ?3 OR ph.kind = ?3)"
    "   AND ph.step BETWEEN ?4 AND ?5"
    " ORDER BY ph.name = ?3 DESC, pd.peak_allocated DESC, ph.begin_seq LIMIT 1";

int instant_highest_in(struct db *db, int64_t process, int64_t device, const char *phase,
                       int64_t first_step, int64_t last_step, struct instant *out)
{
    nothing(out);
    snprintf(out->label, sizeof out->label, "peak of %s", phase);
    int err = query_first(db, phase_peak_sql, Q_IN(process, device, phase, first_step, last_step),
                          Q_OUT(Q_INT(out->seq), Q_INT(out->at_ns), Q_INT(out->allocated),
                                Q_OPT(out->reserved), Q_INT(out->phase), Q_INT(out->step)));
    if (err != DB_ROW)
        return err < 0 ? err : ERR_NOTFOUND;
    snprintf(out->label, sizeof out->label, "peak of step %" PRId64 ", %s", out->step, phase);
    return 0;
}

/* ---- the end of a phase ---- */

/* Of phases that have the name or, where none does, are of the kind. An open phase ends where the
 * recording does. */
static const char phase_end_sql[] =
    "SELECT coalesce(ph.end_seq, (SELECT last_seq FROM process WHERE id = ph.process),"
    "                ph.begin_seq) AS seq, coalesce(ph.end_ns, ph.begin_ns) AS at_ns,"
    "       pd.allocated, pd.reserved, ph.id AS phase"
    "  FROM phase ph JOIN phase_device pd ON pd.phase = ph.id"
    " WHERE ph.process = ?1 AND pd.device = ?2 AND ph.step = ?3"
    "   AND (ph.name = ?4 OR ph.kind = ?4) AND (?5 IS NULL OR ph.ordinal = ?5)"
    " ORDER BY ph.name = ?4 DESC, ph.begin_seq DESC LIMIT 1";

static int phase_end(const struct place *place, int64_t step, const char *name, int64_t ordinal,
                     struct instant *out)
{
    nothing(out);
    if (ordinal == INSTANT_NONE)
        snprintf(out->label, sizeof out->label, "step %" PRId64 ", end of %s", step, name);
    else
        snprintf(out->label, sizeof out->label, "step %" PRId64 ", end of %s #%" PRId64, step, name,
                 ordinal);
    out->step = step;
    int err = query_first(place->db, phase_end_sql,
                          Q_IN(place->process, place->device, step, name, query_opt(ordinal)),
                          Q_OUT(Q_INT(out->seq), Q_INT(out->at_ns), Q_INT(out->allocated),
                                Q_OPT(out->reserved), Q_INT(out->phase)));
    return err < 0 ? err : err == DB_ROW ? 0 : ERR_NOTFOUND;
}

/* ---- any time ---- */

static const char bounds_sql[] =
    "SELECT min(coalesce((SELECT max(seq) FROM allocation), 0), " SPAN_LAST ") AS high, " SPAN_FIRST
    " AS low";

static const char birth_sql[] =
    "SELECT a.seq, a.alloc_ns FROM allocation a JOIN heap h ON h.id = a.heap"
    " WHERE a.seq >= ?2 AND a.seq <= " SPAN_LAST " AND h.process = ?1 AND h.device = ?3"
    " ORDER BY a.seq LIMIT 1";

/* Births of one device have times that never run backwards, so halving finds the last one at or
 * before the time, and the next; table allocation has no index on times. */
static int births_around(const struct place *place, int64_t at_ns, struct thinned_births *out)
{
    int64_t low = 0, high = 0, seq = 0, alloc_ns = 0;
    *out = (struct thinned_births){THINNED_NONE, THINNED_NONE, THINNED_NONE, THINNED_NONE};
    int err =
        query_read(place->db, bounds_sql, Q_IN(place->process), Q_OUT(Q_INT(high), Q_INT(low)));
    if (err < 0)
        return err;
    struct query birth = query_ask(place->db, birth_sql, Q_IN(place->process, low, place->device),
                                   Q_OUT(Q_INT(seq), Q_INT(alloc_ns)));
    while (low <= high && birth.err >= 0) {
        int64_t middle = low + (high - low) / 2;
        query_again(&birth, Q_IN(place->process, middle, place->device));
        if (!query_next(&birth)) {
            high = middle - 1;
        } else if (alloc_ns > at_ns) {
            high = middle - 1;
            out->next_seq = seq;
            out->next_ns = alloc_ns;
        } else {
            low = seq + 1;
            out->seq = seq;
            out->ns = alloc_ns;
        }
    }
    return query_end(&birth);
}

/* The births that are there; beside them, what was thinned out. */
static int last_birth(const struct place *place, int64_t at_ns, struct instant *out)
{
    struct thinned_births births;
    int err = births_around(place, at_ns, &births);
    if (err == 0)
        err = thinned_time_read(place->db, place->process, &births, at_ns, &out->thinned);
    if (err < 0)
        return err;
    bool behind = out->thinned.seq != THINNED_NONE;
    out->seq = behind ? out->thinned.seq : births.seq;
    out->at_ns = behind ? out->thinned.ns : births.ns;
    return out->thinned.is || out->seq == THINNED_NONE ? ERR_NOTFOUND : 0;
}

static int at_time(const struct place *place, int64_t at_ns, const char *text, struct instant *out)
{
    nothing(out);
    snprintf(out->label, sizeof out->label, "%s after the start", text);
    int err = last_birth(place, at_ns, out);
    if (err == ERR_NOTFOUND && !out->thinned.is)
        snprintf(out->label, sizeof out->label, "%s after the start there was no block", text);
    return err;
}

static int at_end(const struct place *place, struct instant *out)
{
    int64_t seq = INSTANT_NONE;
    nothing(out);
    snprintf(out->label, sizeof out->label, "the end");
    int err = query_read(place->db,
                         "SELECT coalesce(last_seq, (SELECT max(seq) FROM allocation)) AS seq,"
                         " end_ns AS at_ns FROM process WHERE id = ?",
                         Q_IN(place->process), Q_OUT(Q_OPT(seq), Q_INT(out->at_ns)));
    if (err == 0 && seq == INSTANT_NONE) {
        out->at_ns = 0;
        return ERR_NOTFOUND;
    }
    out->seq = err == 0 ? seq : 0;
    return err;
}

/* ---- their names ---- */

static bool read_time(const char *text, int64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"", 1e9}};
    char *end;
    double value = strtod(text, &end);
    if (end == text || !isfinite(value) || value < 0)
        return false;
    while (*end == ' ')
        end++;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].unit) == 0 && value * units[i].ns < 9e18) {
            *ns = (int64_t)(value * units[i].ns);
            return true;
        }
    }
    return false;
}

static bool read_number(const char *text, const char **end, int64_t *value)
{
    *value = 0;
    *end = text;
    while (**end >= '0' && **end <= '9' && *value < INT64_MAX / 16)
        *value = *value * 10 + (*(*end)++ - '0');
    return *end > text;
}

/* NAME or NAME#ORDINAL. A name of the program's own may have a '#' in it: only digits behind the
 * last one count. */
static bool read_phase(const char *text, struct instant_wish *wish)
{
    const char *mark = strrchr(text, '#'), *end;
    *wish = (struct instant_wish){WISH_PHASE, wish->number, text, strlen(text), INSTANT_NONE};
    if (mark && mark > text && read_number(mark + 1, &end, &wish->ordinal) && !*end)
        wish->phase_bytes = (size_t)(mark - text);
    else
        wish->ordinal = INSTANT_NONE;
    return *text != '\0';
}

bool instant_read_wish(const char *text, struct instant_wish *wish)
{
    const char *end;
    *wish = (struct instant_wish){.what = WISH_PEAK};
    if (strcmp(text, "peak") == 0)
        return true;
    wish->what = WISH_END;
    if (strcmp(text, "end") == 0)
        return true;
    wish->what = WISH_TIME;
    if (*text == '@')
        return read_time(text + 1, &wish->number);
    wish->what = WISH_STEP;
    if (!read_number(text, &end, &wish->number))
        return false;
    return *end == '/' ? read_phase(end + 1, wish) : *end == '\0';
}

bool instant_is_name(const char *text)
{
    struct instant_wish wish;
    return instant_read_wish(text, &wish);
}

static int phase_named(const struct place *place, const struct instant_wish *wish,
                       struct instant *out)
{
    char *name = mem_copy(wish->phase, wish->phase_bytes);
    int err = name ? phase_end(place, wish->number, name, wish->ordinal, out) : ERR_NOMEM;
    mem_free(name);
    return err;
}

int instant_find(struct db *db, int64_t process, int64_t device, const char *text,
                 struct instant *out)
{
    struct place place = {db, process, device};
    struct instant_wish wish;
    int err = ERR_ARG;

    nothing(out);
    if (!instant_read_wish(text, &wish))
        return ERR_ARG;
    switch (wish.what) {
    case WISH_PEAK:
        return highest(&place, INT64_MIN, INT64_MAX, out);
    case WISH_END:
        return at_end(&place, out);
    case WISH_TIME:
        return at_time(&place, wish.number, text + 1, out);
    case WISH_PHASE:
        return phase_named(&place, &wish, out);
    case WISH_STEP:
        err = highest(&place, wish.number, wish.number, out);
        if (err == ERR_NOTFOUND) {
            out->step = wish.number;
            snprintf(out->label, sizeof out->label, "step %" PRId64, wish.number);
        }
    }
    return err;
}

int instant_highest(struct db *db, int64_t process, int64_t device, int64_t first_step,
                    int64_t last_step, struct instant *out)
{
    struct place place = {db, process, device};
    return highest(&place, first_step, last_step, out);
}

bool instant_pair(const char *text, char *first, char *second)
{
    const char *dots = strstr(text, "..");
    if (!dots || dots == text || !dots[2])
        return false;
    memcpy(first, text, (size_t)(dots - text));
    first[dots - text] = '\0';
    memcpy(second, dots + 2, strlen(dots + 2) + 1);
    return true;
}

/* Steps with memory on the device, the last first. What a program that trains does behind its last
 * step, as a validation whose forward has gradients, is counted as one more: without backward and
 * optimizer it is no step to compare with, unless it was cut short. */
static const char last_steps_sql[] =
    "WITH steps AS (SELECT step, max(kind IN ('backward', 'optimizer')) AS trains,"
    "                      max(ended IS NOT 'end') AS cut, min(begin_seq) AS begin"
    "                 FROM phase WHERE process = ?1 AND step IS NOT NULL GROUP BY step),"
    "     rest AS (SELECT max(step) AS step, trains, cut, begin FROM steps)"
    "SELECT DISTINCT ph.step FROM phase ph JOIN phase_device pd ON pd.phase = ph.id"
    " WHERE ph.process = ?1 AND pd.device = ?2 AND ph.step BETWEEN ?3 AND ?4"
    "   AND (?5 OR ph.step IS NOT"
    "        (SELECT step FROM rest WHERE NOT trains AND NOT cut"
    "            AND EXISTS (SELECT 1 FROM steps WHERE steps.trains)"
    "            AND NOT EXISTS (SELECT 1 FROM oom WHERE process = ?1 AND seq >= rest.begin)))"
    " ORDER BY ph.step DESC";

int instant_last_steps(struct db *db, int64_t process, int64_t device, int64_t first_step,
                       int64_t last_step, struct instant *before, struct instant *after)
{
    struct place place = {db, process, device};
    bool bounded = first_step != INT64_MIN || last_step != INT64_MAX;
    int64_t step, early = 0, late = 0;
    int count = 0;
    nothing(before);
    nothing(after);
    struct query query =
        query_ask(db, last_steps_sql, Q_IN(process, device, first_step, last_step, bounded),
                  Q_OUT(Q_INT(step)));
    for (; (bounded || count < 2) && query_next(&query); count++) {
        early = step;
        late = count ? late : step;
    }
    int err = query_end(&query);
    if (err < 0)
        return err;
    if (count < 2)
        return ERR_NOTFOUND;
    err = highest(&place, early, early, before);
    return err < 0 ? err : highest(&place, late, late, after);
}
