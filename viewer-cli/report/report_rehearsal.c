/*
 * What a report says first where no GPU was there: that it was a rehearsal, how much of the highest
 * use of the GPU is a model, and which values were read that nobody computed
 * (analysis/read/rehearsed.h).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "rehearsed.h"
#include "error.h"
#include "human.h"
#include "query.h"
#include "report_parts.h"

/* One and many of each kind. */
static const char *const kind_texts[REHEARSED_TOLD][2] = {
    {"size came from a value that is not computed, taken as 0",
     "sizes came from values that are not computed, taken as 0"},
    {"size of a library's working memory is not known, taken as 0",
     "sizes of libraries' working memory are not known, taken as 0"},
    {"buffer of a library, outside of the program's allocator, is not known, taken as 0",
     "buffers of libraries, outside of the program's allocator, are not known, taken as 0"},
    {"number that the program read is not computed, and was 0",
     "numbers that the program read are not computed, and were 0"},
    {"of these values was known, but 64 MiB of newer ones were kept",
     "of these values were known, but 64 MiB of newer ones were kept"},
    {"size of a library's working memory is modelled, measured on an H200 with cuDNN 9.19, taken "
     "for others",
     "sizes of libraries' working memory are modelled, measured on an H200 with cuDNN 9.19, taken "
     "for others"},
};

static void say(struct emit *emit, const char *text)
{
    if (emit->format == EMIT_TABLE)
        emit_line(emit, "%s", text);
    else
        emit_warning(emit, "%s", text);
}

/* "3 sizes came from values that are not computed, taken as 0: nonzero (data.py:31), ..." */
static void say_unknown(struct emit *emit, const char *whose, enum rehearsed_kind kind,
                        const struct rehearsed_unknown *unknown)
{
    char text[900], more[40] = "";
    if (unknown->reads == 0)
        return;
    if (unknown->places > REHEARSED_PLACES)
        snprintf(more, sizeof more, " and %" PRId64 " more place%s",
                 unknown->places - REHEARSED_PLACES,
                 unknown->places == REHEARSED_PLACES + 1 ? "" : "s");
    snprintf(text, sizeof text, "%s%" PRId64 " %s: %s%s", whose, unknown->reads,
             kind_texts[kind][unknown->reads != 1], unknown->text, more);
    say(emit, text);
}

/* How far off that can be: docs/gpu-profiles.md. */
static int say_trials(struct report *report, struct emit *emit, const char *whose)
{
    char text[200], number[HUMAN_MAX];
    int64_t count;
    int err = rehearsed_trials(report->db, &count);
    if (err < 0 || !count)
        return err;
    snprintf(text, sizeof text,
             "%s%s workspace%s of cudnn.benchmark by a model (6 programs: reserved within 8 %%)",
             whose, human_count(number, count), count == 1 ? "" : "s");
    say(emit, text);
    return 0;
}

static int say_all_unknown(struct report *report, struct emit *emit, const char *whose,
                           int64_t counts[REHEARSED_TOLD], bool *any)
{
    struct rehearsed_unknown unknown;
    int err = 0;
    *any = false;
    for (int kind = 0; kind < REHEARSED_TOLD && err >= 0; kind++) {
        err =
            rehearsed_unknown_read(report->db, REHEARSED_ALL, (enum rehearsed_kind)kind, &unknown);
        if (err >= 0)
            say_unknown(emit, whose, (enum rehearsed_kind)kind, &unknown);
        counts[kind] = unknown.reads;
        *any |= unknown.reads > 0;
    }
    return err;
}

/* "max device used 12.9 GiB: 12.5 GiB max reserved, 418 MiB CUDA context (by a rule)"; what the run
 * would have survived with is another figure, that of `fit`. */
static void say_share(struct emit *emit, const char *whose, const struct rehearsed *rehearsed,
                      const struct rehearsed_share *share)
{
    char text[300], modelled[HUMAN_MAX], peak[HUMAN_MAX], part[HUMAN_MAX];
    if (!share->found)
        return;
    snprintf(text, sizeof text, "%smax device used%s%s %s: %s max reserved, %s CUDA context (%s)",
             whose, share->others ? " on " : "", share->others ? share->device_text : "",
             human_bytes(peak, share->peak), human_bytes(part, share->peak - share->modelled),
             human_bytes(modelled, share->modelled),
             rehearsed->context_measured ? "measured" : "by a rule");
    say(emit, text);
}

/* ---- for programs ---- */

static const struct emit_column columns[] = {
    {"database", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"gpu", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"memory_bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"context_bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"context_from", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"no_kernels", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"peak_bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"modelled_bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"modelled_share", NULL, EMIT_RATIO, EMIT_PROGRAMS},
    {"sizes_not_computed", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"library_sizes_not_known", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"outside_not_known", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"numbers_not_computed", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"library_sizes_modelled", NULL, EMIT_COUNT, EMIT_PROGRAMS},
};

static void put_share(struct emit *emit, const struct rehearsed_share *share)
{
    if (!share->found) {
        for (int i = 0; i < 5; i++)
            emit_null(emit);
        return;
    }
    emit_int(emit, share->process);
    emit_text(emit, share->device_text);
    emit_int(emit, share->peak);
    emit_int(emit, share->modelled);
    emit_real(emit, (double)share->modelled / (double)share->peak);
}

/* In json only: in csv a section more would put a heading above the report's own. */
static void put_section(struct report *report, struct emit *emit, const struct rehearsed *rehearsed,
                        const struct rehearsed_share *share, const int64_t counts[REHEARSED_TOLD])
{
    if (emit->format != EMIT_JSON)
        return;
    EMIT_SECTION(emit, "rehearsal", NULL, EMIT_RECORD, columns);
    emit_text(emit, report->path);
    emit_text(emit, rehearsed->gpu);
    emit_known(emit, rehearsed->memory);
    emit_known(emit, rehearsed->context);
    emit_text(emit, *rehearsed->context_from ? rehearsed->context_from : NULL);
    emit_text(emit, *rehearsed->no_kernels ? rehearsed->no_kernels : NULL);
    put_share(emit, share);
    for (int kind = 0; kind < REHEARSED_KINDS; kind++)
        emit_int(emit, counts[kind]);
    emit_int(emit, counts[REHEARSED_MODELLED]);
}

int report_say_rehearsed(struct report *report, struct emit *emit, const char *whose)
{
    struct rehearsed rehearsed;
    struct rehearsed_share share;
    int64_t counts[REHEARSED_TOLD];
    char text[400];
    bool any;
    int err = rehearsed_read(report->db, &rehearsed);
    if (err < 0 || !rehearsed.is_one)
        return err;
    snprintf(text, sizeof text, "%srehearsed without a GPU, as on %s", whose, rehearsed.gpu);
    say(emit, text);
    if (*rehearsed.no_kernels) {
        snprintf(text, sizeof text, "%s%s", whose, rehearsed.no_kernels);
        say(emit, text);
    }
    err = rehearsed_share_read(report->db, &rehearsed, &share);
    if (err < 0)
        return err;
    err = say_all_unknown(report, emit, whose, counts, &any);
    if (err >= 0)
        err = say_trials(report, emit, whose);
    if (err < 0)
        return err;
    say_share(emit, whose, &rehearsed, &share);
    if (any && !*whose)
        say(emit, "what that means: tidemark help rehearse");
    put_section(report, emit, &rehearsed, &share, counts);
    return 0;
}

static const char used_sql[] = "SELECT EXISTS(SELECT 1 FROM heap h JOIN device d ON d.id = h.device"
                               "   WHERE d.kind <> 'cpu') AS used";

/* "rehearsed without a GPU, as on NVIDIA A100-SXM4-40GB, 39.4 GiB: max device used 474 MiB",
 * shorter where that does not fit. */
static void say_brief(struct emit *emit, const struct rehearsed *rehearsed,
                      const struct rehearsed_share *share, bool used)
{
    static const char *const begins[] = {"rehearsed without a GPU, as on", "rehearsed as on"};
    const char *capability = strstr(rehearsed->gpu, ", capability");
    int card = (int)(capability ? (size_t)(capability - rehearsed->gpu) : strlen(rehearsed->gpu));
    char text[400], peak[HUMAN_MAX];
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        int n = snprintf(text, sizeof text, "%s %.*s", begins[i], card, rehearsed->gpu);
        if (share->found)
            n += snprintf(text + n, sizeof text - (size_t)n, ": max device used %s",
                          human_bytes(peak, share->peak));
        else if (!used)
            n += snprintf(text + n, sizeof text - (size_t)n, ": the GPU was not used");
        if (!emit->width || (unsigned)n <= emit->width)
            break;
    }
    say(emit, text);
}

int report_lead_briefly(struct report *report)
{
    struct rehearsed rehearsed;
    struct rehearsed_share share;
    struct rehearsed_unknown unknown;
    char text[120], count[HUMAN_MAX];
    int64_t reads = 0;
    bool used = true;
    emit_back(&report->emit, &(struct emit_mark){0});
    int err = rehearsed_read(report->db, &rehearsed);
    if (err < 0 || !rehearsed.is_one)
        return err;
    err = rehearsed_share_read(report->db, &rehearsed, &share);
    for (int kind = 0; kind < REHEARSED_KINDS && err >= 0; kind++) {
        err =
            rehearsed_unknown_read(report->db, REHEARSED_ALL, (enum rehearsed_kind)kind, &unknown);
        reads += err < 0 ? 0 : unknown.reads;
    }
    if (err < 0)
        return err;
    err = query_read(report->db, used_sql, Q_NOTHING, Q_OUT(Q_INT(used)));
    if (err < 0)
        return err;
    say_brief(&report->emit, &rehearsed, &share, used);
    if (reads) {
        snprintf(text, sizeof text, "%s size%s or value%s not known (--all says which)",
                 human_count(count, reads), reads == 1 ? "" : "s", reads == 1 ? "" : "s");
        say(&report->emit, text);
    }
    return say_trials(report, &report->emit, "");
}
