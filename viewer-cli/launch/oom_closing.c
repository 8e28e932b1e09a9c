#include "oom_closing.h"

#include <inttypes.h>
#include <string.h>

#include "db.h"
#include "emit_text.h"
#include "human.h"
#include "process.h"
#include "safe.h"

#define NAME_MOST 100u /* columns */

enum { NAMED = 1, SETTINGS = 2 }; /* call sites that pin, settings that help: shown */

/* The program's own words. */
static void put_name(struct buf *out, const char *text)
{
    safe_put(out, text, emit_fit(text, strlen(text), NAME_MOST));
}

static void put_where(const struct oom_place *place, const struct oom *oom, struct buf *out)
{
    char asked[HUMAN_MAX];
    buf_print(out, "tidemark: out of memory: %s on ", human_bytes(asked, oom->asked));
    put_name(out, place->device_text);
    if (oom->step != OOM_NONE)
        buf_print(out, ", step %" PRId64, oom->step);
    if (oom->phase && !oom->between) {
        buf_text(out, ", ");
        put_name(out, oom->phase);
    }
    if (place->processes > 1)
        buf_print(out, ", process %" PRId64, place->process);
    buf_text(out, "\n");
    if (oom->shown) {
        buf_text(out, "tidemark:   call site ");
        put_name(out, oom->shown);
        buf_text(out, "\n");
    }
}

/* The parts add up to the limit where that is known. */
static void put_memory(const struct oom *oom, const struct oom_fit *fit, struct buf *out)
{
    char bytes[HUMAN_MAX];
    bool rest = fit->exact && oom->reserved != OOM_NONE;
    if (oom->allocated == OOM_NONE && !oom->frag.known)
        return;
    buf_text(out, "tidemark:   ");
    if (fit->exact)
        buf_print(out, "of %s: ", human_bytes(bytes, fit->high));
    if (oom->allocated != OOM_NONE)
        buf_print(out, "%s allocated", human_bytes(bytes, oom->allocated));
    if (oom->frag.known)
        buf_print(out, "%s%s in holes", oom->allocated != OOM_NONE ? ", " : "",
                  human_bytes(bytes, oom->frag.free_bytes));
    if (rest)
        buf_print(out, ", %s not reserved", human_bytes(bytes, fit->high - oom->reserved));
    buf_text(out, "\n");
}

static void put_pin(const struct frag_site *site, struct buf *out)
{
    char bytes[HUMAN_MAX], count[HUMAN_MAX];
    buf_text(out, "tidemark:   pinned first of all by ");
    put_name(out, site->shown ? site->shown : "a call that is not known");
    buf_print(out, ": %s block%s, %s, %s\n", human_count(count, site->blocks),
              site->blocks == 1 ? "" : "s", human_bytes(bytes, site->bytes),
              purpose_name(site->purpose));
}

/* What pins is of interest where there was enough, but in pieces. */
static void put_so(const struct oom *oom, const struct oom_fit *fit, struct buf *out)
{
    char bytes[HUMAN_MAX];
    bool known = fit->short_by != OOM_NONE;
    if (known && fit->short_by > 0)
        buf_print(out, "tidemark:   so %s too few, however it is arranged\n",
                  human_bytes(bytes, fit->short_by));
    else if (oom->verdict == OOM_SCATTERED || (known && oom->verdict == OOM_FULL))
        buf_print(out, "tidemark:   so enough is free, but the largest hole has %s\n",
                  human_bytes(bytes, oom->frag.largest));
    else if (oom->verdict != OOM_UNKNOWN)
        buf_print(out, "tidemark:   so %s\n", oom_verdict_text(oom->verdict));
    if (oom->frag.site_count && oom->verdict != OOM_UNKNOWN && (!known || fit->short_by <= 0))
        put_pin(&oom->frag.sites[0], out);
}

static void put_helping(const struct oom_fit *fit, struct buf *out)
{
    size_t shown = 0;
    buf_text(out, "tidemark:   by replay, it gets through with ");
    for (size_t i = 0; i < fit->count && shown < SETTINGS; i++) {
        const struct oom_setting *setting = &fit->settings[i];
        if (setting->through == OOM_REFUSED)
            continue;
        buf_text(out, shown ? ", or " : "");
        put_name(out, *setting->text ? setting->text : "default");
        buf_text(out, setting->through == OOM_PERHAPS ? " (perhaps)" : "");
        shown++;
    }
    buf_text(out, "\n");
}

static void put_settings(const struct oom_fit *fit, const char *path, struct buf *out)
{
    char needed[HUMAN_MAX];
    if (fit->state == OOM_FIT_LARGE) {
        buf_text(out,
                 "tidemark:   settings that would have helped (many events, so not replayed here): "
                 "tidemark frag --oom ");
        argv_quote(out, path, strlen(path));
        buf_text(out, "\n");
    }
    if (fit->state != OOM_FIT_DONE)
        return;
    if (fit->helping)
        put_helping(fit, out);
    else if (fit->needed != OOM_NONE)
        buf_print(out,
                  "tidemark:   by replay, no setting lets it through; with %s for the allocator it "
                  "gets past\n",
                  human_bytes(needed, fit->needed));
}

void oom_closing_put(const struct oom_place *place, const struct oom *oom,
                     const struct oom_fit *fit, const char *path, struct buf *out)
{
    char count[HUMAN_MAX];
    put_where(place, oom, out);
    put_memory(oom, fit, out);
    put_so(oom, fit, out);
    put_settings(fit, path, out);
    if (place->failures > 1)
        buf_print(out, "tidemark:   %s more failed before it\n",
                  human_count(count, place->failures - 1));
    buf_text(out, "tidemark:   why, and changes that lower the peak: tidemark peak ");
    argv_quote(out, path, strlen(path));
    buf_text(out, "\n");
}

static void put_unplaced(const struct oom_place *place, struct buf *out)
{
    char asked[HUMAN_MAX];
    buf_print(out, "tidemark: out of memory: %s on ", human_bytes(asked, place->asked));
    put_name(out, place->device_text);
    buf_print(out, ", process %" PRId64 "\n", place->process);
}

static int explain(struct db *db, const char *path, struct buf *out)
{
    struct oom_place place;
    struct ooms ooms;
    struct oom_fit fit = {0};
    int err = oom_find_last(db, &place);
    if (err >= 0 && place.device == OOM_NONE)
        put_unplaced(&place, out);
    if (err < 0 || place.device == OOM_NONE)
        return err;
    err = oom_read_newest(db, place.process, place.device, INT64_MIN, INT64_MAX, NAMED, &ooms);
    if (err >= 0 && ooms.shown)
        err = oom_fit_read(db, place.process, place.device, &ooms.failures[0], OOM_CLOSING_EVENTS,
                           &fit);
    if (err >= 0 && ooms.shown)
        oom_closing_put(&place, &ooms.failures[0], &fit, path, out);
    ooms_clear(&ooms);
    oom_fit_clear(&fit);
    return err;
}

void oom_closing_text(const char *path, struct buf *out)
{
    struct db *db;
    if (db_open(&db, path) < 0)
        return;
    explain(db, path, out);
    db_close(db);
}
