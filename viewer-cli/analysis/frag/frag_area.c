/*
 * Segments are rows. Pages are replayed: the set of what is mapped is an array by address; a range
 * that is mapped takes the place of what was there and joins its neighbours, a range that is taken
 * out cuts what has bytes in it.
 */
#include "frag_area.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "query.h"
#include "search.h"

/* ---- a set of pages ---- */

/* Of the first area that ends behind the address. */
static size_t place_of(const struct areas *pages, uint64_t address)
{
    size_t low;
    SEARCH_FIRST(low, 0, pages->count, area_end(&pages->areas[low]) <= address);
    return low;
}

static void take_out(struct areas *pages, size_t from, size_t count)
{
    if (!count)
        return;
    memmove(pages->areas + from, pages->areas + from + count,
            (pages->count - from - count) * sizeof *pages->areas);
    pages->count -= count;
}

static bool put_in(struct areas *pages, size_t at, const struct area *area)
{
    if (!MEM_GROW(pages->areas, pages->cap, pages->count + 1))
        return false;
    memmove(pages->areas + at + 1, pages->areas + at, (pages->count - at) * sizeof *pages->areas);
    pages->areas[at] = *area;
    pages->count++;
    return true;
}

static void end_at(struct area *area, uint64_t end)
{
    area->size = (int64_t)(end - area->address);
}

bool areas_unmap(struct areas *pages, const struct area *part)
{
    uint64_t begin = part->address, end = area_end(part);
    size_t at = place_of(pages, begin);
    if (at < pages->count && pages->areas[at].address < begin) {
        struct area rest = pages->areas[at];
        uint64_t old_end = area_end(&rest);
        if (old_end > end) { /* its middle goes */
            rest.address = end;
            end_at(&rest, old_end);
            if (!put_in(pages, at + 1, &rest))
                return false;
        }
        end_at(&pages->areas[at++], begin);
    }
    size_t last = at;
    while (last < pages->count && area_end(&pages->areas[last]) <= end)
        last++;
    take_out(pages, at, last - at);
    if (at < pages->count && pages->areas[at].address < end) {
        struct area *rest = &pages->areas[at];
        uint64_t old_end = area_end(rest);
        rest->address = end;
        end_at(rest, old_end);
    }
    return true;
}

static bool touch(const struct area *left, const struct area *right)
{
    return left->heap == right->heap && area_end(left) == right->address;
}

bool areas_map(struct areas *pages, const struct area *part)
{
    if (part->size <= 0)
        return true;
    if (!areas_unmap(pages, part))
        return false;
    size_t at = place_of(pages, part->address);
    if (!put_in(pages, at, part))
        return false;
    if (at + 1 < pages->count && touch(&pages->areas[at], &pages->areas[at + 1])) {
        pages->areas[at].size += pages->areas[at + 1].size;
        if (pages->areas[at + 1].seq < pages->areas[at].seq)
            pages->areas[at].seq = pages->areas[at + 1].seq;
        take_out(pages, at + 1, 1);
    }
    if (at > 0 && touch(&pages->areas[at - 1], &pages->areas[at])) {
        pages->areas[at - 1].size += pages->areas[at].size;
        take_out(pages, at, 1);
    }
    return true;
}

/* ---- reading ---- */

static const char known_sql[] =
    "WITH mine(id) AS (SELECT id FROM heap WHERE process = ?1 AND device = ?2)"
    "SELECT EXISTS (SELECT 1 FROM segment WHERE heap IN mine)"
    "    OR EXISTS (SELECT 1 FROM mapping WHERE heap IN mine) AS known";

static const char segments_sql[] =
    "SELECT seq, heap, address, size, 1 AS mapped FROM segment"
    " WHERE heap IN (SELECT id FROM heap WHERE process = ?1 AND device = ?2)"
    "   AND seq <= ?3 AND (free_seq IS NULL OR free_seq > ?3) AND size > 0";

static const char pages_sql[] =
    "SELECT seq, heap, address, size, mapped FROM mapping"
    " WHERE heap IN (SELECT id FROM heap WHERE process = ?1 AND device = ?2)"
    "   AND seq <= ?3 AND size > 0 ORDER BY seq, rowid";

static bool take_segment(struct areas *areas, const struct area *area, bool mapped)
{
    (void)mapped;
    return put_in(areas, areas->count, area);
}

static bool take_pages(struct areas *pages, const struct area *area, bool mapped)
{
    struct area part = *area;
    part.mapped = true;
    return mapped ? areas_map(pages, &part) : areas_unmap(pages, &part);
}

static int read_rows(struct db *db, const char *sql, const int64_t place[3], struct areas *into,
                     bool (*take)(struct areas *into, const struct area *area, bool mapped))
{
    struct area area = {0};
    bool mapped;
    struct query query = query_ask(db, sql, Q_IN(place[0], place[1], place[2]),
                                   Q_OUT(Q_INT(area.seq), Q_INT(area.heap), Q_ANY(area.address),
                                         Q_SIZE(area.size), Q_INT(mapped)));
    while (query_next(&query)) {
        if ((uint64_t)area.size > UINT64_MAX - area.address) /* nothing ends behind the last byte */
            area.size = (int64_t)(UINT64_MAX - area.address);
        if (area.size > 0 && !take(into, &area, mapped))
            query_fail(&query, ERR_NOMEM);
    }
    return query_end(&query);
}

static int by_address(const void *one, const void *other)
{
    const struct area *a = one, *b = other;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

int areas_read(struct db *db, int64_t process, int64_t device, int64_t seq, struct areas *out)
{
    const int64_t place[3] = {process, device, seq};
    struct areas pages = {0};
    *out = (struct areas){0};
    int err = query_read(db, known_sql, Q_IN(process, device), Q_OUT(Q_INT(out->known)));
    if (err == 0 && out->known)
        err = read_rows(db, segments_sql, place, out, take_segment);
    if (err == 0 && out->known)
        err = read_rows(db, pages_sql, place, &pages, take_pages);
    for (size_t i = 0; i < pages.count && err == 0; i++)
        err = put_in(out, out->count, &pages.areas[i]) ? 0 : ERR_NOMEM;
    areas_clear(&pages);
    if (out->count)
        qsort(out->areas, out->count, sizeof *out->areas, by_address);
    return err;
}

void areas_clear(struct areas *areas)
{
    mem_free(areas->areas);
    *areas = (struct areas){0};
}

bool areas_is_valid(const struct areas *areas)
{
    const struct area *pages = NULL;
    for (size_t i = 0; i < areas->count; i++) {
        const struct area *area = &areas->areas[i];
        if (area->size <= 0 || (i && area->address < areas->areas[i - 1].address))
            return false;
        if (area->mapped && pages && (area_end(pages) > area->address || touch(pages, area)))
            return false;
        pages = area->mapped ? area : pages;
    }
    return true;
}
