/*
 * tidemark phases: memory after each phase, and the highest inside it.
 */
#include <stddef.h>
#include <string.h>

#include "driven_report.h"
#include "error.h"
#include "follow.h"
#include "live_look.h"
#include "mem.h"
#include "phases_listing.h"
#include "phases_ranks.h"
#include "screen.h"
#include "workers.h"

struct phases_options {
    struct report_options common;
    bool all;
    const char *domain;
};

struct look { /* how one look at the database goes */
    struct report *report;
    const struct phases_options *options;
    struct phases_tale *tale;
    int64_t room; /* rows of each scope; 0 = any number */
    bool any;
    struct live_look live;     /* where there is a number */
    struct phases_ranks ranks; /* for people, unless each row is asked for */
};

static int put_list(struct look *look, struct phases_listing *list)
{
    bool ranked = list->fold && list->scope->process.rank != REPORT_ANY;
    if (ranked && phases_ranks_fold(&look->ranks, list->scope, &list->kept))
        return 0;
    int err = phases_put_summary(list);
    if (err >= 0 && ranked && !phases_ranks_add(&look->ranks, list->scope, &list->kept))
        err = ERR_NOMEM;
    return err;
}

static int put_scope(struct look *look, const struct report_scope *scope)
{
    struct phases_listing list = {.report = look->report,
                                  .scope = scope,
                                  .domain = look->options->domain,
                                  .all = look->options->all,
                                  .tale = look->tale,
                                  .on_screen = look->room > 0,
                                  .fold = look->report->emit.format == EMIT_TABLE && !look->tale &&
                                          !look->room && !look->options->all,
                                  .floor = -1,
                                  .step = QUERY_NONE};
    int err = look->room ? phases_find_newest(&list, look->room) : 0;
    if (err >= 0)
        err = phases_read(&list, phases_put_line);
    if (look->room)
        list.hidden = 0;            /* those before are not counted */
    if (err < 0 && list.kept.count) /* what could be read */
        (void)phases_put_summary(&list);
    if (err >= 0 && list.rows > 0 && !look->tale)
        err = put_list(look, &list);
    look->any = look->any || list.rows > 0;
    if (list.broken)
        err = ERR_NOMEM;
    map_clear(&list.depths);
    phases_rows_clear(&list.kept);
    return err < 0 ? err : 0;
}

static int put_scopes(struct look *look)
{
    struct report *report = look->report;
    int err = 0;
    if (look->tale || report->emit.format != EMIT_TABLE)
        phases_open(&report->emit, look->tale != NULL);
    for (size_t i = 0; i < report->scope_count && err >= 0; i++)
        err = put_scope(look, &report->scopes[i]);
    bool driven = (!look->tale || look->tale->over) && !look->options->domain;
    for (size_t i = 0; driven && i < report->scope_count && err >= 0; i++)
        err = driven_list_phases(report, &report->scopes[i], look->options->all, &look->any);
    return err;
}

/* ---- --follow ---- */

/* The scopes for which a screen of that height has room. */
static int put_screen(struct look *look, unsigned height)
{
    enum { AROUND = 6, LEAST = 2 }; /* lines of a scope that are no rows, and rows of it */
    struct report *report = look->report;
    struct live_look *live = &look->live;
    int err = live_begin(live, report, height, AROUND + LEAST);
    unsigned lines = live_lines(live);
    look->room = lines > AROUND + LEAST ? lines - AROUND : LEAST;
    for (size_t i = 0; i < report->scope_count && err >= 0 && !live->full; i++) {
        live_scope_begin(live);
        err = put_scope(look, &report->scopes[i]);
        if (err >= 0 && !look->options->domain)
            err = driven_list_phases(report, &report->scopes[i], look->options->all, &look->any);
        live_scope_end(live);
    }
    live_end(live);
    return err;
}

/* A new screen each time. */
static int follow_drawn(struct look *look)
{
    struct report *report = look->report;
    char *path = mem_copy(report->path, strlen(report->path));
    int code = path ? 0 : report_end(report, ERR_NOMEM);
    while (code == 0) {
        bool over = false;
        look->any = false;
        int err = follow_is_over(report->db, &over);
        report->following = !over;
        err = err < 0 ? err : put_screen(look, screen_look().height);
        if (err >= 0 && !look->any)
            over ? report_nothing(report) : report_nothing_yet(report);
        follow_home();
        code = report_end(report, err);
        if (code || over || !follow_wait())
            break;
        code = report_begin(report, report->command, report->options, path);
    }
    mem_free(path);
    return code;
}

/* After a look, in its transaction. */
static int read_told(struct look *look)
{
    int64_t *told = &look->tale->told;
    return query_read(look->report->db,
                      "SELECT coalesce(max(settled), ?1) AS told FROM phase WHERE settled > ?1",
                      Q_IN(*told), Q_OUT(Q_INT(*told)));
}

static int tell(struct look *look)
{
    struct phases_tale *tale = look->tale;
    int err = follow_is_over(look->report->db, &tale->over);
    look->report->following = !tale->over;
    if (err >= 0)
        err = put_scopes(look);
    return err < 0 ? err : read_told(look);
}

/* Each phase once. */
static int follow_told(struct look *look)
{
    struct report *report = look->report;
    struct phases_tale tale = {0};
    int err = 0, code = 0;
    look->tale = &tale;
    for (bool go_on = true; go_on;) {
        err = tell(look);
        if (err < 0 || tale.over)
            break;
        code = report_pause(report);
        go_on = code == 0 && follow_wait();
        if (code == 0)
            code = report_resume(report);
        go_on = go_on && code == 0;
    }
    if (code)
        return code;
    if (err >= 0 && !look->any)
        report_nothing(report);
    return report_end(report, err);
}

static int follow(struct look *look)
{
    bool drawn = screen_look().terminal && look->report->emit.format == EMIT_TABLE;
    return drawn ? follow_drawn(look) : follow_told(look);
}

static int run(struct look *look)
{
    if (look->options->common.follow)
        return follow(look);
    int err = workers_fold(look->report);
    if (err >= 0)
        err = put_scopes(look);
    if (err >= 0 && !look->any)
        report_nothing(look->report);
    if (err >= 0)
        phases_ranks_note(&look->report->emit, &look->ranks);
    phases_ranks_clear(&look->ranks);
    if (err >= 0)
        err = report_hears_steps(look->report);
    return report_end(look->report, err);
}

static int cmd_phases(const struct command_call *call)
{
    struct phases_options options = {.common = REPORT_OPTIONS};
    struct report report;
    int code;

    if (!report_start(&report, call, &options, &code))
        return code;
    struct look look = {.report = &report, .options = &options};
    return run(&look);
}

static const struct option option_table[] = {
    {"all", 'a', OPT_FLAG, offsetof(struct phases_options, all), NULL,
     "also the time between phases without any\nallocation or free, and the ranges of libraries;\n"
     "each row and each rank, also where they repeat",
     NULL, 0},
    {"domain", 0, OPT_TEXT, offsetof(struct phases_options, domain), "NAME",
     "only the ranges of one library, as it names\nitself to NVTX: NCCL", NULL, 0},
    {"follow", 'F', OPT_FLAG, REPORT_AT(follow), NULL,
     "while the program runs: the last phases, again and\nagain; piped, each phase when it has "
     "ended.\nCtrl-C ends it",
     NULL, 0},
    {0},
};

const struct command command_phases = {
    .name = "phases",
    .group = COMMAND_LOOK,
    .run = cmd_phases,
    .summary = "memory after each phase of each step, and the highest inside it",
    .arguments = "[DATABASE]",
    .options = option_table,
    .shared = &report_shared,
    .thinned = "phases",
    .most = 1,
    .description =
        "Prints one line for each phase: what was allocated when it ended, the highest since the "
        "process began (max alloc), the same for reserved memory where the source knows it, the "
        "highest inside the phase (phase peak), and how long it took. A phase inside another is "
        "indented. An evaluation has the step after which it ran. The "
        "time between phases is called 'other'. Where rows repeat with the same sizes, batches of "
        "an "
        "evaluation or steps, a table has them once, and one row for all the others. Ranks whose "
        "tables look the same have one table, and a line says how far apart their sizes are. "
        "Ranges that "
        "libraries name by NVTX lie across the "
        "phases and are left out. On a device where no framework had a block, a list of its own "
        "(driver_phases in csv and json) has the memory from CUDA's driver.",
    .examples =
        {
            {"tidemark phases", "the newest recording in this folder"},
            {"tidemark phases run.db --steps 0..2", "the first three steps"},
            {"tidemark phases run.db --rank 1 --format csv", "one rank, for a spreadsheet"},
            {"tidemark phases --follow", "while the program still runs"},
        },
};
