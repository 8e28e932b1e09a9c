#include "why.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "error.h"
#include "group.h"
#include "living.h"
#include "mem.h"
#include "query.h"
#include "site_apart.h"

int64_t why_change(const struct why_group *group)
{
    return group->after_bytes - group->before_bytes;
}

const char *why_blocks_text(char text[WHY_BLOCKS_TEXT], const struct why_group *group)
{
    if (group->before_blocks == group->after_blocks)
        snprintf(text, WHY_BLOCKS_TEXT, "%" PRId64, group->after_blocks);
    else
        snprintf(text, WHY_BLOCKS_TEXT, "%" PRId64 " to %" PRId64, group->before_blocks,
                 group->after_blocks);
    return text;
}

int64_t why_change_of(const struct why *why, enum purpose purpose)
{
    for (size_t i = 0; i < why->category_count; i++)
        if (why->categories[i].purpose == purpose)
            return why_change(&why->categories[i]);
    return 0;
}

/* ---- the blocks ---- */

struct gather {
    struct why *why;
    const struct module_index *modules; /* NULL: nobody asks */
    bool after;
};

/* Sites are numbers of 32 bits; the absent one is 0, which none has. */
static uint64_t key_of(enum purpose purpose, int64_t site)
{
    return (uint64_t)purpose << 40 | (site == GROUP_NONE ? 0 : (uint64_t)site + 1);
}

static struct why_group *group_of(struct why *why, enum purpose purpose, int64_t site)
{
    uint64_t key = key_of(purpose, site), place = map_get(&why->index, key);
    if (place != MAP_NONE)
        return &why->groups[place];
    if (!MEM_GROW(why->groups, why->group_cap, why->group_count + 1) ||
        !map_put(&why->index, key, why->group_count, NULL))
        return NULL;
    struct why_group *group = &why->groups[why->group_count++];
    *group = (struct why_group){.purpose = purpose, .site = site};
    return group;
}

static void add(struct why_group *group, bool after, int64_t size)
{
    *(after ? &group->after_bytes : &group->before_bytes) += size;
    *(after ? &group->after_blocks : &group->before_blocks) += 1;
}

static bool add_block(void *self, const struct living_block *block)
{
    const struct gather *gather = self;
    struct why *why = gather->why;
    struct why_group *group = group_of(why, block->purpose, block->site);
    if (!group)
        return false;
    add(group, gather->after, block->size);
    if (gather->modules)
        module_label_add(&group->modules, module_index_of(gather->modules, block), block->size);
    add(&why->categories[block->purpose], gather->after, block->size);
    *(gather->after ? &why->after_bytes : &why->before_bytes) += block->size;
    return true;
}

static int64_t magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

/* Largest change first; of equals the larger one after, then the lower site. */
static int by_change(const void *one, const void *other)
{
    const struct why_group *a = one, *b = other;
    int64_t first = magnitude(why_change(a)), second = magnitude(why_change(b));
    if (first != second)
        return first < second ? 1 : -1;
    if (a->after_bytes != b->after_bytes)
        return a->after_bytes < b->after_bytes ? 1 : -1;
    if (a->purpose != b->purpose)
        return a->purpose < b->purpose ? -1 : 1;
    return a->site < b->site ? -1 : a->site > b->site;
}

/* While blocks are added, a category's place is its number. */
static void begin_categories(struct why *why)
{
    for (int i = 0; i < PURPOSES; i++)
        why->categories[i] = (struct why_group){.purpose = (enum purpose)i, .site = GROUP_NONE};
}

static void sort_groups(struct why *why)
{
    for (size_t i = 0; i < PURPOSES; i++)
        if (why->categories[i].before_blocks || why->categories[i].after_blocks)
            why->categories[why->category_count++] = why->categories[i];
    qsort(why->categories, why->category_count, sizeof *why->categories, by_change);
    if (why->group_count)
        qsort(why->groups, why->group_count, sizeof *why->groups, by_change);
}

static int name_groups(struct db *db, struct why *why, size_t named)
{
    int err = 0;
    for (size_t i = 0; i < why->group_count && i < named && err == 0; i++)
        err = site_names(db, why->groups[i].site, &why->groups[i].name, &why->groups[i].shown);
    for (size_t i = 0; i < why->group_count && i < named && err == 0; i++) {
        bool full;
        why->groups[i].module = module_label_text(&why->groups[i].modules, &full);
        err = full ? 0 : ERR_NOMEM;
    }
    return err;
}

/* ---- the segments ---- */

/* Segments that are there at either, and pages that were mapped or taken out up to the later one:
 * pages count by what the bytes came to. */
static const char segments_sql[] =
    "WITH mine(id) AS (SELECT id FROM heap WHERE process = ?1 AND device = ?2),"
    " parts(size, before, after) AS ("
    "  SELECT size, seq <= ?3 AND (free_seq IS NULL OR free_seq > ?3),"
    "         seq <= ?4 AND (free_seq IS NULL OR free_seq > ?4)"
    "    FROM segment WHERE heap IN mine"
    "  UNION ALL"
    "  SELECT size, (seq <= ?3) * (2 * mapped - 1), (seq <= ?4) * (2 * mapped - 1)"
    "    FROM mapping WHERE heap IN mine)"
    "SELECT size, sum(before) AS before, sum(after) AS after,"
    "  sum(size * before) AS before_bytes, sum(size * after) AS after_bytes FROM parts p"
    " GROUP BY size ORDER BY abs(size * (sum(p.after) - sum(p.before))) DESC, size DESC";

static int read_segments(struct db *db, int64_t process, int64_t device, struct why *out)
{
    struct why_segments part;
    int64_t before_bytes, after_bytes;
    struct query query =
        query_ask(db, segments_sql, Q_IN(process, device, out->before.seq, out->after.seq),
                  Q_OUT(Q_INT(part.size), Q_INT(part.before), Q_INT(part.after),
                        Q_INT(before_bytes), Q_INT(after_bytes)));
    while (query_next(&query)) {
        out->segments_known = true;
        out->before_reserved += before_bytes;
        out->after_reserved += after_bytes;
        if (part.before == part.after)
            continue;
        if (MEM_GROW(out->segments, out->segment_cap, out->segment_count + 1))
            out->segments[out->segment_count++] = part;
        else
            query_fail(&query, ERR_NOMEM);
    }
    return query_end(&query);
}

/* The groups are whole: in their order, and the first ones with their names. */
static int finish(struct db *db, size_t named, struct why *out)
{
    map_clear(&out->index);
    sort_groups(out);
    int err = name_groups(db, out, named);
    for (size_t i = 0; i < out->group_count; i++) /* it points into the index */
        out->groups[i].modules = (struct module_label){0};
    return err;
}

static int read_blocks(struct db *db, int64_t process, int64_t device, struct why *out,
                       const struct module_index *modules)
{
    struct gather first = {out, modules, false}, second = {out, modules, true};
    int err = living_read(db, process, device, out->before.seq, add_block, &first);
    return err < 0 ? err : living_read(db, process, device, out->after.seq, add_block, &second);
}

int why_read(struct db *db, int64_t process, int64_t device, const struct instant *before,
             const struct instant *after, size_t named, struct why *out)
{
    *out = (struct why){.before = *before, .after = *after};
    struct module_index modules;
    begin_categories(out);
    int err = module_index_read(db, &modules);
    if (err == 0)
        err = read_blocks(db, process, device, out, &modules);
    if (err == 0)
        err = finish(db, named, out);
    module_index_clear(&modules);
    if (err == 0)
        err = read_segments(db, process, device, out);
    return err;
}

int why_read_changes(struct db *db, int64_t process, int64_t device, const struct instant *before,
                     const struct instant *after, size_t named, struct why *out)
{
    *out = (struct why){.before = *before, .after = *after};
    struct gather first = {.why = out}, second = {.why = out, .after = true};
    begin_categories(out);
    int err = living_read_unlike(db, process, device, before->seq, after->seq, add_block, &first);
    if (err == 0)
        err = living_read_unlike(db, process, device, after->seq, before->seq, add_block, &second);
    return err < 0 ? err : finish(db, named, out);
}

int why_tell_apart(struct db *db, struct why *why, size_t most)
{
    size_t count = why->group_count < most ? why->group_count : most;
    struct site_row *rows = mem_alloc(count + 1, sizeof *rows);
    for (size_t i = 0; i < count && rows; i++) {
        struct why_group *group = &why->groups[i];
        rows[i] = (struct site_row){group->site, (int)group->purpose, &group->shown};
    }
    int err = rows ? sites_tell_apart(db, rows, count) : ERR_NOMEM;
    mem_free(rows);
    return err;
}

void why_clear(struct why *why)
{
    for (size_t i = 0; i < why->group_count; i++) {
        mem_free(why->groups[i].name);
        mem_free(why->groups[i].shown);
        mem_free(why->groups[i].module);
    }
    mem_free(why->groups);
    mem_free(why->segments);
    map_clear(&why->index);
    *why = (struct why){0};
}

static bool add_up(const struct why_group *groups, size_t count, const struct why *why)
{
    int64_t before = 0, after = 0;
    for (size_t i = 0; i < count; i++) {
        before += groups[i].before_bytes;
        after += groups[i].after_bytes;
        if (i && magnitude(why_change(&groups[i])) > magnitude(why_change(&groups[i - 1])))
            return false;
    }
    return before == why->before_bytes && after == why->after_bytes;
}

bool why_is_valid(const struct why *why)
{
    int64_t change = 0;
    for (size_t i = 0; i < why->segment_count; i++)
        change += why->segments[i].size * (why->segments[i].after - why->segments[i].before);
    return add_up(why->groups, why->group_count, why) &&
           add_up(why->categories, why->category_count, why) &&
           change == why->after_reserved - why->before_reserved;
}
