/* rehearse_closing.c - see rehearse_closing.h. */
#include "rehearse_closing.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "oom.h"
#include "rehearsed.h"
#include "db.h"
#include "emit_text.h"
#include "error.h"
#include "gpu_cards.h"
#include "human.h"
#include "safe.h"

#define NAME_MOST 60u /* columns */

static void put_name(struct buf *out, const char *text)
{
    safe_put(out, text, emit_fit(text, strlen(text), NAME_MOST));
}

/* "17.6 GiB refused in step 0, forward" */
static int put_refusal(struct db *db, const struct oom_place *place, struct buf *out)
{
    struct ooms ooms = {0};
    char asked[HUMAN_MAX];
    int err = place->device == OOM_NONE ? 0
                                        : oom_read_newest(db, place->process, place->device,
                                                          INT64_MIN, INT64_MAX, 1, &ooms);
    const struct oom *oom = ooms.shown ? &ooms.failures[0] : NULL;
    buf_print(out, "does not fit: %s refused", human_bytes(asked, place->asked));
    if (oom && oom->step != OOM_NONE)
        buf_print(out, " in step %" PRId64, oom->step);
    if (oom && oom->phase && !oom->between) {
        buf_text(out, oom->step != OOM_NONE ? ", " : " in ");
        put_name(out, oom->phase);
    }
    ooms_clear(&ooms);
    return err;
}

/* "peak 12.9 GiB reserved of 39.0 GiB usable" */
static void put_peak(const struct rehearse_closing *closing, const struct rehearsed_share *share,
                     struct buf *out)
{
    char peak[HUMAN_MAX], room[HUMAN_MAX];
    buf_print(out, "peak %s reserved of %s usable",
              human_bytes(peak, share->peak - share->modelled),
              human_bytes(room, gpu_card_room(closing->profile, 0)));
}

static void put_count(int64_t count, const char *before, const char *what, struct buf *out)
{
    buf_print(out, "%s%" PRId64 " %s%s", before, count, what, count == 1 ? "" : "s");
}

/* What the program read, and what libraries take, are different things to worry about. */
static void put_unknown(const int64_t unknown[REHEARSED_KINDS], struct buf *out)
{
    int64_t values = unknown[REHEARSED_SIZE] + unknown[REHEARSED_NUMBER];
    int64_t libraries = unknown[REHEARSED_LIBRARY] + unknown[REHEARSED_OUTSIDE];
    if (values)
        put_count(values, ", with ", "uncomputed value", out);
    if (libraries)
        put_count(libraries, values ? " and " : ", with ", "unknown library size", out);
    if (values || libraries)
        buf_text(out, " taken as 0");
}

/* "ended by SIGINT": by whomever, us alone excepted. */
static void put_signal(int number, const char *before, struct buf *out)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {{SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"},
                 {SIGABRT, "SIGABRT"}, {SIGKILL, "SIGKILL"}, {SIGSEGV, "SIGSEGV"},
                 {SIGBUS, "SIGBUS"},   {SIGTERM, "SIGTERM"}};
    char text[32];
    if (!number)
        return;
    snprintf(text, sizeof text, "signal %d", number);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].number == number)
            snprintf(text, sizeof text, "%s", names[i].name);
    buf_print(out, "%sthe run was ended by %s", before, text);
}

/* What is known of a run that ended well, or that did not. */
static void put_end(const struct rehearse_closing *closing, struct buf *out)
{
    if (closing->no_kernels) {
        buf_text(out, "fails at its first kernel, for it has none: ");
    } else if (closing->signal) {
        put_signal(closing->signal, "not known whether it fits, ", out);
        buf_text(out, ": ");
    } else if (closing->exit_code) {
        buf_print(out, "not known whether it fits, the program failed with exit status %d: ",
                  closing->exit_code);
    } else {
        buf_text(out, "fits: ");
    }
}

static int put_verdict(struct db *db, const struct rehearse_closing *closing, struct buf *out)
{
    struct rehearsed rehearsed;
    struct rehearsed_share share;
    struct oom_place place;
    int64_t unknown[REHEARSED_KINDS];
    int err = rehearsed_read(db, &rehearsed);
    if (err >= 0)
        err = rehearsed_share_read(db, &rehearsed, &share);
    if (err >= 0)
        err = rehearsed_count(db, REHEARSED_ALL, unknown);
    if (err < 0)
        return err;
    int refused = oom_find_last(db, &place);
    bool on_gpu = refused >= 0 && strcmp(place.device_text, "cpu") != 0;
    if (on_gpu) {
        err = put_refusal(db, &place, out);
    } else if (!share.found) {
        buf_text(out, "not known whether it fits: no blocks were recorded");
    } else {
        put_end(closing, out);
        put_peak(closing, &share, out);
    }
    buf_text(out, " on ");
    put_name(out, closing->gpu);
    if (share.found && share.others && !on_gpu)
        buf_print(out, ", %s", share.device_text);
    put_unknown(unknown, out);
    if (on_gpu || !share.found || closing->no_kernels)
        put_signal(closing->signal, "; ", out);
    return err;
}

void rehearse_closing_put(const struct rehearse_closing *closing, struct buf *out)
{
    struct db *db = NULL;
    struct buf line = {0};
    int err = db_open(&db, closing->path);
    if (err >= 0)
        err = put_verdict(db, closing, &line);
    if (err >= 0 && !line.broken)
        buf_print(out, "tidemark: %s\n", buf_string(&line));
    buf_clear(&line);
    if (db)
        db_close(db);
}
