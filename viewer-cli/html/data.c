/* data.c - a recording: its scopes, the highest drawn; see data.h. */
#include "data.h"

#include <stdlib.h>

#include "course.h"
#include "error.h"
#include "mem.h"
#include "pack.h"
#include "peak.h"
#include "purpose.h"
#include "query.h"

struct ranked {
    size_t scope;
    int64_t peak;
};

static int by_peak(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->peak != y->peak)
        return x->peak > y->peak ? -1 : 1;
    return (x->scope > y->scope) - (x->scope < y->scope);
}

static int read_peaks(const struct report *report, struct ranked *ranked)
{
    int err = 0;
    for (size_t i = 0; i < report->scope_count && err == 0; i++) {
        const struct report_scope *scope = &report->scopes[i];
        struct peak peak;
        err = peak_find(report->db, scope->process.id, scope->device, INT64_MIN, INT64_MAX, &peak);
        ranked[i] = (struct ranked){i, peak.found ? peak.allocated : -1};
        peak_clear(&peak);
    }
    return err;
}

static int count_blocks(const struct report *report, int64_t *blocks)
{
    return query_read(report->db, "SELECT coalesce(max(seq), 0) / 2 AS blocks FROM allocation",
                      NULL, Q_OUT(Q_INT(*blocks)));
}

/* Which scopes get a picture: those with the highest peaks. */
static int choose(const struct report *report, bool *drawn)
{
    int64_t blocks = 0;
    struct ranked *ranked = mem_alloc(report->scope_count + 1, sizeof *ranked);
    int err = ranked ? read_peaks(report, ranked) : ERR_NOMEM;
    if (err == 0)
        err = count_blocks(report, &blocks);
    size_t most = blocks > DATA_LARGE ? DATA_PICTURES_LARGE : DATA_PICTURES;
    if (err == 0 && report->scope_count)
        qsort(ranked, report->scope_count, sizeof *ranked, by_peak);
    for (size_t i = 0; err == 0 && i < report->scope_count && i < most; i++)
        drawn[ranked[i].scope] = ranked[i].peak > 0;
    mem_free(ranked);
    return err;
}

static int put_picture(struct data *data, const struct report_scope *scope)
{
    static int (*const parts[])(struct data * data, const struct report_scope *scope) = {
        data_course, data_moments, data_phases, data_steps, data_refusals, data_map,
    };
    int err = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && err >= 0; i++)
        err = parts[i](data, scope);
    return err < 0 ? err : 0;
}

static int put_scope(struct data *data, const struct report_scope *scope, bool drawn)
{
    struct buf *out = &data->out;
    pack_number(out, (uint64_t)scope->process.id);
    pack_number(out, (uint64_t)scope->process.pid);
    pack_known(out, scope->process.rank == REPORT_ANY ? PACK_NONE : scope->process.rank);
    pack_text(out, scope->device_text);
    pack_number(out, drawn);
    return drawn ? put_picture(data, scope) : 0;
}

static int put_scopes(struct data *data)
{
    const struct report *report = data->report;
    bool *drawn = mem_alloc(report->scope_count + 1, sizeof *drawn);
    int err = drawn ? choose(report, drawn) : ERR_NOMEM;
    pack_number(&data->out, report->scope_count);
    for (size_t i = 0; i < report->scope_count && err == 0; i++)
        err = put_scope(data, &report->scopes[i], drawn[i]);
    mem_free(drawn);
    return err;
}

void data_begin(struct buf *out, unsigned recordings)
{
    buf_add(out, "TMPG", 4);
    pack_number(out, DATA_VERSION);
    pack_number(out, PURPOSES);
    for (int i = 0; i < PURPOSES; i++)
        pack_text(out, purpose_name((enum purpose)i));
    pack_number(out, COURSE_KINDS);
    for (int i = 0; i < COURSE_KINDS; i++)
        pack_text(out, course_kind_name((enum course_kind)i));
    pack_number(out, recordings);
}

int data_recording(struct report *report, const char *name, const struct buf *json, struct buf *out)
{
    struct data data = {.report = report};
    int err = lexicon_begin(&data.lexicon, report->db);
    if (err == 0)
        err = put_scopes(&data);
    pack_text(out, name);
    pack_bytes(out, buf_string(json), json->count);
    buf_add(out, buf_string(&data.out), data.out.count);
    lexicon_pack(&data.lexicon, out);
    if (err == 0 && (data.out.broken || out->broken))
        err = ERR_NOMEM;
    buf_clear(&data.out);
    int named = lexicon_end(&data.lexicon);
    return err ? err : named;
}
