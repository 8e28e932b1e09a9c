#include "frag_report.h"

#include <inttypes.h>
#include <stdio.h>

#include "phase_text.h"
#include "buf.h"
#include "frag_picture.h"
#include "human.h"
#include "screen.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void put_scope(const struct frag_part *part)
{
    emit_int(part->emit, part->scope->process.id);
    emit_text(part->emit, part->scope->device_text);
}

static size_t shown(const struct frag_part *part, size_t count)
{
    return count < (size_t)part->top ? count : (size_t)part->top;
}

/* ---- the definition ---- */

static const struct emit_column frag_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "at", EMIT_TEXT, EMIT_PEOPLE},
    {"seq", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"at_ns", NULL, EMIT_NS, EMIT_PROGRAMS},
    {"step", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"reserved", NULL, EMIT_BYTES, 0},
    {"inactive_split", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"fragmentation", NULL, EMIT_RATIO, EMIT_PROGRAMS},
    {"free", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"largest_hole", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"scattered", NULL, EMIT_RATIO, EMIT_PROGRAMS},
    {NULL, "fragmentation", EMIT_TEXT, EMIT_PEOPLE},
    {NULL, "scattered", EMIT_TEXT, EMIT_PEOPLE},
    {"moment", NULL, EMIT_TEXT, EMIT_PROGRAMS},
};

static void put_definition(const struct frag_part *part)
{
    const struct frag *frag = part->frag;
    char text[200], one[HUMAN_MAX], other[HUMAN_MAX], ratio[HUMAN_MAX];
    snprintf(text, sizeof text, "%s = %s of inactive split / %s reserved",
             human_percent(ratio, frag_split_share(frag)),
             human_bytes(one, frag->causes[FRAG_SPLIT]), human_bytes(other, frag->reserved));
    emit_text(part->emit, text);
    if (frag->free_bytes)
        snprintf(text, sizeof text, "%s = 1 - largest hole of %s / %s free",
                 human_percent(ratio, frag_scattered(frag)), human_bytes(one, frag->largest),
                 human_bytes(other, frag->free_bytes));
    else
        snprintf(text, sizeof text, "nothing is free");
    emit_text(part->emit, text);
}

static void put_frag(const struct frag_part *part)
{
    struct emit *emit = part->emit;
    const struct frag *frag = part->frag;
    char text[INSTANT_TEXT + HUMAN_MAX + 40], time[HUMAN_MAX];
    EMIT_SECTION(emit, "frag", NULL, EMIT_RECORD, frag_columns);
    put_scope(part);
    snprintf(text, sizeof text, "%s (seq %" PRId64 ", %s)", part->instant->label, frag->seq,
             human_ns(time, part->instant->at_ns));
    emit_text(emit, text);
    emit_int(emit, frag->seq);
    emit_int(emit, part->instant->at_ns);
    emit_known(emit, frag->step);
    emit_int(emit, frag->reserved);
    emit_int(emit, frag->causes[FRAG_SPLIT]);
    emit_real(emit, frag_split_share(frag));
    emit_int(emit, frag->free_bytes);
    emit_int(emit, frag->largest);
    emit_real(emit, frag_scattered(frag));
    put_definition(part);
    emit_text(emit, part->instant->label);
}

/* ---- causes ---- */

static const struct emit_column cause_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"bytes", NULL, EMIT_BYTES, 0},
    {"share", NULL, EMIT_RATIO, 0},
    {"cause", "reserved for", EMIT_TEXT, 0},
};

static void put_causes(const struct frag_part *part)
{
    const struct frag *frag = part->frag;
    bool people = part->emit->format == EMIT_TABLE;
    EMIT_SECTION(part->emit, "causes", "Reserved memory by cause", EMIT_ROWS, cause_columns);
    for (int cause = 0; cause < FRAG_CAUSES; cause++) {
        int64_t bytes = frag->causes[cause];
        if (people && !bytes)
            continue;
        put_scope(part);
        emit_int(part->emit, bytes);
        emit_real(part->emit, frag->reserved ? (double)bytes / (double)frag->reserved : 0);
        emit_text(part->emit, frag_cause_text((enum frag_cause)cause));
    }
}

/* ---- segment sizes ---- */

static const struct emit_column size_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"segment_size", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {NULL, "segment size", EMIT_TEXT, EMIT_PEOPLE},
    {"segments", NULL, EMIT_COUNT, 0},
    {"reserved", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"live", NULL, EMIT_BYTES, 0},
    {"waiting", "awaiting", EMIT_BYTES, EMIT_PROGRAMS},
    {"free", NULL, EMIT_BYTES, 0},
    {"holes", NULL, EMIT_COUNT, 0},
    {"largest_hole", "largest hole", EMIT_BYTES, 0},
    {"blocks", NULL, EMIT_COUNT, EMIT_SPARE},
    {"empty", NULL, EMIT_COUNT, EMIT_SPARE},
    {"one_block", "one block", EMIT_COUNT, EMIT_SPARE},
};

static void put_sizes(const struct frag_part *part)
{
    struct emit *emit = part->emit;
    size_t count = part->frag->size_count, n = shown(part, count);
    char text[HUMAN_MAX];
    EMIT_SECTION(emit, "sizes", "By segment size", EMIT_ROWS, size_columns);
    for (size_t i = 0; i < n; i++) {
        const struct frag_size *size = &part->frag->sizes[i];
        put_scope(part);
        emit_known(emit, size->size);
        emit_text(emit, size->size == FRAG_NONE ? "pages" : human_bytes(text, size->size));
        emit_int(emit, size->segments);
        emit_int(emit, size->reserved);
        emit_int(emit, size->live);
        emit_int(emit, size->waiting);
        emit_int(emit, size->free);
        emit_int(emit, size->holes);
        emit_int(emit, size->largest);
        emit_int(emit, size->blocks);
        emit_int(emit, size->empty);
        emit_int(emit, size->sole);
    }
    if (n < count)
        emit_line(emit, "and %s more size%s: --top shows them",
                  human_count(text, (int64_t)(count - n)), count - n == 1 ? "" : "s");
    if (n)
        emit_line(emit, "empty, one block: how many of the segments hold no block, or just one");
}

/* ---- segments ---- */

static const struct emit_column segment_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"size", NULL, EMIT_BYTES, 0},
    {"live", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"waiting", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"free", NULL, EMIT_BYTES, 0},
    {"holes", NULL, EMIT_COUNT, 0},
    {"largest_hole", "largest hole", EMIT_BYTES, EMIT_SPARE},
    {"blocks", NULL, EMIT_COUNT, EMIT_SPARE},
    {NULL, "from its begin to its end", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {"address", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"mapped", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"heap", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"segment", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
};

static void put_segment(const struct frag_part *part, const struct frag_segment *segment, bool utf8)
{
    struct emit *emit = part->emit;
    char picture[FRAG_PICTURE_TEXT];
    put_scope(part);
    emit_int(emit, segment->area.size);
    emit_int(emit, segment->live);
    emit_int(emit, segment->waiting);
    emit_int(emit, segment->free);
    emit_int(emit, segment->holes);
    emit_int(emit, segment->largest);
    emit_int(emit, segment->blocks);
    if (emit->width)
        frag_picture(part->frag, segment, frag_picture_cells(emit->width), utf8, picture);
    emit_text(emit, emit->width ? picture : NULL);
    emit_int(emit, (int64_t)segment->area.address);
    emit_int(emit, segment->area.mapped);
    emit_int(emit, segment->area.heap);
    emit_known(emit, segment->area.mapped ? FRAG_NONE : segment->area.seq);
}

/* People see those in which something is free, unless they are sorted by size. */
static bool has_row(const struct frag_part *part, size_t i)
{
    return part->emit->format != EMIT_TABLE || part->by_size ||
           part->frag->segments[part->order[i]].free > 0;
}

static void put_segments(const struct frag_part *part)
{
    size_t all = part->frag->segment_count, count = 0, put = 0;
    bool utf8 = screen_says_utf8();
    char number[HUMAN_MAX];
    for (size_t i = 0; i < all; i++)
        count += has_row(part, i);
    if (all && !count) {
        emit_heading(part->emit, "Segments");
        emit_line(part->emit, "nothing is free in %s segment%s",
                  all == 1 ? "the one" : human_count(number, (int64_t)all), all == 1 ? "" : "s");
        return;
    }
    EMIT_SECTION(part->emit, "segments", "Segments", EMIT_ROWS, segment_columns);
    for (size_t i = 0; i < all && put < shown(part, count); i++) {
        if (!has_row(part, i))
            continue;
        put_segment(part, &part->frag->segments[part->order[i]], utf8);
        put++;
    }
    if (part->emit->width && put)
        emit_line(part->emit, "%s", frag_picture_legend(utf8));
    if (put < count)
        emit_line(part->emit, "and %s more: --top shows them",
                  human_count(number, (int64_t)(count - put)));
    if (count < all)
        emit_line(part->emit, "and %s in which nothing is free",
                  human_count(number, (int64_t)(all - count)));
}

/* ---- who pins ---- */

static const struct emit_column pin_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"gives", "would free", EMIT_BYTES, 0},
    {"whole_segment", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {NULL, "freed as", EMIT_TEXT, EMIT_PEOPLE},
    {"size", "block size", EMIT_BYTES, 0},
    {"segment_size", "segment size", EMIT_BYTES, EMIT_SPARE},
    {"category", "kind", EMIT_TEXT, EMIT_ABOVE},
    {"age_steps", "age in steps", EMIT_COUNT, EMIT_NONE | EMIT_SPARE},
    {"step", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"phase", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "allocated in", EMIT_TEXT, EMIT_PEOPLE | EMIT_NONE},
    {"site", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "call site", EMIT_TEXT, EMIT_PEOPLE | EMIT_NAME},
    {"site_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"site_short", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"allocation", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"address", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
};

static const char *birth_text(const struct frag_pin *pin)
{
    return pin->between ? PHASE_OTHER : pin->phase;
}

static void put_pin(const struct frag_part *part, const struct frag_pin *pin)
{
    struct emit *emit = part->emit;
    const struct frag *frag = part->frag;
    const struct frag_block *block = pin->block;
    bool aged = frag->step != FRAG_NONE && pin->step != FRAG_NONE;
    put_scope(part);
    emit_int(emit, block->gives);
    emit_int(emit, block->sole);
    emit_text(emit, !block->sole                                 ? "hole"
                    : frag->segments[block->segment].area.mapped ? "pages"
                                                                 : "segment");
    emit_int(emit, block->size);
    emit_int(emit, frag->segments[block->segment].area.size);
    emit_text(emit, purpose_name(block->purpose));
    emit_known(emit, aged ? frag->step - pin->step : FRAG_NONE);
    emit_known(emit, pin->step);
    emit_text(emit, pin->phase);
    emit_text(emit, birth_text(pin));
    emit_text(emit, pin->name);
    emit_text(emit, pin->shown);
    emit_known(emit, block->site);
    emit_text(emit, pin->shown);
    emit_int(emit, block->seq);
    emit_int(emit, (int64_t)block->address);
}

static void put_pins(const struct frag_part *part)
{
    size_t count = part->frag->pin_count, n = shown(part, count);
    char number[HUMAN_MAX];
    if (!count && part->emit->format == EMIT_TABLE)
        return;
    EMIT_SECTION(part->emit, "pins", "Blocks that pin memory", EMIT_ROWS, pin_columns);
    for (size_t i = 0; i < n; i++)
        put_pin(part, &part->frag->pins[i]);
    if (n < count)
        emit_line(part->emit, "and %s more that pin something: --top shows them",
                  human_count(number, (int64_t)(count - n)));
    emit_line(part->emit,
              "freed as a segment: it holds no other block, so the device gets all of it");
}

static const struct emit_column site_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"returns", "segments", EMIT_BYTES, 0},
    {"beside", "holes", EMIT_BYTES, 0},
    {"blocks", NULL, EMIT_COUNT, 0},
    {"bytes", "of blocks", EMIT_BYTES, 0},
    {"category", "kind", EMIT_TEXT, EMIT_ABOVE},
    {"site", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "call site", EMIT_TEXT, EMIT_PEOPLE | EMIT_NAME},
    {"site_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"site_short", NULL, EMIT_TEXT, EMIT_PROGRAMS},
};

void frag_put_sites(const struct frag_part *part, const char *title)
{
    struct emit *emit = part->emit;
    size_t count = part->frag->site_count, n = shown(part, count);
    char number[HUMAN_MAX];
    if (!count && emit->format == EMIT_TABLE)
        return;
    EMIT_SECTION(emit, "sites", title, EMIT_ROWS, site_columns);
    for (size_t i = 0; i < n; i++) {
        const struct frag_site *site = &part->frag->sites[i];
        put_scope(part);
        emit_int(emit, site->returns);
        emit_int(emit, site->beside);
        emit_int(emit, site->blocks);
        emit_int(emit, site->bytes);
        emit_text(emit, purpose_name(site->purpose));
        emit_text(emit, site->name);
        emit_text(emit, site->shown);
        emit_known(emit, site->site);
        emit_text(emit, site->shown);
    }
    if (n < count)
        emit_line(emit, "and %s more call site%s: --top shows them",
                  human_count(number, (int64_t)(count - n)), count - n == 1 ? "" : "s");
    emit_line(emit,
              "segments: bytes of segments with blocks of this call site alone; holes: free bytes "
              "beside its blocks in other segments");
}

static void put_sites(const struct frag_part *part)
{
    frag_put_sites(part, "Pinned by");
}

const struct frag_section frag_sections[FRAG_SECTIONS] = {
    {"frag", frag_columns, COUNT(frag_columns), put_frag},
    {"causes", cause_columns, COUNT(cause_columns), put_causes},
    {"sizes", size_columns, COUNT(size_columns), put_sizes},
    {"segments", segment_columns, COUNT(segment_columns), put_segments},
    {"sites", site_columns, COUNT(site_columns), put_sites},
    {"pins", pin_columns, COUNT(pin_columns), put_pins},
};
