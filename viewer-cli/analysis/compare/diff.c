/*
 * Each side's living blocks are gathered by category and site, numbers that mean something only in
 * their own database. Then every piece gets its text, the pieces of both sides are sorted by
 * category and text, and equal neighbours are one group.
 */
#include "diff.h"
#include "diff_renamed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "living.h"
#include "map.h"
#include "mem.h"
#include "peak.h"
#include "query.h"

const char *diff_category(const struct diff_group *group)
{
    return group->purpose == DIFF_UNATTRIBUTED ? "unattributed" : purpose_name(group->purpose);
}

int64_t diff_change(const struct diff_group *group)
{
    return group->bytes[DIFF_B] - group->bytes[DIFF_A];
}

const char *diff_group_shown(const struct diff_group *group)
{
    int side = group->blocks[DIFF_B] ? DIFF_B : DIFF_A;
    return group->several[side] || !group->shown[side] ? group->text : group->shown[side];
}

/* ---- the moments ---- */

static int highest(struct diff_side *side, const struct diff_moment *moment, struct instant *out)
{
    struct peak peak;
    int err = peak_find(side->db, side->process, side->device, moment->first_step,
                        moment->last_step, &peak);
    err = instant_of_peak(&peak, err, out);
    peak_clear(&peak);
    return err;
}

int diff_find_highest(struct diff_side *side, int64_t last, struct instant *out)
{
    struct peak peak;
    int err = peak_find_until(side->db, side->process, side->device, last, &peak);
    err = instant_of_peak(&peak, err, out);
    peak_clear(&peak);
    side->err = err == ERR_NOTFOUND ? 0 : err;
    return err;
}

int diff_find_moment(struct diff_side *side, const struct diff_moment *moment, struct instant *out)
{
    int err = moment->name ? instant_find(side->db, side->process, side->device, moment->name, out)
                           : highest(side, moment, out);
    side->err = err == ERR_NOTFOUND ? 0 : err;
    return err;
}

/* ---- the blocks of one side ---- */

struct piece { /* of one purpose and site */
    enum purpose purpose;
    int64_t site;
    int side;
    int64_t bytes, blocks;
    char *text, *shown;
};

struct gather {
    struct diff *diff;
    int side;
    struct map index; /* category and site to place, for one side */
    struct piece *pieces;
    size_t count, cap;
};

/* Sites are numbers of 32 bits; the absent one is 0, which none has. */
static uint64_t key_of(enum purpose purpose, int64_t site)
{
    return (uint64_t)purpose << 40 | (site == GROUP_NONE ? 0 : (uint64_t)site + 1);
}

static struct piece *new_piece(struct gather *gather, enum purpose purpose, int64_t site)
{
    if (!MEM_GROW(gather->pieces, gather->cap, gather->count + 1))
        return NULL;
    struct piece *piece = &gather->pieces[gather->count++];
    *piece = (struct piece){.purpose = purpose, .site = site, .side = gather->side};
    return piece;
}

static bool add_block(void *self, const struct living_block *block)
{
    struct gather *gather = self;
    struct piece *piece;
    uint64_t key = key_of(block->purpose, block->site), place = map_get(&gather->index, key);
    if (place != MAP_NONE)
        piece = &gather->pieces[place];
    else if (!map_put(&gather->index, key, gather->count, NULL) ||
             !(piece = new_piece(gather, block->purpose, block->site)))
        return false;
    piece->bytes += block->size;
    piece->blocks++;
    gather->diff->living[gather->side] += block->size;
    return true;
}

/* The frame of a site at a depth, without its line. Not a WITH that both depths share: SQLite would
 * make the texts of all frames anew for each site. */
#define PLAIN_AT(depth)                                                                            \
    "(SELECT coalesce(fn.text, '?') || CASE WHEN fi.text IS NULL THEN '' ELSE ' (' ||"             \
    "   substr(fi.text, length(rtrim(fi.text, replace(fi.text, '/', ''))) + 1) || ')' END"         \
    "   FROM site s JOIN frame f ON f.id = s.frame LEFT JOIN string fn ON fn.id = f.function"      \
    "   LEFT JOIN string fi ON fi.id = f.file WHERE s.site = sh.site AND s.depth = " depth ")"

/* As view site_short, and the same without lines. */
static const char text_sql[] = "SELECT sh.text AS shown, CASE WHEN sh.own_depth > 0 THEN" PLAIN_AT(
    "sh.own_depth") " || ' > ' ELSE '' END ||" PLAIN_AT("0") " AS text FROM site_short sh WHERE "
                                                             "sh.site = ?1";

static int read_texts(struct db *db, struct piece *pieces, size_t count)
{
    int err = 0;
    for (size_t i = 0; i < count && err == 0; i++)
        if (pieces[i].site != GROUP_NONE)
            err = query_read(db, text_sql, Q_IN(pieces[i].site),
                             Q_OUT(Q_COPY(pieces[i].shown), Q_COPY(pieces[i].text)));
    return err;
}

/* So that those of B match those of A. */
static int rename_texts(const struct diff *diff, struct piece *pieces, size_t count)
{
    for (size_t i = 0; i < count && diff->renamed[DIFF_A]; i++)
        if (pieces[i].side == DIFF_B && pieces[i].text &&
            !diff_rename(diff->renamed, &pieces[i].text))
            return ERR_NOMEM;
    return 0;
}

/* What the total counts and no block explains. */
static bool add_unattributed(struct gather *gather)
{
    struct diff *diff = gather->diff;
    int64_t rest = diff->allocated[gather->side] - diff->living[gather->side];
    if (rest == 0)
        return true;
    struct piece *piece = new_piece(gather, DIFF_UNATTRIBUTED, GROUP_NONE);
    if (piece)
        piece->bytes = rest;
    return piece != NULL;
}

static int read_side(struct diff_side *side, struct gather *gather)
{
    struct diff *diff = gather->diff;
    const struct instant *moment = &diff->moments[gather->side];
    size_t first = gather->count;
    int err = living_read(side->db, side->process, side->device, moment->seq, add_block, gather);
    map_clear(&gather->index);
    if (err == 0 && gather->count > first)
        err = read_texts(side->db, gather->pieces + first, gather->count - first);
    side->err = err;
    diff->allocated[gather->side] =
        moment->allocated == INSTANT_NONE ? diff->living[gather->side] : moment->allocated;
    return err < 0 ? err : add_unattributed(gather) ? 0 : ERR_NOMEM;
}

/* ---- the groups of both ---- */

static int compare_texts(const char *a, const char *b)
{
    if (!a || !b)
        return !b - !a;
    return strcmp(a, b);
}

/* Pieces of one group stand together; of its sides the larger pieces come first. */
static int by_text(const void *one, const void *other)
{
    const struct piece *a = one, *b = other;
    if (a->purpose != b->purpose)
        return a->purpose < b->purpose ? -1 : 1;
    int order = compare_texts(a->text, b->text);
    if (order)
        return order;
    if (a->side != b->side)
        return a->side < b->side ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return a->site < b->site ? -1 : a->site > b->site;
}

static int64_t magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

static int by_change(const void *one, const void *other)
{
    const struct diff_group *a = one, *b = other;
    int64_t first = magnitude(diff_change(a)), second = magnitude(diff_change(b));
    if (first != second)
        return first < second ? 1 : -1;
    if (a->bytes[DIFF_B] != b->bytes[DIFF_B])
        return a->bytes[DIFF_B] < b->bytes[DIFF_B] ? 1 : -1;
    int order = strcmp(diff_category(a), diff_category(b));
    return order ? order : compare_texts(a->text, b->text);
}

static struct diff_group *new_group(struct diff_group **groups, size_t *count, size_t *cap,
                                    enum purpose purpose)
{
    if (!MEM_GROW(*groups, *cap, *count + 1))
        return NULL;
    struct diff_group *group = &(*groups)[(*count)++];
    *group = (struct diff_group){.purpose = purpose, .site = {GROUP_NONE, GROUP_NONE}};
    return group;
}

static void add_piece(struct diff_group *group, const struct piece *piece)
{
    group->bytes[piece->side] += piece->bytes;
    group->blocks[piece->side] += piece->blocks;
}

/* Its texts go over into the group, or away. */
static void take_piece(struct diff_group *group, struct piece *piece)
{
    int side = piece->side;
    add_piece(group, piece);
    if (!group->text) {
        group->text = piece->text;
        piece->text = NULL;
    }
    if (!group->shown[side]) {
        group->shown[side] = piece->shown;
        group->site[side] = piece->site;
        piece->shown = NULL;
    } else if (piece->shown && strcmp(piece->shown, group->shown[side]) != 0) {
        group->several[side] = true;
    }
}

/* The pieces come by category and text. */
static int make_groups(struct diff *diff, struct piece *pieces, size_t count)
{
    struct diff_group *group = NULL, *category = NULL;
    for (size_t i = 0; i < count; i++) {
        enum purpose purpose = pieces[i].purpose;
        bool new_category = !category || category->purpose != purpose;
        if (new_category && !(category = new_group(&diff->categories, &diff->category_count,
                                                   &diff->category_cap, purpose)))
            return ERR_NOMEM;
        if (new_category || compare_texts(group->text, pieces[i].text) != 0)
            group = new_group(&diff->groups, &diff->group_count, &diff->group_cap, purpose);
        if (!group)
            return ERR_NOMEM;
        add_piece(category, &pieces[i]);
        take_piece(group, &pieces[i]);
    }
    if (count) {
        qsort(diff->groups, diff->group_count, sizeof *diff->groups, by_change);
        qsort(diff->categories, diff->category_count, sizeof *diff->categories, by_change);
    }
    return 0;
}

int diff_read(struct diff_side sides[DIFF_SIDES], const struct instant moments[DIFF_SIDES],
              struct diff *out)
{
    struct gather gather = {.diff = out};
    *out = (struct diff){.moments = {moments[DIFF_A], moments[DIFF_B]}};
    int err = diff_find_renamed(sides, out->renamed);
    for (int side = 0; side < DIFF_SIDES && err == 0; side++) {
        gather.side = side;
        err = read_side(&sides[side], &gather);
    }
    if (err == 0)
        err = rename_texts(out, gather.pieces, gather.count);
    if (err == 0 && gather.count)
        qsort(gather.pieces, gather.count, sizeof *gather.pieces, by_text);
    if (err == 0)
        err = make_groups(out, gather.pieces, gather.count);
    for (size_t i = 0; i < gather.count; i++) {
        mem_free(gather.pieces[i].text);
        mem_free(gather.pieces[i].shown);
    }
    mem_free(gather.pieces);
    map_clear(&gather.index);
    return err;
}

static void clear_groups(struct diff_group *groups, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mem_free(groups[i].text);
        mem_free(groups[i].shown[DIFF_A]);
        mem_free(groups[i].shown[DIFF_B]);
    }
    mem_free(groups);
}

void diff_clear(struct diff *diff)
{
    clear_groups(diff->groups, diff->group_count);
    clear_groups(diff->categories, diff->category_count);
    for (int side = 0; side < DIFF_SIDES; side++)
        mem_free(diff->renamed[side]);
    *diff = (struct diff){0};
}

static bool add_up(const struct diff_group *groups, size_t count, const struct diff *diff)
{
    int64_t sums[DIFF_SIDES] = {0, 0};
    for (size_t i = 0; i < count; i++) {
        for (int side = 0; side < DIFF_SIDES; side++)
            sums[side] += groups[i].bytes[side];
        if (i && by_change(&groups[i - 1], &groups[i]) >= 0)
            return false;
    }
    return sums[DIFF_A] == diff->allocated[DIFF_A] && sums[DIFF_B] == diff->allocated[DIFF_B];
}

bool diff_is_valid(const struct diff *diff)
{
    return add_up(diff->groups, diff->group_count, diff) &&
           add_up(diff->categories, diff->category_count, diff);
}
