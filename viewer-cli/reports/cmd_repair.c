/*
 * tidemark repair: what can be saved of a damaged recording goes into a new one, and the derived
 * tables are made anew. The original is only ever read. Here are the options, the files, and the
 * order of the work; what is said of it is repair_report's.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loss.h"
#include "command.h"
#include "derive.h"
#include "error.h"
#include "log.h"
#include "mem.h"
#include "record_output.h"
#include "repair_report.h"
#include "report.h"
#include "salvage.h"

struct repair_options {
    struct report_options common;
    const char *output;
    bool check;
};

/* ---- a database to work in ---- */

struct scratch {
    char folder[512];
    char path[544];
    struct db *db;
};

static int scratch_open(struct scratch *scratch)
{
    const char *tmp = getenv("TMPDIR");
    *scratch = (struct scratch){.db = NULL};
    int used = snprintf(scratch->folder, sizeof scratch->folder, "%s/tidemark.XXXXXX",
                        tmp && *tmp ? tmp : "/tmp");
    if (used >= (int)sizeof scratch->folder || !mkdtemp(scratch->folder)) {
        log_say(LOG_ERROR, "%s: no folder for temporary files can be made there",
                tmp && *tmp ? tmp : "/tmp");
        scratch->folder[0] = '\0';
        return EXIT_INTERNAL;
    }
    snprintf(scratch->path, sizeof scratch->path, "%s/scratch.db", scratch->folder);
    if (db_create(&scratch->db, scratch->path) == 0)
        return 0;
    log_say(LOG_ERROR, "%s", db_open_message());
    return EXIT_INTERNAL;
}

static void scratch_close(struct scratch *scratch)
{
    char name[sizeof scratch->path + 8];
    db_close(scratch->db);
    unlink(scratch->path);
    snprintf(name, sizeof name, "%s-wal", scratch->path);
    unlink(name);
    snprintf(name, sizeof name, "%s-shm", scratch->path);
    unlink(name);
    if (scratch->folder[0])
        rmdir(scratch->folder);
}

/* ---- looking ---- */

static int failed(const char *path, int err, const struct db *db)
{
    return report_failed_alone(path, err, db ? db_message(db) : NULL);
}

/* Opened as reports open it; what is wrong then is the first finding. The handle stays open, with a
 * transaction, so that a recorder that still writes does not change what is read below. */
static int open_original(const char *path, struct repair_findings *findings)
{
    int err = db_open(&findings->db, path);
    if (err == ERR_CORRUPT || err == ERR_NOTOURS) {
        findings->refused = err;
        snprintf(findings->first, sizeof findings->first, "%s", db_open_message());
        return 0;
    }
    if (err < 0) {
        log_say(LOG_ERROR, "%s", db_open_message());
        return err == ERR_NOMEM ? EXIT_INTERNAL : EXIT_INPUT;
    }
    err = db_exec(findings->db, "BEGIN");
    if (err == 0)
        err = db_check(findings->db);
    if (err < 0 && err != ERR_CORRUPT)
        return failed(path, err, findings->db);
    if (err == ERR_CORRUPT) {
        /* "*** in database main ***", and what it is on the next line. */
        const char *text = db_message(findings->db), *line = strchr(text, '\n');
        findings->refused = err;
        snprintf(findings->first, sizeof findings->first, "%s", line ? line + 1 : text);
    }
    return 0;
}

static int read_file(const char *path, struct db *into, bool write, struct salvage **out)
{
    int err = salvage_new(out, path, into, write);
    if (err == 0)
        err = salvage_run(*out);
    return err;
}

/* A file that SQLite can read, but whose first page says that it is somebody else's. */
static bool is_recording(const struct repair_findings *findings)
{
    const struct salvage *salvage = findings->salvage;
    const struct salvage_file *file = salvage_file(salvage);
    uint64_t rows = 0;
    for (size_t i = 0; i < salvage_table_count(salvage); i++)
        rows += salvage_table(salvage, i)->saved;
    return !findings->refused || (rows > 0 && (file->ours || !file->header));
}

/* Of a file that SQLite refuses nobody knows whether it was finished; one that was has no log. */
static int look_for_log(struct repair_findings *findings)
{
    bool finished = false;
    int64_t last_ns;
    findings->no_log = salvage_file(findings->salvage)->log_missing;
    if (!findings->no_log || !findings->db || findings->refused)
        return 0;
    int err = loss_read_finished(findings->db, &finished, &last_ns);
    findings->no_log = !finished;
    return err;
}

static int look(const char *path, struct scratch *scratch, struct repair_findings *findings)
{
    bool from_scratch = false;
    int code = open_original(path, findings);
    if (code)
        return code;
    int err = read_file(path, scratch->db, false, &findings->salvage);
    /* ERR_ARG: a folder and the like. All else is no news of the file. */
    if (err < 0 && err != ERR_CORRUPT && !(err == ERR_ARG && findings->refused))
        return failed(path, err, scratch->db);
    if (err < 0 || !is_recording(findings)) {
        log_say(LOG_ERROR, "%s", *findings->first ? findings->first : path);
        log_say(LOG_NOTE, "nothing of a recording can be read in it");
        return EXIT_INPUT;
    }
    repair_look(findings);
    err = look_for_log(findings);
    if (err < 0)
        return failed(path, err, findings->db);
    if (findings->refused || findings->missing)
        return 0;
    err = derive_compare(findings->db, scratch->db, &findings->disagrees, &from_scratch);
    if (err == ERR_CORRUPT && !from_scratch) {
        if (!findings->disagrees)
            findings->disagrees = "curve";
        return 0;
    }
    return err < 0 ? failed(from_scratch ? scratch->path : path, err,
                            from_scratch ? scratch->db : findings->db)
                   : 0;
}

/* ---- writing ---- */

static bool is_whole(const struct salvage *salvage, const char *name)
{
    for (size_t i = 0; i < salvage_table_count(salvage); i++) {
        const struct salvage_table *table = salvage_table(salvage, i);
        if (strcmp(table->name, name) == 0)
            return !table->damaged && !table->refused;
    }
    return false;
}

static int rebuild(struct db *db, struct repair_findings *findings)
{
    const struct salvage *salvage = findings->salvage;
    struct derive_options options = {
        .facts = db,
        .out = db,
        .blocks_whole = is_whole(salvage, "allocation") && is_whole(salvage, "heap"),
        .segments_whole = is_whole(salvage, "segment") && is_whole(salvage, "mapping"),
        .curve_whole = is_whole(salvage, "curve"),
    };
    bool from_out;
    return derive_rebuild(&options, &findings->derived, &from_out);
}

/* Reports go from processes to heaps to blocks. A process, a device, or the only heap, of which
 * nothing is left but that others name it, gets a row that says no more than that. */
static int put_stand_ins(struct db *db, struct repair_findings *findings)
{
    static const char *const rows[] = {
        "INSERT INTO process(id, pid, origin, start_ns) SELECT DISTINCT n.process, 0, 'lost', 0"
        " FROM (SELECT process FROM heap UNION SELECT process FROM phase) n"
        " WHERE n.process NOT IN (SELECT id FROM process)",
        "INSERT INTO device(id, kind, ordinal) SELECT DISTINCT n.device, 'other', -1"
        " FROM (SELECT device FROM heap UNION SELECT device FROM phase_device) n"
        " WHERE n.device NOT IN (SELECT id FROM device)",
        "INSERT INTO heap SELECT n.heap, p.id, d.id, 0, 0, NULL"
        " FROM (SELECT DISTINCT heap FROM allocation) n JOIN process p JOIN device d"
        " WHERE NOT EXISTS(SELECT 1 FROM heap) AND (SELECT count(*) FROM process) = 1"
        " AND (SELECT count(*) FROM device) = 1",
    };
    static const char *const tables[] = {"process", "device", "heap"};
    int err = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && err == 0; i++)
        if (!is_whole(findings->salvage, tables[i]))
            err = db_exec(db, rows[i]);
    return err;
}

/* That it was repaired, and what is not there, stays in the file, so that reports say it. */
static int note_repair(struct db *db, const char *path, struct repair_findings *findings)
{
    const char *slash = strrchr(path, '/');
    struct db_stmt *stmt = NULL;
    int err = db_begin(db);
    if (err == 0)
        err = db_prepare_known(db, &stmt, SCH_META);
    if (err == 0) {
        db_bind_text(stmt, SCH_AT(meta, key), "repaired_from", -1);
        db_bind_text(stmt, SCH_AT(meta, value), slash ? slash + 1 : path, -1);
        err = db_run(stmt);
    }
    if (err == 0) {
        db_bind_text(stmt, SCH_AT(meta, key), "repaired_whole", -1);
        db_bind_int(stmt, SCH_AT(meta, value), !findings->missing && !findings->no_log);
        err = db_run(stmt);
    }
    db_finalize(stmt);
    if (err == 0)
        err = repair_note_lost(db, findings);
    return err < 0 ? err : db_commit(db);
}

static int write_new(const char *path, const char *name, struct repair_findings *findings)
{
    struct db *db = NULL;
    if (db_create(&db, name) < 0) {
        log_say(LOG_ERROR, "%s", db_open_message());
        return EXIT_INPUT;
    }
    /* Closing a file drops all locks of this process on it: what looked at it stays open. */
    findings->looked = findings->salvage;
    findings->salvage = NULL;
    int err = read_file(path, db, true, &findings->salvage);
    const char *at_fault = err < 0 && !*db_message(db) ? path : name;
    if (err == 0) {
        repair_look(findings);
        err = put_stand_ins(db, findings);
    }
    if (err == 0)
        err = rebuild(db, findings);
    if (err == 0)
        err = note_repair(db, path, findings);
    if (err == 0)
        err = db_checkpoint(db, true);
    if (err == 0)
        err = db_single_file(db);
    int code = err < 0 ? failed(at_fault, err, db) : 0;
    salvage_let_go(findings->salvage);
    db_close(db);
    return code;
}

/* DATABASE without its ".db", and ".repaired.db". */
static char *new_name(const char *path)
{
    struct buf name = {0};
    size_t bytes = strlen(path);
    if (bytes > 3 && strcmp(path + bytes - 3, ".db") == 0)
        bytes -= 3;
    buf_add(&name, path, bytes);
    buf_text(&name, ".repaired.db");
    if (name.broken)
        buf_clear(&name);
    return name.data;
}

static int say_why(struct buf *why, const struct record_output *output)
{
    if (!why->broken)
        log_say(LOG_ERROR, "%s", buf_string(why));
    else if (access(output->work, F_OK) == 0)
        log_say(LOG_ERROR, "out of memory: it is in %s", output->work);
    else
        log_say(LOG_ERROR, "%s", base_err_text(ERR_NOMEM));
    buf_clear(why);
    return EXIT_INPUT;
}

static int repair_into(const char *path, const char *wanted, struct repair_findings *findings)
{
    struct record_output output;
    struct buf why = {0};
    if (record_output_choose(&output, wanted, true, &why) < 0)
        return say_why(&why, &output);
    int code = write_new(path, output.work, findings);
    if (code) {
        record_output_discard(&output);
        return code;
    }
    if (record_output_move(&output, &why) < 0)
        return say_why(&why, &output);
    findings->written = true;
    return 0;
}

/* ---- the command ---- */

static int repair(const struct command_call *call, const char *path,
                  const struct repair_options *options, struct repair_findings *findings)
{
    struct scratch scratch;
    char *name =
        options->output ? mem_copy(options->output, strlen(options->output)) : new_name(path);
    if (!name)
        return report_failed(path, ERR_NOMEM, NULL);
    int code = scratch_open(&scratch);
    if (code == 0)
        code = look(path, &scratch, findings);
    scratch_close(&scratch);
    bool wrong = findings->refused || findings->missing || findings->disagrees;
    if (code == 0 && !options->check && (wrong || options->output))
        code = repair_into(path, name, findings);
    if (code == 0) {
        code = repair_put(findings, call->command, &options->common, path, name, options->check);
        if (findings->written && code != 0 && code != EXIT_CHECK_FAILED)
            log_say(LOG_NOTE, "%s was written all the same: only what there is to say of it failed",
                    name);
    }
    mem_free(name);
    return code;
}

static int cmd_repair(const struct command_call *call)
{
    struct repair_options options = {.common = REPORT_OPTIONS};
    struct repair_findings findings = {.db = NULL};
    char **arguments;
    int count, code;
    if (!command_parse(call, &options, &arguments, &count, &code))
        return code;
    if (options.check && options.output)
        code = command_misused(call->command, "--check writes nothing: no --output with it");
    else
        code = repair(call, arguments[0], &options, &findings);
    db_close(findings.db);
    salvage_free(findings.looked);
    salvage_free(findings.salvage);
    mem_free(arguments);
    return code;
}

static const struct option option_table[] = {
    {"output", 'o', OPT_FILE, offsetof(struct repair_options, output), "FILE",
     "the database to make (DATABASE with .repaired.db)", NULL, 0},
    {"check", 0, OPT_FLAG, offsetof(struct repair_options, check), NULL, "only say what is wrong",
     NULL, 0},
    REPORT_OPTION_FORMAT,
    REPORT_OPTION_NO_COLOR,
    {0},
};

const struct command command_repair = {
    .name = "repair",
    .group = COMMAND_RECORD,
    .run = cmd_repair,
    .summary = "save what can be read of a damaged recording into a new one",
    .arguments = "DATABASE",
    .options = option_table,
    .judges = true,
    .least = 1,
    .most = 1,
    .description =
        "Reads the file page by page, so that one that SQLite refuses can be read, too: cut off, "
        "with pages that were overwritten, with a log that is damaged. What can be read goes into "
        "a new file; the original is never written to. A row is taken only if its page and itself "
        "make sense, so that what is in the new file was recorded. Blocks over time and keyframes "
        "are made anew from it.\n"
        "\n"
        "Says of each table how many rows were found and saved, how many are missing, as far as "
        "that can be known, and what that means for the reports. It exits with 1 if something is "
        "missing, such as the log (DATABASE-wal) of a recording that was not finished, and with 3 "
        "if nothing could be read. Of a recording that is sound nothing is "
        "written, unless --output asks for it.\n"
        "\n"
        "In csv and json these are the sections file, tables, gaps and derived.",
    .examples =
        {
            {"tidemark repair run.db", "writes run.repaired.db"},
            {"tidemark repair --check run.db", "is it sound?"},
        },
};
