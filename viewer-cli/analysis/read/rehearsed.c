#include "rehearsed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- what it was ---- */

static int read_text(struct db_stmt *row, const char *key, char *out, size_t room)
{
    db_bind_text(row, 0, key, -1);
    int err = db_step(row);
    if (err == DB_ROW)
        snprintf(out, room, "%s", db_column_text(row, 0));
    db_reset(row);
    return err;
}

static int read_bytes(struct db_stmt *row, const char *key, int64_t *out)
{
    *out = REHEARSED_NONE;
    db_bind_text(row, 0, key, -1);
    int err = db_step(row);
    if (err == DB_ROW)
        *out = db_column_int(row, 0);
    db_reset(row);
    return err;
}

int rehearsed_read(struct db *db, struct rehearsed *out)
{
    struct db_stmt *row = NULL;
    *out = (struct rehearsed){0};
    int err = db_prepare(db, &row, "SELECT value FROM meta WHERE key = ?1");
    if (err >= 0)
        err = read_text(row, "rehearsal", out->gpu, sizeof out->gpu);
    out->is_one = err == DB_ROW;
    if (err >= 0)
        err = read_bytes(row, "rehearsal_memory", &out->memory);
    if (err >= 0)
        err = read_bytes(row, "rehearsal_context", &out->context);
    if (err >= 0)
        err = read_text(row, "rehearsal_context_from", out->context_from, sizeof out->context_from);
    if (err >= 0)
        err = read_text(row, "rehearsal_targets", out->targets, sizeof out->targets);
    if (err >= 0)
        err = read_text(row, "rehearsal_no_kernels", out->no_kernels, sizeof out->no_kernels);
    db_finalize(row);
    return err < 0 ? err : 0;
}

bool rehearsed_is_measured(const struct rehearsed *rehearsed)
{
    static const char measured[] = "measured";
    return strncmp(rehearsed->context_from, measured, sizeof measured - 1) == 0;
}

/* ---- two GPUs ---- */

static const char names_sql[] =
    "SELECT (SELECT value FROM meta WHERE key = 'rehearsal'),"
    "       (SELECT name FROM device WHERE kind = 'cuda' ORDER BY ordinal LIMIT 1)";

struct names {
    char rehearsed[200], device[200]; /* "": not known */
};

static int read_names(struct db *db, struct names *out)
{
    struct db_stmt *row = NULL;
    *out = (struct names){.device = ""};
    int err = db_prepare(db, &row, names_sql);
    if (err >= 0)
        err = db_step(row);
    if (err == DB_ROW) {
        snprintf(out->rehearsed, sizeof out->rehearsed, "%s", db_column_text(row, 0));
        snprintf(out->device, sizeof out->device, "%s", db_column_text(row, 1));
    }
    db_finalize(row);
    return err < 0 ? err : 0;
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

static const char *const kinds[REHEARSED_KINDS + 1] = {"size", "library", "outside", "number",
                                                       "lost"};

static const char unknown_sql[] =
    "SELECT substr(m.name, length(?1) + 2), coalesce(s.text, ''), count(*) FROM mark m"
    " LEFT JOIN site_short s ON s.site = m.value"
    " WHERE m.domain = 'rehearsal' AND m.name >= ?1 || ' ' AND m.name < ?1 || '!'"
    "   AND (?2 < 0 OR m.process = ?2)"
    " GROUP BY 1, m.value ORDER BY 3 DESC, min(m.seq)";

int rehearsed_unknown_read(struct db *db, int64_t process, enum rehearsed_kind kind,
                           struct rehearsed_unknown *out)
{
    struct db_stmt *row = NULL;
    size_t n = 0;
    int err = db_prepare(db, &row, unknown_sql);
    if (err >= 0) {
        db_bind_text(row, 0, kinds[kind], -1);
        db_bind_int(row, 1, process);
    }
    *out = (struct rehearsed_unknown){.text = ""};
    while (err >= 0 && (err = db_step(row)) == DB_ROW) {
        const char *name = db_column_text(row, 0), *place = db_column_text(row, 1);
        out->reads += db_column_int(row, 2);
        if (out->places++ >= REHEARSED_PLACES || n >= sizeof out->text)
            continue;
        n += (size_t)snprintf(out->text + n, sizeof out->text - n, "%s%.80s%s%.80s%s",
                              n ? ", " : "", name, *place ? " (" : "", place, *place ? ")" : "");
    }
    db_finalize(row);
    return err < 0 ? err : 0;
}

static const char count_sql[] =
    "SELECT count(*) FROM mark WHERE domain = 'rehearsal' AND name >= ?1 || ' '"
    " AND name < ?1 || '!' AND (?2 < 0 OR process = ?2)";

int rehearsed_count(struct db *db, int64_t process, int64_t counts[REHEARSED_KINDS])
{
    struct db_stmt *row = NULL;
    int err = db_prepare(db, &row, count_sql);
    for (int kind = 0; kind < REHEARSED_KINDS; kind++) {
        counts[kind] = 0;
        if (err < 0)
            continue;
        db_bind_text(row, 0, kinds[kind], -1);
        db_bind_int(row, 1, process);
        err = db_step(row);
        if (err == DB_ROW)
            counts[kind] = db_column_int(row, 0);
        db_reset(row);
    }
    db_finalize(row);
    return err < 0 ? err : 0;
}

/* ---- the modelled share ---- */

static const char share_sql[] =
    "SELECT ph.process, pd.device, d.ordinal,"
    "       max(coalesce(pd.max_reserved, pd.max_allocated)) AS most, count(*) OVER ()"
    "  FROM phase ph JOIN phase_device pd ON pd.phase = ph.id JOIN device d ON d.id = pd.device"
    " WHERE d.kind = 'cuda' GROUP BY 1, 2 ORDER BY most DESC, 1, 2 LIMIT 1";

int rehearsed_share_read(struct db *db, const struct rehearsed *rehearsed,
                         struct rehearsed_share *out)
{
    struct db_stmt *row = NULL;
    *out = (struct rehearsed_share){0};
    if (!rehearsed->is_one || rehearsed->context == REHEARSED_NONE)
        return 0;
    int err = db_prepare(db, &row, share_sql);
    if (err >= 0)
        err = db_step(row);
    if (err == DB_ROW) {
        out->found = true;
        out->process = db_column_int(row, 0);
        out->device = db_column_int(row, 1);
        snprintf(out->device_text, sizeof out->device_text, "cuda:%" PRId64, db_column_int(row, 2));
        out->modelled = rehearsed->context;
        out->peak = db_column_int(row, 3) + rehearsed->context;
        out->others = db_column_int(row, 4) > 1;
    }
    db_finalize(row);
    return err < 0 ? err : 0;
}
