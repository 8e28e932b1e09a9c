#include "fit_torch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "fit_print.h"
#include "human.h"

/* ---- the option ---- */

static bool put_release(struct fit_releases *out, const struct alloc_release *release)
{
    for (size_t i = 0; i < out->count; i++)
        if (out->list[i] == release)
            return true;
    if (out->count == FIT_VERSIONS)
        return false;
    out->list[out->count++] = release;
    return true;
}

static void put_all(struct fit_releases *out)
{
    size_t count;
    const struct alloc_release *releases = alloc_releases(&count);
    for (size_t i = 0; i < count; i++)
        put_release(out, &releases[i]);
}

/* What follows the newest release has no number yet: a number is none of it. */
static const struct alloc_release *release_named(const char *name)
{
    size_t count;
    const struct alloc_release *releases = alloc_releases(&count);
    const struct alloc_release *found = alloc_release_of(name);
    return found == &releases[count - 1] && strcmp(name, found->name) != 0 ? NULL : found;
}

static void say_known(const char *name, char *why, size_t why_size)
{
    size_t count;
    const struct alloc_release *releases = alloc_releases(&count);
    size_t length = (size_t)snprintf(why, why_size, "no policy is known of '%s', but of", name);
    for (size_t i = 0; i < count && length < why_size; i++)
        length += (size_t)snprintf(why + length, why_size - length, "%s %s", i ? "," : "",
                                   releases[i].name);
}

bool fit_torch_read(const char *text, struct fit_releases *out, char *why, size_t why_size)
{
    *out = (struct fit_releases){0};
    while (*text) {
        char name[32];
        size_t length = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < 31 ? length : 31), text);
        const struct alloc_release *release = release_named(name);
        if (strcmp(name, "all") == 0) {
            put_all(out);
        } else if (!release || !put_release(out, release)) {
            say_known(name, why, why_size);
            return false;
        }
        text += length + (text[length] == ',');
    }
    if (!out->count)
        say_known("", why, why_size);
    return out->count > 0;
}

/* ---- the replays ---- */

static int measure(struct fit_part *part, const struct fit_version_base *base,
                   const struct alloc_release *release)
{
    for (size_t i = 0; i < part->version_count; i++)
        if (part->versions[i].release == release)
            return 0;
    return fit_version_measure(&part->fit, part->report->db, base, release, part->versions,
                               part->version_count++);
}

int fit_torch_measure(struct fit_part *part, const struct alloc_config *asked, const char *conf,
                      uint64_t ceiling)
{
    const struct fit_releases *releases = &part->options->releases;
    const struct fit_version_base base = {
        .conf = conf, .config = *asked, .need = &part->rows[0].need, .ceiling = ceiling};
    if (!releases->count)
        return 0;
    int err = measure(part, &base, fit_version_recorded(&part->fit));
    for (size_t i = 0; i < releases->count && err >= 0; i++)
        err = measure(part, &base, releases->list[i]);
    return err;
}

void fit_torch_clear(struct fit_part *part)
{
    for (size_t i = 0; i < part->version_count; i++)
        fit_version_clear(&part->versions[i]);
}

/* ---- the table ---- */

const struct emit_column fit_torch_columns[FIT_TORCH_COLUMNS] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"torch", "PyTorch", EMIT_TEXT, 0},
    {"recorded", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"peak_allocated", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"peak_reserved", "peak reserved", EMIT_BYTES, EMIT_NONE},
    {"smallest", NULL, EMIT_BYTES, EMIT_NONE},
    {"retries", NULL, EMIT_COUNT, EMIT_NONE},
    {"segments", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"same_as", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"refuses", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"step", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"phase", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"at_ns", NULL, EMIT_NS, EMIT_PROGRAMS},
    {"allocation", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"requested", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"site", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"rule", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"rule_text", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "first request placed differently", EMIT_TEXT, EMIT_PEOPLE | EMIT_WRAP},
};

static const char *rule_text(const struct fit_version *version)
{
    return version->rule ? version->rule->text : "several rules together";
}

static void print_place(struct buf *text, const struct fit_version *version)
{
    const struct fit_place *place = &version->place;
    char bytes[HUMAN_MAX];
    if (place->step != FIT_NONE)
        buf_print(text, "step %" PRId64 ", ", place->step);
    buf_print(text, "%s: %s", place->phase ? place->phase : "no phase",
              human_bytes(bytes, (int64_t)version->requested));
    if (place->site)
        buf_print(text, " at %s", place->site);
    buf_print(text, " (seq %" PRId64 "): %s", place->allocation, rule_text(version));
}

static void put_difference(const struct fit_part *part, const struct fit_version *version)
{
    struct emit *emit = &part->report->emit;
    struct buf text = {0};
    if (*version->trouble)
        buf_print(&text, "refuses the settings: %s", version->trouble);
    else if (version->like)
        buf_print(&text, "the same as %s", version->like->release->name);
    else if (version->parts)
        print_place(&text, version);
    else
        buf_text(&text, part->fit.trace.torch ? "as recorded"
                                              : "as replayed: the recording does not say its "
                                                "version");
    emit_text(emit, buf_string(&text));
    emit->out.broken = emit->out.broken || text.broken;
    buf_clear(&text);
}

static void put_need(const struct fit_part *part, const struct fit_version *version)
{
    struct emit *emit = &part->report->emit;
    const struct fit_need *need = &fit_version_figures(version)->need;
    bool known = !*version->trouble;
    emit_known(emit, known ? need->peak_allocated : FIT_NONE);
    emit_known(emit, known ? need->peak_reserved : FIT_NONE);
    emit_known(emit, known ? fit_smallest_of(part, need) : FIT_NONE);
    emit_known(emit, known ? need->retries : FIT_NONE);
    emit_known(emit, known ? need->segments : FIT_NONE);
}

static void put_place(struct emit *emit, const struct fit_version *version)
{
    const struct fit_place *place = &version->place;
    emit_known(emit, version->parts ? place->step : FIT_NONE);
    emit_text(emit, place->phase);
    emit_known(emit, version->parts ? place->at_ns : FIT_NONE);
    emit_known(emit, version->parts ? place->allocation : FIT_NONE);
    emit_known(emit, version->parts ? (int64_t)version->requested : FIT_NONE);
    emit_text(emit, place->site);
    emit_text(emit, version->rule ? version->rule->key : NULL);
    emit_text(emit, version->parts ? rule_text(version) : NULL);
}

void fit_torch_put(const struct fit_part *part)
{
    struct emit *emit = &part->report->emit;
    if (!part->version_count)
        return;
    EMIT_SECTION(emit, "torch", "Under other versions of PyTorch", EMIT_ROWS, fit_torch_columns);
    for (size_t i = 0; i < part->version_count; i++) {
        const struct fit_version *version = &part->versions[i];
        bool recorded = i == 0 && part->fit.trace.torch;
        fit_put_scope(part);
        emit_text(emit, version->release->name);
        emit_int(emit, recorded);
        put_need(part, version);
        emit_text(emit, version->like ? version->like->release->name : NULL);
        emit_text(emit, *version->trouble ? version->trouble : NULL);
        put_place(emit, fit_version_figures(version));
        put_difference(part, version);
    }
}
