/* Which processes and devices a report is about. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "device_order.h"
#include "error.h"
#include "loss.h"
#include "mem.h"
#include "query.h"
#include "report.h"
#include "report_parts.h"
#include "search.h"

/* With --follow, a process or a device that is not there is no mistake before the end. */
static bool may_come(const struct report *report)
{
    bool finished = false;
    int64_t last_ns;
    return report->options->follow && loss_read_finished(report->db, &finished, &last_ns) >= 0 &&
           !finished;
}

/* ---- which processes ---- */

static bool is_wanted(const struct report_options *options, const struct report_process *process,
                      bool by_id)
{
    if (options->rank != REPORT_ANY && options->rank != process->rank)
        return false;
    if (options->process == REPORT_ANY)
        return true;
    return options->process == (by_id ? process->id : process->pid);
}

static int read_processes(struct report *report)
{
    struct report_process process; /* its rank: REPORT_ANY */
    struct query query =
        query_ask(report->db, "SELECT id, pid, coalesce(rank, -1) AS rank FROM process ORDER BY id",
                  Q_NOTHING, Q_OUT(Q_INT(process.id), Q_INT(process.pid), Q_INT(process.rank)));
    while (query_next(&query)) {
        if (MEM_GROW(report->processes, report->process_cap, report->process_count + 1))
            report->processes[report->process_count++] = process;
        else
            query_fail(&query, ERR_NOMEM);
    }
    return query_end(&query);
}

/* Where there are two, a message says which. */
static const char *called(const struct report *report)
{
    return report->beside || report->command->least > 1 ? report->path : "this recording";
}

static int no_such_process(const struct report *report)
{
    const struct report_options *options = report->options;
    char list[256] = "", what[64] = "";
    size_t used = 0;
    bool has_rank = false;
    for (size_t i = 0; i < report->process_count; i++)
        has_rank |= report->processes[i].rank != REPORT_ANY;
    for (size_t i = 0; i < report->process_count && used < sizeof list - 64; i++) {
        const struct report_process *at = &report->processes[i];
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%" PRId64 " (pid %" PRId64,
                                 i ? ", " : "", at->id, at->pid);
        if (at->rank != REPORT_ANY)
            used += (size_t)snprintf(list + used, sizeof list - used, ", rank %" PRId64, at->rank);
        used += (size_t)snprintf(list + used, sizeof list - used, ")");
    }
    if (used >= sizeof list - 64)
        snprintf(list + used, sizeof list - used, ", ...");
    if (options->process != REPORT_ANY)
        snprintf(what, sizeof what, "--process %" PRId64, options->process);
    if (options->rank != REPORT_ANY)
        snprintf(what + strlen(what), sizeof what - strlen(what), "%s--rank %" PRId64,
                 *what ? " " : "", options->rank);
    if (options->rank != REPORT_ANY && *list && !has_rank)
        return command_misused(report->command, "%s: no process of %.80s has a rank; it has %s",
                               what, called(report), list);
    return command_misused(report->command, "%s: there is no such process; %.80s has %s", what,
                           called(report), *list ? list : "none");
}

/* A process number wins over a pid: a pid that small belongs to the system. */
static int select_processes(struct report *report)
{
    for (int by_id = 1; by_id >= 0; by_id--) {
        size_t kept = 0, count = report->process_count;
        for (size_t i = 0; i < count; i++)
            kept += is_wanted(report->options, &report->processes[i], by_id);
        if (kept == 0)
            continue;
        kept = 0;
        for (size_t i = 0; i < count; i++)
            if (is_wanted(report->options, &report->processes[i], by_id))
                report->processes[kept++] = report->processes[i];
        report->process_count = kept;
        return 0;
    }
    bool asked = report->options->process != REPORT_ANY || report->options->rank != REPORT_ANY;
    if (!asked || !may_come(report))
        return asked ? no_such_process(report) : 0;
    report->process_count = 0;
    return 0;
}

/* ---- which devices ---- */

static int check_device(struct report *report, int *code)
{
    const char *text;
    char list[256] = "";
    size_t used = 0;
    bool found = report->options->device == NULL;
    struct query query =
        query_ask(report->db,
                  "WITH " DEVICE_PLACES_OF_ALL " SELECT t.device AS text FROM device_text t"
                  "  JOIN device_places p ON p.device = t.id ORDER BY p.place",
                  Q_NOTHING, Q_OUT(Q_TEXT(text)));
    while (query_next(&query)) {
        found = found || strcmp(text, report->options->device) == 0;
        int n = snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", text);
        used += n > 0 && (size_t)n < sizeof list - used ? (size_t)n : 0;
    }
    int err = query_end(&query);
    if (err >= 0 && !found && !may_come(report))
        *code = command_misused(report->command, "--device %.60s: %.80s has %s",
                                report->options->device, called(report), *list ? list : "none");
    return err;
}

/* They stand in the order of their numbers. */
const struct report_process *report_process_of(const struct report *report, int64_t id)
{
    size_t low;
    SEARCH_FIRST(low, 0, report->process_count, report->processes[low].id < id);
    return low < report->process_count && report->processes[low].id == id ? &report->processes[low]
                                                                          : NULL;
}

bool report_is_host(const struct report_scope *scope)
{
    return strcmp(scope->device_text, "cpu") == 0;
}

size_t report_scopes_from(const struct report *report, int64_t process)
{
    size_t low;
    SEARCH_FIRST(low, 0, report->scope_count, report->scopes[low].process.id < process);
    return low;
}

const struct report_scope *report_scope_of(const struct report *report, int64_t process,
                                           int64_t device)
{
    for (size_t i = report_scopes_from(report, process);
         i < report->scope_count && report->scopes[i].process.id == process; i++)
        if (report->scopes[i].device == device)
            return &report->scopes[i];
    return NULL;
}

const struct report_scope *report_scope_called(const struct report *report, int64_t process,
                                               const char *device)
{
    for (size_t i = report_scopes_from(report, process);
         i < report->scope_count && report->scopes[i].process.id == process; i++)
        if (strcmp(report->scopes[i].device_text, device) == 0)
            return &report->scopes[i];
    return NULL;
}

static int read_scopes(struct report *report)
{
    int64_t process, id;
    const char *device;
    struct query query = query_ask(report->db,
                                   "WITH " DEVICE_PLACES " SELECT p.process, t.id, t.device"
                                   "  FROM device_places p JOIN device_text t ON t.id = p.device"
                                   " ORDER BY p.process, p.place",
                                   Q_NOTHING, Q_OUT(Q_INT(process), Q_INT(id), Q_TEXT(device)));
    while (query_next(&query)) {
        const struct report_process *of = report_process_of(report, process);
        if (!of || (report->options->device && strcmp(device, report->options->device) != 0))
            continue;
        if (!MEM_GROW(report->scopes, report->scope_cap, report->scope_count + 1)) {
            query_fail(&query, ERR_NOMEM);
            break;
        }
        struct report_scope *scope = &report->scopes[report->scope_count++];
        *scope = (struct report_scope){.process = *of, .device = id};
        snprintf(scope->device_text, sizeof scope->device_text, "%.31s", device);
    }
    return query_end(&query);
}

int report_find_scopes(struct report *report, int *code)
{
    int err = read_processes(report);
    *code = 0;
    if (err == 0)
        *code = select_processes(report);
    if (err == 0 && !*code)
        err = check_device(report, code);
    if (err == 0 && !*code)
        err = read_scopes(report);
    return err;
}
