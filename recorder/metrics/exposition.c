#include "exposition.h"

#include <string.h>

#include "safe.h"

#define PREFIX "tidemark_"

enum type { GAUGE, COUNTER };
enum form { ONE, NANO, MILLI };
enum level { RUN, RANK, DEVICE, PHASE, INFO };

struct family {
    enum level level;
    size_t value;
    const char *name, *unit;
    enum type type;
    enum form form;
    const char *help;
};

#define METER_RUN(value, name, unit, type, way, form, help)                                        \
    {RUN, METER_RUN_##value, name, unit, type, form, help},
#define METER_RANK(value, name, unit, type, way, form, help)                                       \
    {RANK, METER_RANK_##value, name, unit, type, form, help},
#define METER_DEVICE(value, name, unit, type, way, form, help)                                     \
    {DEVICE, METER_DEVICE_##value, name, unit, type, form, help},
static const struct family families[] = {
    {INFO, 0, "recorder_info", "", GAUGE, ONE, "The recorder, by its version; always 1"},
#include "meters.def"
    {PHASE, 0, "phase_peak_bytes", "bytes", GAUGE, ONE,
     "The highest allocated of one process inside a phase since the recording began"},
};

struct page {
    struct buf *out;
    const struct meters *meters;
    const char *run, *version;
    enum exposition form;
};

const char *exposition_type(enum exposition form)
{
    return form == EXPOSITION_OPENMETRICS
               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8";
}

/* ---- labels ---- */

static void put_character(struct buf *out, const char *at, size_t bytes)
{
    if (!bytes)
        buf_text(out, "\xEF\xBF\xBD"); /* no UTF-8: U+FFFD */
    else if (*at == '\n')
        buf_text(out, "\\n");
    else if (*at == '\\' || *at == '"')
        buf_print(out, "\\%c", *at);
    else
        buf_add(out, at, bytes);
}

static void put_label(const struct page *page, const char *name, const char *value, bool first)
{
    uint32_t code;
    buf_print(page->out, "%s%s=\"", first ? "" : ",", name);
    for (size_t left = strlen(value); left > 0;) {
        size_t bytes = safe_utf8(value, left, &code);
        put_character(page->out, value, bytes);
        value += bytes ? bytes : 1;
        left -= bytes ? bytes : 1;
    }
    buf_add(page->out, "\"", 1);
}

static void put_rank(const struct page *page, int64_t rank)
{
    if (rank != METER_NO_RANK)
        buf_print(page->out, ",rank=\"%lld\"", (long long)rank);
}

/* ---- samples ---- */

static void put_value(const struct page *page, enum form form, int64_t value)
{
    if (form == NANO)
        value /= 1000000;
    if (form == ONE)
        buf_print(page->out, "} %lld\n", (long long)value);
    else
        buf_print(page->out, "} %lld.%03d\n", (long long)(value / 1000), (int)(value % 1000));
}

static void begin_sample(const struct page *page, const struct family *family)
{
    buf_print(page->out, PREFIX "%s%s{", family->name, family->type == COUNTER ? "_total" : "");
    put_label(page, "run", page->run, true);
}

static void put_rank_sample(const struct page *page, const struct family *family,
                            const struct meter_rank *row)
{
    if (row->values[family->value] == METER_UNKNOWN)
        return;
    begin_sample(page, family);
    put_rank(page, row->rank);
    put_value(page, family->form, row->values[family->value]);
}

static void put_device_sample(const struct page *page, const struct family *family,
                              const struct meter_device *row)
{
    if (row->values[family->value] == METER_UNKNOWN)
        return;
    begin_sample(page, family);
    put_rank(page, row->rank);
    put_label(page, "device", row->device, false);
    put_value(page, family->form, row->values[family->value]);
}

static void put_phase_sample(const struct page *page, const struct family *family,
                             const struct meter_phase *row)
{
    begin_sample(page, family);
    put_rank(page, row->rank);
    put_label(page, "device", row->device, false);
    put_label(page, "phase", row->phase, false);
    put_value(page, family->form, row->peak);
}

static void put_run_sample(const struct page *page, const struct family *family)
{
    begin_sample(page, family);
    if (family->level == INFO)
        put_label(page, "version", page->version, false);
    put_value(page, family->form, family->level == INFO ? 1 : page->meters->run[family->value]);
}

/* ---- families ---- */

static bool has_samples(const struct page *page, const struct family *family)
{
    const struct meters *meters = page->meters;
    bool any = family->level == INFO || (family->level == PHASE && meters->phase_count > 0) ||
               (family->level == RUN && meters->run[family->value] != METER_UNKNOWN);
    for (size_t i = 0; family->level == RANK && !any && i < meters->rank_count; i++)
        any = meters->ranks[i].values[family->value] != METER_UNKNOWN;
    for (size_t i = 0; family->level == DEVICE && !any && i < meters->device_count; i++)
        any = meters->devices[i].values[family->value] != METER_UNKNOWN;
    return any;
}

static void put_head(const struct page *page, const struct family *family)
{
    bool metrics = page->form == EXPOSITION_OPENMETRICS, counter = family->type == COUNTER;
    const char *end = counter && !metrics ? "_total" : "";
    buf_print(page->out, "# HELP " PREFIX "%s%s %s\n", family->name, end, family->help);
    buf_print(page->out, "# TYPE " PREFIX "%s%s %s\n", family->name, end,
              counter ? "counter" : "gauge");
    if (metrics && *family->unit)
        buf_print(page->out, "# UNIT " PREFIX "%s %s\n", family->name, family->unit);
}

static void put_family(const struct page *page, const struct family *family)
{
    const struct meters *meters = page->meters;
    if (!has_samples(page, family))
        return;
    put_head(page, family);
    if (family->level == RUN || family->level == INFO)
        put_run_sample(page, family);
    for (size_t i = 0; family->level == RANK && i < meters->rank_count; i++)
        put_rank_sample(page, family, &meters->ranks[i]);
    for (size_t i = 0; family->level == DEVICE && i < meters->device_count; i++)
        put_device_sample(page, family, &meters->devices[i]);
    for (size_t i = 0; family->level == PHASE && i < meters->phase_count; i++)
        put_phase_sample(page, family, &meters->phases[i]);
}

void exposition_put(struct buf *out, const struct meters *meters, const char *run,
                    const char *version, enum exposition form)
{
    const struct page page = {out, meters, run, version, form};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        put_family(&page, &families[i]);
    if (form == EXPOSITION_OPENMETRICS)
        buf_text(out, "# EOF\n");
}
