/*
 * tidemark alone in a folder: the recordings there, the newest first, with their peaks and what
 * became of the runs. A file that cannot be read has no row: the reports say why when it is named.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "db.h"
#include "emit.h"
#include "error.h"
#include "human.h"
#include "info_processes.h"
#include "mem.h"
#include "query.h"

enum { MOST = 15, NONE = -1 }; /* rows; there are no recordings, and nothing was printed */

struct recording {
    char *name;
    int64_t began_ns; /* on the calendar */
    int64_t peak;     /* INT64_MIN: no block */
    char *device;     /* of the peak; NULL */
    int64_t ooms;
    int64_t finished;
    enum info_end end; /* of the root process */
    int64_t exit_code, signal;
};

struct recordings {
    struct recording *list;
    size_t count, cap;
};

static const struct emit_column columns[] = {
    {NULL, "recording", EMIT_TEXT, EMIT_PEOPLE},
    {NULL, "began", EMIT_TEXT, EMIT_PEOPLE},
    {NULL, "peak", EMIT_BYTES, EMIT_PEOPLE | EMIT_NONE},
    {NULL, "device", EMIT_TEXT, EMIT_PEOPLE | EMIT_NONE},
    {NULL, "run", EMIT_TEXT, EMIT_PEOPLE},
};

static void clear(struct recording *recording)
{
    mem_free(recording->name);
    mem_free(recording->device);
}

/* A GPU's peak before the host's. */
static int read_facts(struct db *db, struct recording *out)
{
    char ended[32] = "";
    int err = query_first(db,
                          "SELECT real_ns - run_ns AS began_ns FROM clock"
                          " ORDER BY run_ns LIMIT 1",
                          Q_NOTHING, Q_OUT(Q_INT(out->began_ns)));
    if (err >= 0)
        err = query_read(db,
                         "SELECT allocated AS peak, device FROM peak"
                         " ORDER BY device = 'cpu', allocated DESC LIMIT 1",
                         Q_NOTHING, Q_OUT(Q_INT(out->peak), Q_COPY(out->device)));
    if (err >= 0)
        err = query_read(db,
                         "SELECT (SELECT count(*) FROM oom) AS ooms,"
                         "       coalesce((SELECT value <> 0 FROM meta WHERE key = 'finished'), 0)"
                         "           AS finished",
                         Q_NOTHING, Q_OUT(Q_INT(out->ooms), Q_INT(out->finished)));
    if (err >= 0)
        err =
            query_read(db, "SELECT ended, exit_code, signal FROM process ORDER BY id LIMIT 1",
                       Q_NOTHING, Q_OUT(Q_CHARS(ended), Q_OPT(out->exit_code), Q_OPT(out->signal)));
    out->end = info_end_of(ended);
    return err < 0 ? err : 0;
}

/* What is no recording, or cannot be read, is left out. ERR_NOMEM or 0. */
static int add(struct recordings *all, const char *name)
{
    struct recording one = {.peak = INT64_MIN, .exit_code = INT64_MIN, .signal = INT64_MIN};
    struct db *db = NULL;
    int err = db_open(&db, name);
    if (err == 0)
        err = read_facts(db, &one);
    if (db)
        db_close(db);
    if (err == 0)
        one.name = mem_copy(name, strlen(name));
    if (err == 0 && one.name && MEM_GROW(all->list, all->cap, all->count + 1)) {
        all->list[all->count++] = one;
        return 0;
    }
    clear(&one);
    return err == 0 || err == ERR_NOMEM ? ERR_NOMEM : 0;
}

static bool is_database(const char *name)
{
    size_t n = strlen(name);
    return n > 3 && *name != '.' && strcmp(name + n - 3, ".db") == 0;
}

static int by_start(const void *a, const void *b)
{
    const struct recording *x = a, *y = b;
    if (x->began_ns != y->began_ns)
        return (x->began_ns < y->began_ns) - (x->began_ns > y->began_ns);
    return strcmp(x->name, y->name);
}

static int find(struct recordings *all)
{
    struct dirent *entry;
    int err = 0;
    DIR *dir = opendir(".");
    if (!dir)
        return 0;
    while (err == 0 && (entry = readdir(dir)))
        if (is_database(entry->d_name))
            err = add(all, entry->d_name);
    closedir(dir);
    if (all->count)
        qsort(all->list, all->count, sizeof *all->list, by_start);
    return err;
}

/* "out of memory", "exit status 1", "killed by signal 9", "fine", "not finished" */
static const char *verdict(char text[64], const struct recording *one)
{
    bool failed = one->end != INFO_END_EXIT || one->exit_code != 0;
    if (!one->finished)
        snprintf(text, 64, "not finished");
    else if (one->ooms && failed)
        snprintf(text, 64, "out of memory");
    else if (one->ooms)
        snprintf(text, 64, "fine, after out of memory");
    else if (one->end == INFO_END_SIGNAL)
        snprintf(text, 64, "killed by signal %" PRId64, one->signal);
    else if (one->end == INFO_END_EXIT && one->exit_code > 0)
        snprintf(text, 64, "exit status %" PRId64, one->exit_code);
    else
        snprintf(text, 64, "%s", failed ? "end not known" : "fine");
    return text;
}

static void put(struct emit *emit, const struct recording *one)
{
    char text[64], began[HUMAN_MAX];
    emit_text(emit, one->name);
    emit_text(emit, human_calendar(began, one->began_ns, false));
    emit_known(emit, one->peak);
    emit_text(emit, one->device);
    emit_text(emit, verdict(text, one));
}

static void put_all(struct emit *emit, const struct recordings *all)
{
    const char *newest = all->list[0].name;
    char more[HUMAN_MAX];
    EMIT_SECTION(emit, "recordings", NULL, EMIT_ROWS, columns);
    for (size_t i = 0; i < all->count && i < MOST; i++)
        put(emit, &all->list[i]);
    if (all->count > MOST)
        emit_line(emit, "and %s older", human_count(more, (int64_t)(all->count - MOST)));
    emit_heading(emit, "Next");
    emit_line(emit, "tidemark %s   the peak, and what lowers it", newest);
    if (all->count > 1)
        emit_line(emit, "tidemark diff %s %s   what changed", all->list[1].name, newest);
    emit_line(emit, "tidemark --help   all commands");
}

static int list_all(const struct command_call *call)
{
    struct recordings all = {0};
    struct emit emit;
    int err = find(&all);
    bool any = err == 0 && all.count;
    if (any) {
        emit_begin(&emit, EMIT_TABLE, EMIT_COLOUR_AUTO, call->command->name, NULL);
        put_all(&emit, &all);
        err = emit_finish(&emit, stdout);
    }
    for (size_t i = 0; i < all.count; i++)
        clear(&all.list[i]);
    mem_free(all.list);
    if (err < 0)
        return EXIT_INTERNAL;
    return any ? EXIT_FINE : NONE;
}

/* Not in the table of commands: it is run where no command is named. */
extern const struct command command_recordings;
const struct command command_recordings = {.name = "recordings", .run = list_all};
