#include "workers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "driven.h"
#include "peak.h"
#include "error.h"
#include "human.h"
#include "mem.h"
#include "query.h"

#define MOST_SHOWN 24 /* scopes, of processes nobody asked for by name */

struct share { /* of one scope */
    int64_t peak;
    bool seen;          /* it had blocks */
    bool steps, folded; /* folded: it trains no step */
    bool rest;          /* there are too many that have more memory */
};

static struct share *share_of(const struct report *report, struct share *shares, int64_t process,
                              int64_t device)
{
    const struct report_scope *scope = report_scope_of(report, process, device);
    return scope ? &shares[scope - report->scopes] : NULL;
}

/* Devices without a block: what the driver gave there. */
static int read_given(const struct report *report, struct share *shares)
{
    int64_t process, device;
    struct driven driven;
    struct query query = query_ask(report->db,
                                   "SELECT DISTINCT process, device FROM driver_memory"
                                   " WHERE device IS NOT NULL",
                                   Q_NOTHING, Q_OUT(Q_INT(process), Q_INT(device)));
    while (query_next(&query)) {
        struct share *share = share_of(report, shares, process, device);
        if (!share || share->seen)
            continue;
        query_fail(&query, driven_read(report->db, process, device, &driven));
        share->peak = driven_highest(&driven, -1, 0, INT64_MAX, INT64_MAX).bytes;
        driven_clear(&driven);
    }
    return query_end(&query);
}

static int read_shares(const struct report *report, struct share *shares)
{
    int64_t process, device;
    struct share told = {.seen = true};
    struct query query = query_ask(
        report->db,
        "SELECT ph.process, pd.device, max(pd.peak_allocated) AS peak,"
        "       max(ph.step IS NOT NULL) AS steps"
        "  FROM phase_device pd JOIN phase ph ON ph.id = pd.phase GROUP BY 1, 2",
        Q_NOTHING, Q_OUT(Q_INT(process), Q_INT(device), Q_INT(told.peak), Q_INT(told.steps)));
    while (query_next(&query)) {
        struct share *share = share_of(report, shares, process, device);
        if (share)
            *share = told;
    }
    int err = query_end(&query);
    return err < 0 ? err : read_given(report, shares);
}

/* The most that a process with steps has on that device; -1 = none has steps there. */
static int64_t most_of_trainers(const struct report *report, const struct share *shares,
                                int64_t device)
{
    int64_t most = -1;
    for (size_t i = 0; i < report->scope_count; i++)
        if (report->scopes[i].device == device && shares[i].steps && shares[i].peak > most)
            most = shares[i].peak;
    return most;
}

static void note(struct report *report, const struct share *shares)
{
    int64_t count = 0, most = 0, first = 0;
    char number[HUMAN_MAX], bytes[HUMAN_MAX];
    for (size_t i = 0; i < report->scope_count; i++) {
        if (!shares[i].folded)
            continue;
        first = count++ ? first : report->scopes[i].process.id;
        most = shares[i].peak > most ? shares[i].peak : most;
    }
    if (count == 1)
        emit_note(&report->emit,
                  "1 more process trains no step, with at most %s: --process %" PRId64 " shows it",
                  human_bytes(bytes, most), first);
    else if (count)
        emit_note(&report->emit,
                  "%s more processes train no step, with at most %s each: --process %" PRId64
                  " shows the first of them",
                  human_count(number, count), human_bytes(bytes, most), first);
}

static int by_peak(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a < b) - (a > b);
}

/* A recording of programs that come and go can have thousands of processes. */
static bool find_rest(const struct report *report, size_t most, struct share *shares)
{
    size_t count = 0, left = most;
    int64_t *peaks = mem_alloc(report->scope_count, sizeof *peaks);
    if (!peaks)
        return false;
    for (size_t i = 0; i < report->scope_count; i++)
        if (!shares[i].folded)
            peaks[count++] = shares[i].peak;
    qsort(peaks, count, sizeof *peaks, by_peak);
    int64_t least = count > most ? peaks[most - 1] : INT64_MIN;
    for (size_t i = 0; i < count && i < most; i++)
        left -= peaks[i] > least; /* so many of those with as much as that have room */
    for (size_t i = 0; i < report->scope_count; i++) {
        bool stays = shares[i].folded || shares[i].peak > least || count <= most;
        if (!stays && shares[i].peak == least && left)
            left--;
        else
            shares[i].rest = !stays;
    }
    mem_free(peaks);
    return true;
}

static void note_rest(struct report *report, const struct share *shares)
{
    int64_t count = 0, most = 0;
    char number[HUMAN_MAX], bytes[HUMAN_MAX];
    for (size_t i = 0; i < report->scope_count; i++) {
        count += shares[i].rest;
        most = shares[i].rest && shares[i].peak > most ? shares[i].peak : most;
    }
    if (count)
        emit_note(&report->emit,
                  "the %d with the highest peaks are shown; %s more processes have at most %s"
                  " each: --process N shows one, --format csv all",
                  MOST_SHOWN, human_count(number, count), human_bytes(bytes, most));
}

/* Nobody said which processes, and a person is to read it. */
static bool is_for_people(const struct report *report)
{
    const struct report_options *options = report->options;
    return report->emit.format == EMIT_TABLE && options->process == REPORT_ANY &&
           options->rank == REPORT_ANY && report->scope_count > 1;
}

int workers_crowd(struct report *report, bool *rest)
{
    memset(rest, 0, report->scope_count * sizeof *rest);
    if (!is_for_people(report) || report->scope_count <= MOST_SHOWN)
        return 0;
    struct share *shares = mem_alloc(report->scope_count, sizeof *shares);
    int err = shares ? read_shares(report, shares) : ERR_NOMEM;
    if (err == 0 && !find_rest(report, MOST_SHOWN, shares))
        err = ERR_NOMEM;
    if (err == 0)
        note_rest(report, shares);
    for (size_t i = 0; i < report->scope_count && err == 0; i++)
        rest[i] = shares[i].rest;
    mem_free(shares);
    return err;
}

static void drop_rest(struct report *report, const struct share *shares)
{
    size_t kept = 0;
    for (size_t i = 0; i < report->scope_count; i++)
        if (!shares[i].folded && !shares[i].rest)
            report->scopes[kept++] = report->scopes[i];
    report->scope_count = kept;
}

static int find_peaks(const struct report *report, struct share *shares)
{
    int err = 0;
    for (size_t i = 0; i < report->scope_count && err >= 0; i++) {
        struct peak peak;
        err = peak_find(report->db, report->scopes[i].process.id, report->scopes[i].device,
                        INT64_MIN, INT64_MAX, &peak);
        shares[i] = (struct share){.seen = peak.found, .peak = peak.found ? peak.allocated : 0};
        peak_clear(&peak);
    }
    return err < 0 ? err : read_given(report, shares);
}

int workers_keep(struct report *report, size_t most)
{
    if (report->scope_count <= most)
        return 0;
    struct share *shares = mem_alloc(report->scope_count, sizeof *shares);
    int err = shares ? find_peaks(report, shares) : ERR_NOMEM;
    if (err >= 0 && !find_rest(report, most, shares))
        err = ERR_NOMEM;
    if (err >= 0)
        drop_rest(report, shares);
    mem_free(shares);
    return err;
}

/* A GPU is why people ask, of whichever rank it is; else the order stays. */
static bool put_host_last(struct report *report)
{
    size_t kept = 0, hosts = 0;
    struct report_scope *host = mem_alloc(report->scope_count + 1, sizeof *host);
    for (size_t i = 0; host && i < report->scope_count; i++)
        if (report_is_host(&report->scopes[i]))
            host[hosts++] = report->scopes[i];
        else
            report->scopes[kept++] = report->scopes[i];
    for (size_t i = 0; i < hosts; i++)
        report->scopes[kept++] = host[i];
    mem_free(host);
    return host != NULL;
}

int workers_fold(struct report *report)
{
    if (!is_for_people(report))
        return 0;
    struct share *shares = mem_alloc(report->scope_count, sizeof *shares);
    if (!shares)
        return ERR_NOMEM;
    memset(shares, 0, report->scope_count * sizeof *shares);
    int err = read_shares(report, shares);
    for (size_t i = 0; i < report->scope_count && err >= 0; i++)
        shares[i].folded =
            !shares[i].steps && report_is_host(&report->scopes[i]) &&
            shares[i].peak < most_of_trainers(report, shares, report->scopes[i].device);
    if (err >= 0 && !find_rest(report, MOST_SHOWN, shares))
        err = ERR_NOMEM;
    if (err >= 0)
        note(report, shares);
    if (err >= 0)
        note_rest(report, shares);
    if (err >= 0)
        drop_rest(report, shares);
    if (err >= 0 && !put_host_last(report))
        err = ERR_NOMEM;
    mem_free(shares);
    return err;
}
