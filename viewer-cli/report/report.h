/*
 * report.h - what every report shares: its options, the database, which processes and devices are
 * asked for, and the last lines that say how far the numbers can be believed.
 *
 *     struct report report;
 *     int code = report_begin(&report, call->command, &options.common, named);
 *     if (code)
 *         return code;
 *     int err = ...queries and emit_*(&report.emit, ...)...;
 *     return report_end(&report, err);
 *
 * All queries of a report see one instant of the database: they run in one read transaction, which
 * ends before anything is printed.
 */
#ifndef TIDEMARK_VIEWER_REPORT_H
#define TIDEMARK_VIEWER_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "buf.h"
#include "command.h"
#include "db.h"
#include "emit.h"
#include "options.h"
#include "report_warning.h"

#define REPORT_ANY (-1)

struct report_options {
    int64_t process; /* process.id or pid, REPORT_ANY */
    int64_t rank;    /* REPORT_ANY */
    const char *device;
    struct option_range steps;
    int format; /* enum emit_format */
    bool no_colour;
    int colour;  /* in report_colours */
    bool follow; /* until the recording is finished, what is asked for may still come */
};
#define REPORT_OPTIONS                                                                             \
    {                                                                                              \
        .process = REPORT_ANY, .rank = REPORT_ANY, .steps = {INT64_MIN, INT64_MAX},                \
    }

/* For reports that take all of them; others list those that mean something to them. */
extern const struct command_shared report_shared;
extern const char *const report_formats[], *const report_devices[], *const report_colours[];
/* As --color, --no-color and nothing say. */
enum emit_colour report_colour(const struct report_options *options);

#define REPORT_AT(member) offsetof(struct report_options, member)
#define REPORT_OPTION_PROCESS                                                                      \
    {                                                                                              \
        "process", 'p', OPT_INT, REPORT_AT(process), "N",                                          \
            "only this process: its number in the recording,\nor its pid", NULL, 0                 \
    }
#define REPORT_OPTION_RANK                                                                         \
    {                                                                                              \
        "rank", 'r', OPT_INT, REPORT_AT(rank), "R",                                                \
            "only the process of this rank of torch.distributed", NULL, 0                          \
    }
#define REPORT_OPTION_DEVICE                                                                       \
    {                                                                                              \
        "device", 'd', OPT_TEXT, REPORT_AT(device), "NAME",                                        \
            "only this device, such as cpu or cuda:0", report_devices, 0                           \
    }
#define REPORT_OPTION_FORMAT REPORT_OPTION_FORMAT_TO(REPORT_AT(format))
#define REPORT_OPTION_FORMAT_TO(at)                                                                \
    {                                                                                              \
        "format", 'f', OPT_CHOICE, at, "FORMAT",                                                   \
            "table, csv or json; the last two are exact:\nbytes and nanoseconds", report_formats,  \
            0                                                                                      \
    }
#define REPORT_OPTION_NO_COLOR                                                                     \
    REPORT_OPTION_NO_COLOR_TO(REPORT_AT(no_colour)),                                               \
    {                                                                                              \
        "color", 0, OPT_CHOICE, REPORT_AT(colour), "WHEN",                                         \
            "auto (the default: on a terminal), always, never", report_colours, 0                  \
    }
#define REPORT_OPTION_NO_COLOR_TO(at)                                                              \
    {                                                                                              \
        "no-color", 0, OPT_FLAG, at, NULL, "never any colour; NO_COLOR does the same", NULL, 0     \
    }

struct report_process {
    int64_t id;
    int64_t pid;
    int64_t rank; /* REPORT_ANY = it has none */
};

/* A process and a device that it had memory on. */
struct report_scope {
    struct report_process process;
    int64_t device; /* device.id */
    char device_text[32];
};

struct report {
    const struct command *command;
    const struct report_options *options;
    char *path;
    bool named; /* the path was given: it is not just the newest recording here */
    struct db *db;
    struct emit emit;
    struct report_process *processes; /* those asked for, by id */
    size_t process_count, process_cap;
    struct report_scope *scopes; /* those asked for, by process; schema/device_order.h, workers.h */
    size_t scope_count, scope_cap;
    struct report *beside;   /* a second database, opened by report_begin_beside; NULL */
    bool following;          /* that it is not finished goes without saying */
    struct report *at_fault; /* whose query failed, if not this one's */
    struct report_warnings warnings;
    size_t first_notes; /* bytes of notes that stand before all else: that it is a rehearsal */
    const char *needs;  /* all of them, as command.thinned: where only an option needs them */
    bool absent;        /* report_absent */
    FILE *out;          /* where it is printed; NULL: the standard output */
};

/* Opens the database, the newest one here if none is named, and resolves --process, --rank and
 * --device. 0, or the exit code after the message was printed: then nothing is left open. */
int report_begin(struct report *report, const struct command *command,
                 const struct report_options *options, const char *named);
/* The same for a command whose one argument is the database: parses into its options, which begin
 * with report_options. False: the command is over, with *exit_code. */
bool report_start(struct report *report, const struct command_call *call, void *options,
                  int *exit_code);
/* Where reports go from here on: for a command that is made of other commands' reports. NULL: to
 * stdout. */
void report_send_to(FILE *file);
/* For reports that compare: opens a second database with the same options. It has no emitter of its
 * own, and report_end of the first ends both. After a failure nothing is left open, of the first
 * neither. */
int report_begin_beside(struct report *other, struct report *report, const char *named);
/* Adds the last lines, closes, prints. `err` is what the queries came to. */
int report_end(struct report *report, int err);
/* Instead of it: closes, and says nothing, for what went wrong was said. */
void report_abandon(struct report *report);

/* Between two looks at a recording that is still being written: what was emitted goes out, and the
 * database is closed; then it is opened again, and processes and scopes are read anew. Each returns
 * 0 or an exit code, after which nothing is left open. */
int report_pause(struct report *report);
int report_resume(struct report *report);

/* The library was not loaded, or no process took part: nothing can have been lost, either. With the
 * reason where it is one for all processes; "". */
int report_is_unrecorded(struct report *report, bool *is, struct buf *why);
/* Notes that there was nothing to report on, and the reasons that the processes gave. */
void report_nothing(struct report *report);
/* The same of a look at a recording that goes on. */
void report_nothing_yet(struct report *report);
/* The part of it about --steps: which there are, and whether those were thinned out. */
void report_note_steps(struct report *report);
/* Notes the commits of two recordings, below the tables of the first; nothing where neither has
 * one. 0 or an error. */
int report_note_commits(struct report *a, struct report *b);
/* Notes which devices have no blocks, but memory of the driver's, and what shows it. */
void report_note_driven(struct report *report);

/* What was asked for is not there: says so, and what is. report_end then prints nothing and returns
 * EXIT_USAGE, as for a process that is not there. */
void report_absent(struct report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* To be called for each scope that does not have the moment, with the report that has the scope: if
 * it was thinned out there, notes a warning that says so, and what is kept around it. */
void report_misses(struct report *report, const struct report_scope *scope,
                   const struct instant *missing);
/* It did, of this recording or of the one beside it. */
bool report_has_missed(const struct report *report);
/* Behind that, where no scope has the moment: report_absent, unless report_misses said why. */
void report_no_moment(struct report *report, const struct instant *missing);

/* The report looks at all of --steps, where that is given: if phases of them were left out, the
 * last lines say so. */
void report_needs_steps(struct report *report);
/* Phases of --steps were left out. */
bool report_lacks_steps(const struct report *report);

/* The report says what was live at this moment: if blocks of that time were left out by `record
 * --keep`, or the driver was not observed then, the last lines say so. 0 or an error. */
int report_sees(struct report *report, int64_t process, int64_t seq);
/* The first alone; for reports that compare, of each of the two. */
int report_sees_blocks(struct report *report, int64_t process, int64_t seq);
/* The second alone, of --steps in all that are asked for. */
int report_hears_steps(struct report *report);

/* In place of what report_begin said of a rehearsal, two lines of it. 0 or an error. */
int report_lead_briefly(struct report *report);

bool report_has_steps(const struct report_options *options); /* --steps was given */

/* Opens and says what is wrong with it if it cannot be. *path is the name used, to be freed. As
 * `open` does it, db_open or db_open_as_it_is. */
int report_open_database(struct db **db, char **path, const char *named,
                         int (*open)(struct db **, const char *));
/* Prints what went wrong with the database, and that tidemark repair may save what is damaged;
 * returns the exit code for it. _alone: without that advice, for repair itself. */
int report_failed(const char *path, int err, const char *message);
int report_failed_alone(const char *path, int err, const char *message);
void report_advise_repair(const char *path); /* that advice alone, of what is damaged */

bool report_is_host(const struct report_scope *scope);
/* The first of the scopes of this process, or of the first one behind it; scope_count: none is. */
size_t report_scopes_from(const struct report *report, int64_t process);
/* NULL if it is not asked for. */
const struct report_scope *report_scope_of(const struct report *report, int64_t process,
                                           int64_t device);
const struct report_scope *report_scope_called(const struct report *report, int64_t process,
                                               const char *device);

/* Pushes `count` columns of the row from `first` on, each as what it is. */
void report_cells(struct emit *emit, struct db_stmt *row, int first, int count);
/* Where the process ran, if processes of several hosts are in the recording; "". */
#define REPORT_HOST 80
const char *report_host(const struct report *report, int64_t process, char text[REPORT_HOST]);
/* A heading such as "Phases of process 2 (pid 4711, rank 1) on cuda:0"; the host stands behind the
 * rank, where there are several. */
void report_heading(struct report *report, const char *what, const struct report_scope *scope);

#endif
