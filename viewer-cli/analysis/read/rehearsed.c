#include "rehearsed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "query.h"

/* ---- what it was ---- */

static const char meta_sql[] =
    "SELECT (SELECT value FROM meta WHERE key = 'rehearsal') AS gpu,"
    "       EXISTS (SELECT 1 FROM meta WHERE key = 'rehearsal') AS is_one,"
    "       (SELECT value FROM meta WHERE key = 'rehearsal_memory') AS memory,"
    "       (SELECT value FROM meta WHERE key = 'rehearsal_context') AS context,"
    "       (SELECT value FROM meta WHERE key = 'rehearsal_context_from') AS context_from,"
    /* recordings before format 7 say it in these words alone */
    "       coalesce((SELECT value FROM meta WHERE key = 'rehearsal_context_measured'),"
    "                (SELECT value LIKE 'measured:%' FROM meta"
    "                 WHERE key = 'rehearsal_context_from'), 0) AS context_measured,"
    "       (SELECT value FROM meta WHERE key = 'rehearsal_targets') AS targets,"
    "       (SELECT value FROM meta WHERE key = 'rehearsal_no_kernels') AS no_kernels";

int rehearsed_read(struct db *db, struct rehearsed *out)
{
    *out = (struct rehearsed){0};
    return query_read(db, meta_sql, Q_NOTHING,
                      Q_OUT(Q_CHARS(out->gpu), Q_INT(out->is_one), Q_OPT(out->memory),
                            Q_OPT(out->context), Q_CHARS(out->context_from),
                            Q_INT(out->context_measured), Q_CHARS(out->targets),
                            Q_CHARS(out->no_kernels)));
}

/* ---- two GPUs ---- */

static const char names_sql[] =
    "SELECT (SELECT value FROM meta WHERE key = 'rehearsal') AS rehearsed,"
    "       (SELECT name FROM device WHERE kind = 'cuda' ORDER BY ordinal LIMIT 1) AS device";

struct names {
    char rehearsed[200], device[200]; /* "": not known */
};

static int read_names(struct db *db, struct names *out)
{
    *out = (struct names){.device = ""};
    return query_read(db, names_sql, Q_NOTHING,
                      Q_OUT(Q_CHARS(out->rehearsed), Q_CHARS(out->device)));
}

int rehearsed_compare(struct db *const dbs[2], struct rehearsed_gpus *out)
{
    struct names names[2];
    *out = (struct rehearsed_gpus){.differ = false};
    for (int i = 0; i < 2; i++) {
        int err = read_names(dbs[i], &names[i]);
        if (err < 0)
            return err;
    }
    bool rehearsed = *names[0].rehearsed && *names[1].rehearsed;
    for (int i = 0; i < 2; i++)
        snprintf(out->texts[i], sizeof out->texts[i], "%.199s",
                 rehearsed ? names[i].rehearsed : names[i].device);
    out->differ = *out->texts[0] && *out->texts[1] && strcmp(out->texts[0], out->texts[1]) != 0;
    return 0;
}

/* ---- values that were not computed ---- */

static const char *const kinds[REHEARSED_TOLD] = {"size",   "library", "outside",
                                                  "number", "lost",    "modelled"};

/* A call site's text costs more than all of its marks: it is asked for once. */
static const char unknown_sql[] =
    "SELECT u.name, coalesce(s.text, '') AS place, u.reads"
    "  FROM (SELECT substr(name, length(?1) + 2) AS name, value AS site, count(*) AS reads,"
    "               min(seq) AS first"
    "          FROM mark"
    "         WHERE domain = 'rehearsal' AND name >= ?1 || ' ' AND name < ?1 || '!'"
    "           AND (?2 < 0 OR process = ?2)"
    "         GROUP BY 1, 2) u"
    "  LEFT JOIN site_short s ON s.site = u.site"
    " ORDER BY u.reads DESC, u.first";

int rehearsed_unknown_read(struct db *db, int64_t process, enum rehearsed_kind kind,
                           struct rehearsed_unknown *out)
{
    const char *name, *place;
    int64_t reads;
    size_t n = 0;
    struct query query = query_ask(db, unknown_sql, Q_IN(kinds[kind], process),
                                   Q_OUT(Q_TEXT(name), Q_TEXT(place), Q_INT(reads)));
    *out = (struct rehearsed_unknown){.text = ""};
    while (query_next(&query)) {
        out->reads += reads;
        if (out->places++ >= REHEARSED_PLACES || n >= sizeof out->text)
            continue;
        n += (size_t)snprintf(out->text + n, sizeof out->text - n, "%s%.80s%s%.80s%s",
                              n ? ", " : "", name, *place ? " (" : "", place, *place ? ")" : "");
    }
    return query_end(&query);
}

/* rehearsal/libs/dnn_backend.c */
static const char trials_sql[] =
    "SELECT count(*) AS count FROM mark"
    " WHERE domain = 'rehearsal' AND name = 'modelled cudnn.benchmark trials'";

int rehearsed_trials(struct db *db, int64_t *count)
{
    *count = 0;
    return query_read(db, trials_sql, Q_NOTHING, Q_OUT(Q_INT(*count)));
}

static const char count_sql[] =
    "SELECT count(*) AS count FROM mark WHERE domain = 'rehearsal' AND name >= ?1 || ' '"
    " AND name < ?1 || '!' AND (?2 < 0 OR process = ?2)";

/* Marks have no index, and most recordings have none of these. */
static const char any_sql[] =
    "SELECT EXISTS (SELECT 1 FROM mark WHERE domain = 'rehearsal') AS \"any\"";

int rehearsed_count(struct db *db, int64_t process, int64_t counts[REHEARSED_KINDS])
{
    bool any = false;
    int err = query_once(db, any_sql, Q_OUT(Q_INT(any)));
    for (int kind = 0; kind < REHEARSED_KINDS; kind++) {
        int64_t count = 0;
        if (err == 0 && any)
            err = query_read(db, count_sql, Q_IN(kinds[kind], process), Q_OUT(Q_INT(count)));
        counts[kind] = count;
    }
    return err;
}

/* ---- the modelled share ---- */

static const char share_sql[] =
    "SELECT ph.process, pd.device, d.ordinal,"
    "       max(coalesce(pd.max_reserved, pd.max_allocated)) AS most, count(*) OVER () AS places"
    "  FROM phase ph JOIN phase_device pd ON pd.phase = ph.id JOIN device d ON d.id = pd.device"
    " WHERE d.kind = 'cuda' GROUP BY 1, 2 ORDER BY most DESC, 1, 2 LIMIT 1";

int rehearsed_share_read(struct db *db, const struct rehearsed *rehearsed,
                         struct rehearsed_share *out)
{
    int64_t ordinal, most, places;
    *out = (struct rehearsed_share){0};
    if (!rehearsed->is_one || rehearsed->context == REHEARSED_NONE)
        return 0;
    int err = query_first(
        db, share_sql, Q_NOTHING,
        Q_OUT(Q_INT(out->process), Q_INT(out->device), Q_INT(ordinal), Q_INT(most), Q_INT(places)));
    if (err == DB_ROW) {
        out->found = true;
        snprintf(out->device_text, sizeof out->device_text, "cuda:%" PRId64, ordinal);
        out->modelled = rehearsed->context;
        out->peak = most + rehearsed->context;
        out->others = places > 1;
    }
    return err < 0 ? err : 0;
}
