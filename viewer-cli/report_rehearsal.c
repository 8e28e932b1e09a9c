/*
 * What a report says first where no GPU was there: that it was a rehearsal, and which sizes came of
 * values that nobody computed or are not known, by the marks of the stand-ins
 * (profiler/stand_in.h).
 */
#include <inttypes.h>
#include <stdio.h>

#include "report_parts.h"

#define PLACES 3 /* are named; of the others the number is told */

static int read_gpu(struct report *report, struct db_stmt **stmt)
{
    int err = db_prepare(report->db, stmt, "SELECT value FROM meta WHERE key = 'rehearsal'");
    return err < 0 ? err : db_step(*stmt);
}

static void say(struct emit *emit, const char *text)
{
    if (emit->format == EMIT_TABLE)
        emit_line(emit, "%s", text);
    else
        emit_warning(emit, "%s", text);
}

/* Values that were read, by what for: an operation at a place each. */
struct unknown {
    int64_t reads, places;
    char text[600]; /* "nonzero (data.py:31), unique (data.py:40)" */
};

static const char unknown_sql[] =
    "SELECT substr(m.name, length(?1) + 2), coalesce(s.text, ''), count(*) FROM mark m"
    " LEFT JOIN site_short s ON s.site = m.value"
    " WHERE m.domain = 'rehearsal' AND m.name >= ?1 || ' ' AND m.name < ?1 || '!'"
    " GROUP BY 1, m.value ORDER BY 3 DESC, min(m.seq)";

static int read_unknown(struct report *report, const char *kind, struct unknown *unknown)
{
    struct db_stmt *stmt = NULL;
    size_t n = 0;
    int err = db_prepare(report->db, &stmt, unknown_sql);
    if (err >= 0)
        db_bind_text(stmt, 0, kind, -1);
    *unknown = (struct unknown){.text = ""};
    while (err >= 0 && (err = db_step(stmt)) == DB_ROW) {
        const char *name = db_column_text(stmt, 0), *place = db_column_text(stmt, 1);
        unknown->reads += db_column_int(stmt, 2);
        if (unknown->places++ >= PLACES || n >= sizeof unknown->text)
            continue;
        n += (size_t)snprintf(unknown->text + n, sizeof unknown->text - n, "%s%.80s%s%.80s%s",
                              n ? ", " : "", name, *place ? " (" : "", place, *place ? ")" : "");
    }
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

/* "3 sizes came from values that a rehearsal does not compute: nonzero (data.py:31), ..." */
static int say_unknown(struct report *report, struct emit *emit, const char *whose,
                       const char *kind, const char *one, const char *many)
{
    struct unknown unknown;
    char text[900], more[40] = "";
    int err = read_unknown(report, kind, &unknown);
    if (err < 0 || unknown.reads == 0)
        return err;
    if (unknown.places > PLACES)
        snprintf(more, sizeof more, " and %" PRId64 " more place%s", unknown.places - PLACES,
                 unknown.places == PLACES + 1 ? "" : "s");
    snprintf(text, sizeof text, "%s%" PRId64 " %s: %s%s", whose, unknown.reads,
             unknown.reads == 1 ? one : many, unknown.text, more);
    say(emit, text);
    return 0;
}

int report_say_rehearsed(struct report *report, struct emit *emit, const char *whose)
{
    struct db_stmt *stmt = NULL;
    char text[400];
    int err = read_gpu(report, &stmt);
    bool is_one = err == DB_ROW;
    if (is_one) {
        snprintf(text, sizeof text, "%srehearsed without a GPU, as on %s", whose,
                 db_column_text(stmt, 0));
        say(emit, text);
    }
    db_finalize(stmt);
    if (is_one)
        err = say_unknown(report, emit, whose, "size",
                          "size came from a value that is not computed, taken as 0",
                          "sizes came from values that are not computed, taken as 0");
    if (is_one && err >= 0)
        err = say_unknown(report, emit, whose, "library",
                          "size of a library's working memory is not known, taken as 0",
                          "sizes of libraries' working memory are not known, taken as 0");
    if (is_one && err >= 0)
        err = say_unknown(report, emit, whose, "number",
                          "number that the program read is not computed, and was 0",
                          "numbers that the program read are not computed, and were 0");
    if (is_one && err >= 0)
        err = say_unknown(report, emit, whose, "lost",
                          "of these values was known, but 64 MiB of newer ones were",
                          "of these values were known, but 64 MiB of newer ones were");
    return err < 0 ? err : 0;
}
