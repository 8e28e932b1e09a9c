/* plot_bar.c - see plot_bar.h. */
#include "plot_bar.h"

#include <string.h>

#include "human.h"
#include "plot_parts.h"

/* Kinds with less than one part in so many are not shown by themselves; and what is not worth a
 * word. */
enum { LEAST_SHARE = 100, LEAST_OTHER = 1000, GAP = 2, MIXED = 10 };

const char *plot_bar_name(enum purpose purpose)
{
    static const char *const names[PURPOSES] = {
        [PURPOSE_PARAMETER] = "parameters",
        [PURPOSE_COPY] = "copies of parameters",
        [PURPOSE_GATHERED] = "gathered parameters",
        [PURPOSE_GRADIENT] = "gradients",
        [PURPOSE_OPTIMIZER_STATE] = "optimizer state",
        [PURPOSE_BUCKET] = "DDP buckets",
        [PURPOSE_COMMUNICATION] = "communication buffers",
        [PURPOSE_HELD] = "held activations",
        [PURPOSE_ACTIVATION] = "activations",
        [PURPOSE_INPUT] = "inputs",
        [PURPOSE_WORKSPACE] = "workspace",
        [PURPOSE_LIBRARY] = "library workspace",
        [PURPOSE_OTHER] = "other",
    };
    return names[purpose];
}

static void put_inked(const struct plot_style *style, enum canvas_colour colour, const char *glyph,
                      unsigned count, struct buf *out)
{
    if (style->colour && count)
        buf_print(out, "\033[%dm", canvas_code(colour));
    for (unsigned i = 0; i < count; i++)
        buf_text(out, glyph);
    if (style->colour && count)
        buf_text(out, "\033[0m");
}

/* What the kind "other" nearly all is has a letter of its own: that of its name. */
static void put_glyphs(const struct plot_style *style, enum purpose purpose, const char *other,
                       unsigned count, struct buf *out)
{
    const char letter[] = {other ? *other : '\0', '\0'};
    const char *glyph =
        purpose == PURPOSE_OTHER && other ? letter : plot_category_inks[purpose].letter;
    put_inked(style, plot_category_inks[purpose].colour,
              style->colour && style->utf8 ? "\u2588" : glyph, count, out);
}

/* What is too small to be seen goes to the kind "other"; the sum. */
static int64_t gather(const int64_t bytes[PURPOSES], int64_t shown[PURPOSES])
{
    int64_t sum = 0;
    for (int i = 0; i < PURPOSES; i++)
        sum += bytes[i];
    memset(shown, 0, PURPOSES * sizeof *shown);
    for (int i = 0; i < PURPOSES; i++)
        shown[bytes[i] < sum / LEAST_SHARE ? PURPOSE_OTHER : i] += bytes[i];
    return sum;
}

/* Each kind ends where its sum does, so that the bar is as wide as asked for. */
static void put_bar(const int64_t shown[PURPOSES], int64_t sum, const char *other,
                    const struct plot_style *style, struct buf *out)
{
    int64_t below = 0;
    unsigned used = 0;
    for (int i = 0; i < PURPOSES; i++) {
        below += shown[i];
        unsigned end = (unsigned)((double)below / (double)sum * style->width + 0.5);
        put_glyphs(style, (enum purpose)i, other, end - used, out);
        used = end;
    }
    buf_text(out, "\n");
}

/* Of what is shown as the kind "other": itself, kinds that are too small, or both. */
static const char *rest_name(const int64_t bytes[PURPOSES], const int64_t shown[PURPOSES])
{
    int64_t own = bytes[PURPOSE_OTHER], small = shown[PURPOSE_OTHER] - own;
    if (own <= shown[PURPOSE_OTHER] / MIXED)
        return "small kinds";
    return small <= shown[PURPOSE_OTHER] / MIXED ? plot_bar_name(PURPOSE_OTHER)
                                                 : "other and small kinds";
}

static void put_legend(const int64_t shown[PURPOSES], int64_t sum, const char *other,
                       const char *rest, const struct plot_style *style, struct buf *out)
{
    unsigned used = 0;
    for (int i = 0; i < PURPOSES; i++) {
        struct buf text = {0};
        char size[HUMAN_MAX];
        if (!shown[i] || (i == PURPOSE_OTHER && shown[i] < sum / LEAST_OTHER))
            continue;
        const char *name = i == PURPOSE_OTHER ? rest : plot_bar_name((enum purpose)i);
        buf_print(&text, " %s %s", name, human_bytes(size, shown[i]));
        bool fits = used + GAP + 1 + text.count <= style->width;
        if (used)
            buf_text(out, fits ? "  " : "\n");
        used = (used && fits ? used + GAP : 0) + 1 + (unsigned)text.count;
        put_glyphs(style, (enum purpose)i, other, 1, out);
        buf_text(out, buf_string(&text));
        out->broken = out->broken || text.broken;
        buf_clear(&text);
    }
    buf_text(out, "\n");
}

void plot_bar(const int64_t bytes[PURPOSES], const char *other, const struct plot_style *style,
              struct buf *out)
{
    int64_t shown[PURPOSES];
    int64_t sum = gather(bytes, shown);
    if (!sum)
        return;
    bool mixed = shown[PURPOSE_OTHER] - bytes[PURPOSE_OTHER] > shown[PURPOSE_OTHER] / MIXED;
    other = mixed ? NULL : other;
    put_bar(shown, sum, other, style, out);
    put_legend(shown, sum, other, other ? other : rest_name(bytes, shown), style, out);
}
