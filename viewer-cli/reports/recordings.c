/*
 * tidemark alone in a folder: the recordings there, the newest first, with their peaks and what
 * became of the runs: how they ended, and whether they grow. A recording that is damaged has a row
 * with the way to save it. A file that is none has no row; a line says that it was left out.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "buf.h"
#include "command.h"
#include "db.h"
#include "emit.h"
#include "error.h"
#include "growth.h"
#include "human.h"
#include "info_processes.h"
#include "loss.h"
#include "mem.h"
#include "query.h"

enum { MOST = 15, NONE = -1 }; /* rows; there are no recordings, and nothing was printed */

struct recording {
    char *name;
    int64_t began_ns;           /* on the calendar; INT64_MIN: not known */
    int64_t order_ns;           /* the same, or of a damaged file when it was written */
    int64_t peak;               /* INT64_MIN: no block */
    char *device;               /* of the peak; NULL */
    int64_t process, device_id; /* the same */
    int64_t grows;              /* bytes per step; 0: it does not */
    bool steady;                /* and that was judged */
    char *argv;                 /* of the root process; NULL */
    int64_t ooms;
    int64_t finished;
    int64_t steps;     /* after which --steps ended it; 0 */
    int64_t no_blocks; /* repair found some, and could save none */
    bool damaged;      /* nothing else is known */
    enum info_end end; /* of the root process */
    int64_t exit_code, signal;
};

struct recordings {
    struct recording *list;
    size_t count, cap;
    char *foreign; /* the first name of those that are none */
    int64_t foreigns;
};

static const struct emit_column columns[] = {
    {NULL, "recording", EMIT_TEXT, EMIT_PEOPLE | EMIT_MIDDLE | EMIT_ROOMY},
    {NULL, "began", EMIT_TEXT, EMIT_PEOPLE | EMIT_NONE},
    {NULL, "peak", EMIT_BYTES, EMIT_PEOPLE | EMIT_NONE},
    {NULL, "device", EMIT_TEXT, EMIT_PEOPLE | EMIT_NONE},
    {NULL, "run", EMIT_TEXT, EMIT_PEOPLE | EMIT_WRAP},
};

static void clear(struct recording *recording)
{
    mem_free(recording->name);
    mem_free(recording->device);
    mem_free(recording->argv);
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
                         "SELECT allocated AS peak, device, process, device_id FROM peak"
                         " ORDER BY device = 'cpu', allocated DESC LIMIT 1",
                         Q_NOTHING,
                         Q_OUT(Q_INT(out->peak), Q_COPY(out->device), Q_INT(out->process),
                               Q_INT(out->device_id)));
    if (err >= 0)
        err = query_read(db,
                         "SELECT (SELECT count(*) FROM oom) AS ooms,"
                         "       coalesce((SELECT value <> 0 FROM meta WHERE key = 'finished'), 0)"
                         "           AS finished,"
                         "       coalesce((SELECT value FROM meta WHERE key = 'ended_steps'), 0)"
                         "           AS steps,"
                         "       EXISTS (SELECT 1 FROM lost WHERE kind = '" LOSS_DAMAGED
                         "') AND NOT EXISTS (SELECT 1 FROM allocation) AS no_blocks",
                         Q_NOTHING,
                         Q_OUT(Q_INT(out->ooms), Q_INT(out->finished), Q_INT(out->steps),
                               Q_INT(out->no_blocks)));
    if (err >= 0)
        err = query_read(
            db, "SELECT ended, exit_code, signal, argv FROM process ORDER BY id LIMIT 1", Q_NOTHING,
            Q_OUT(Q_CHARS(ended), Q_OPT(out->exit_code), Q_OPT(out->signal), Q_COPY(out->argv)));
    out->end = info_end_of(ended);
    return err < 0 ? err : 0;
}

static int64_t read_mtime(const char *name)
{
    struct stat info;
    if (stat(name, &info) < 0)
        return INT64_MIN;
    return (int64_t)info.st_mtim.tv_sec * INT64_C(1000000000) + info.st_mtim.tv_nsec;
}

static int read_one(const char *name, struct recording *out)
{
    struct db *db = NULL;
    *out = (struct recording){
        .began_ns = INT64_MIN, .peak = INT64_MIN, .exit_code = INT64_MIN, .signal = INT64_MIN};
    int err = db_open(&db, name);
    if (err == 0)
        err = read_facts(db, out);
    if (db)
        db_close(db);
    out->order_ns = out->began_ns;
    if (err != ERR_CORRUPT)
        return err;
    clear(out);
    *out = (struct recording){
        .began_ns = INT64_MIN, .order_ns = read_mtime(name), .peak = INT64_MIN, .damaged = true};
    return 0;
}

static int leave_out(struct recordings *all, const char *name)
{
    if (!all->foreigns++)
        all->foreign = mem_copy(name, strlen(name));
    return all->foreign ? 0 : ERR_NOMEM;
}

/* What is no recording is counted. ERR_NOMEM or 0. */
static int add(struct recordings *all, const char *name)
{
    struct recording one;
    int err = read_one(name, &one);
    if (err == 0)
        one.name = mem_copy(name, strlen(name));
    if (err == 0 && one.name && MEM_GROW(all->list, all->cap, all->count + 1)) {
        all->list[all->count++] = one;
        return 0;
    }
    clear(&one);
    return err == 0 || err == ERR_NOMEM ? ERR_NOMEM : leave_out(all, name);
}

static bool is_database(const char *name)
{
    size_t n = strlen(name);
    return n > 3 && *name != '.' && strcmp(name + n - 3, ".db") == 0;
}

static int by_start(const void *a, const void *b)
{
    const struct recording *x = a, *y = b;
    if (x->order_ns != y->order_ns)
        return (x->order_ns < y->order_ns) - (x->order_ns > y->order_ns);
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

/* Of those that have a row: the phases of a long run are many. What cannot be read now was read
 * before, and has its row all the same. */
static void judge(struct recording *one)
{
    struct growth growth;
    struct db *db = NULL;
    if (one->damaged || one->no_blocks || one->peak == INT64_MIN || db_open(&db, one->name) != 0)
        return;
    if (growth_read(db, one->process, one->device_id, &growth) == 0 && !growth.calls) {
        one->grows = growth.per_unit;
        one->steady = growth.kind == GROWTH_STEADY;
    }
    db_close(db);
}

/* "out of memory", "exit status 1", "killed by signal 9", "not finished", "repaired: no
 * block was saved" */
static const char *verdict(char text[64], const struct recording *one)
{
    bool failed = one->end != INFO_END_EXIT || one->exit_code != 0;
    if (one->no_blocks)
        snprintf(text, 64, "repaired: no block was saved");
    else if (!one->finished)
        snprintf(text, 64, "not finished");
    else if (one->ooms && failed)
        snprintf(text, 64, "out of memory");
    else if (one->ooms)
        snprintf(text, 64, "exit status 0 after an OOM");
    else if (one->steps > 0 && one->steps < INT64_MAX)
        snprintf(text, 64, "ended after %" PRId64 " step%s (--steps)", one->steps,
                 one->steps == 1 ? "" : "s");
    else if (one->end == INFO_END_SIGNAL)
        snprintf(text, 64, "killed by signal %" PRId64, one->signal);
    else if (one->end == INFO_END_EXIT && one->exit_code > 0)
        snprintf(text, 64, "exit status %" PRId64, one->exit_code);
    else
        snprintf(text, 64, "%s", failed ? "end not known" : "exit status 0");
    return text;
}

static bool is_oom(const struct recording *one)
{
    return one->ooms && one->finished && (one->end != INFO_END_EXIT || one->exit_code != 0);
}

static void put_verdict(struct emit *emit, const struct recording *one)
{
    struct buf line = {0};
    char text[64], bytes[HUMAN_MAX];
    if (one->damaged)
        buf_print(&line, "damaged: tidemark repair %s", one->name);
    else
        buf_text(&line, verdict(text, one));
    if (one->grows > 0)
        buf_print(&line, ", grows %s per step", human_bytes(bytes, one->grows));
    else if (one->steady)
        buf_text(&line, ", no growth");
    emit_text(emit, buf_string(&line));
    emit->out.broken = emit->out.broken || line.broken;
    buf_clear(&line);
}

static void put(struct emit *emit, const struct recording *one)
{
    char began[HUMAN_MAX];
    bool known = one->began_ns != INT64_MIN;
    enum { MINUTES = sizeof "2026-01-31 23:59" };
    emit_text(emit, one->name);
    if (known && strlen(human_calendar(began, one->began_ns, false)) >= MINUTES)
        began[MINUTES - 1] = '\0';
    emit_text(emit, known ? began : NULL);
    emit_known(emit, one->peak);
    emit_text(emit, one->device);
    put_verdict(emit, one);
}

/* The first script of Python's, whoever launches it; else the first two words. */
static const char *program_of(const char *argv, size_t *bytes)
{
    for (const char *at = argv; *at; at += *bytes + (at[*bytes] == ' ')) {
        *bytes = strcspn(at, " ");
        if (*bytes > 3 && memcmp(at + *bytes - 3, ".py", 3) == 0)
            return at;
    }
    *bytes = strcspn(argv, " ");
    *bytes += argv[*bytes] ? 1 + strcspn(argv + *bytes + 1, " ") : 0;
    return argv;
}

static bool is_same_program(const struct recording *a, const struct recording *b)
{
    size_t bytes, other;
    if (!a->argv || !b->argv)
        return a->argv == b->argv;
    const char *program = program_of(a->argv, &bytes), *beside = program_of(b->argv, &other);
    return bytes == other && memcmp(program, beside, bytes) == 0;
}

/* The next one, from `at` on, that a report has something to say of, and of the program of `of`;
 * NULL. */
static const struct recording *next_useful(const struct recordings *all, size_t *at,
                                           const struct recording *of)
{
    while (*at < all->count) {
        const struct recording *one = &all->list[(*at)++];
        if (!one->damaged && !one->no_blocks && (!of || is_same_program(one, of)))
            return one;
    }
    return NULL;
}

/* A run that was out of memory, then one that grows, are worth a look before the newest. */
static const struct recording *newest_that(const struct recordings *all,
                                           bool (*is)(const struct recording *))
{
    for (size_t i = 0; i < all->count; i++)
        if (!all->list[i].damaged && !all->list[i].no_blocks && is(&all->list[i]))
            return &all->list[i];
    return NULL;
}

static bool is_growing(const struct recording *one)
{
    return one->grows > 0;
}

static void put_next(struct emit *emit, const struct recordings *all)
{
    size_t at = 0;
    char bytes[HUMAN_MAX];
    const struct recording *oom = newest_that(all, is_oom), *grows = newest_that(all, is_growing);
    const struct recording *newest = next_useful(all, &at, NULL);
    const struct recording *before = newest ? next_useful(all, &at, newest) : NULL;
    emit_heading(emit, "Next");
    if (oom)
        emit_line(emit, "tidemark %s   out of memory: what filled it, changes that lower the peak",
                  oom->name);
    if (grows)
        emit_line(emit, "tidemark leaks %s   what grows by %s per step", grows->name,
                  human_bytes(bytes, grows->grows));
    if (newest && newest != oom)
        emit_line(emit, "tidemark %s   the peak, and changes that lower it", newest->name);
    if (before)
        emit_line(emit, "tidemark diff %s %s   what changed", before->name, newest->name);
    emit_line(emit, "tidemark --help   all commands");
}

static void put_foreign(struct emit *emit, const struct recordings *all)
{
    char more[HUMAN_MAX];
    if (all->foreigns == 1)
        emit_line(emit, "left out: %s is no recording that this version reads", all->foreign);
    else if (all->foreigns > 1)
        emit_line(emit, "left out: %s and %s more are no recordings that this version reads",
                  all->foreign, human_count(more, all->foreigns - 1));
}

static void put_all(struct emit *emit, struct recordings *all)
{
    char more[HUMAN_MAX];
    EMIT_SECTION(emit, "recordings", NULL, EMIT_ROWS, columns);
    for (size_t i = 0; i < all->count && i < MOST; i++) {
        judge(&all->list[i]);
        put(emit, &all->list[i]);
    }
    if (all->count > MOST)
        emit_line(emit, "and %s older", human_count(more, (int64_t)(all->count - MOST)));
    put_foreign(emit, all);
    put_next(emit, all);
}

/* Its only option, which may stand alone behind `tidemark`. */
static enum emit_colour colour_of(const struct command_call *call)
{
    const char *when = call->argc ? strchr(call->argv[0], '=') : NULL;
    if (when && strcmp(when, "=always") == 0)
        return EMIT_COLOUR_ALWAYS;
    return when && strcmp(when, "=never") == 0 ? EMIT_COLOUR_NEVER : EMIT_COLOUR_AUTO;
}

static int list_all(const struct command_call *call)
{
    struct recordings all = {0};
    enum emit_colour colour = colour_of(call);
    struct emit emit;
    int err = find(&all);
    bool any = err == 0 && all.count;
    if (any) {
        emit_begin(&emit, EMIT_TABLE, colour, call->command->name, NULL);
        put_all(&emit, &all);
        err = emit_finish(&emit, stdout);
    }
    for (size_t i = 0; i < all.count; i++)
        clear(&all.list[i]);
    mem_free(all.list);
    mem_free(all.foreign);
    if (err < 0)
        return EXIT_INTERNAL;
    return any ? EXIT_FINE : NONE;
}

/* Not in the table of commands: it is run where no command is named. */
extern const struct command command_recordings;
const struct command command_recordings = {.name = "recordings", .run = list_all};
