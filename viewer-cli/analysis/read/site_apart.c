#include "site_apart.h"

#include <stdbool.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "group.h"
#include "mem.h"
#include "query.h"

struct frame {
    char *text, *full; /* as views frame_short and frame_text */
};

struct way { /* the stack of a row whose name is alike with another's */
    const struct site_row *row;
    struct frame *frames; /* innermost first */
    size_t count, cap;
    size_t own;   /* depth of the program's own frame; 0 = it is the innermost, or there is none */
    char *marked; /* by depth: 0, or how it stands in the name: as a short or as a full text */
    bool done;    /* belongs to a set that was looked at */
};
enum { SHORT = 1, FULL };

static bool is_same(const char *one, const char *other)
{
    return one == other || (one && other && strcmp(one, other) == 0);
}

static bool is_alike(const struct site_row *a, const struct site_row *b)
{
    return a->site != GROUP_NONE && b->site != GROUP_NONE && *a->shown && *b->shown &&
           strcmp(*a->shown, *b->shown) == 0 && a->beside == b->beside;
}

/* ---- the stacks ---- */

static const char stack_sql[] =
    "SELECT f.text, t.text AS full, o.own_depth FROM site s JOIN frame_short f ON f.id = s.frame"
    "  JOIN frame_text t ON t.id = s.frame JOIN site_short o ON o.site = s.site"
    " WHERE s.site = ?1 ORDER BY s.depth";

static int read_way(struct db *db, struct way *way)
{
    struct frame frame;
    int64_t own_depth;
    struct query query = query_ask(db, stack_sql, Q_IN(way->row->site),
                                   Q_OUT(Q_COPY(frame.text), Q_COPY(frame.full), Q_OPT(own_depth)));
    while (query_next(&query)) {
        if (!MEM_GROW(way->frames, way->cap, way->count + 1)) {
            mem_free(frame.text);
            mem_free(frame.full);
            query_fail(&query, ERR_NOMEM);
            break;
        }
        way->frames[way->count++] = frame;
        way->own = own_depth < 0 ? 0 : (size_t)own_depth;
    }
    way->marked = mem_alloc(way->count + 1, 1);
    int err = query_end(&query);
    return err < 0 ? err : way->marked ? 0 : ERR_NOMEM;
}

static void clear_ways(struct way *ways, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < ways[i].count; k++) {
            mem_free(ways[i].frames[k].text);
            mem_free(ways[i].frames[k].full);
        }
        mem_free(ways[i].frames);
        mem_free(ways[i].marked);
    }
    mem_free(ways);
}

/* ---- what differs ---- */

static const char *text_at(const struct way *way, size_t depth, int which)
{
    if (depth >= way->count)
        return NULL;
    return which == FULL ? way->frames[depth].full : way->frames[depth].text;
}

static bool differs_at(struct way *const *set, size_t count, size_t depth, int which)
{
    for (size_t i = 1; i < count; i++)
        if (!is_same(text_at(set[0], depth, which), text_at(set[i], depth, which)))
            return true;
    return false;
}

/* The innermost frame in which they are not all the same; SIZE_MAX: they are one. */
static size_t find_depth(struct way *const *set, size_t count, size_t from)
{
    size_t deepest = 0;
    for (size_t i = 0; i < count; i++)
        deepest = set[i]->count > deepest ? set[i]->count : deepest;
    for (size_t depth = from; depth < deepest; depth++)
        if (differs_at(set, count, depth, FULL))
            return depth;
    return SIZE_MAX;
}

/* Marks the frame that differs, then goes on with those that are alike in that one, too: in what
 * their texts in full have more, or further out. `set` is put in another order. */
static void mark(struct way **set, size_t count, size_t from)
{
    size_t depth = count > 1 ? find_depth(set, count, from) : SIZE_MAX;
    if (depth == SIZE_MAX)
        return;
    int which = differs_at(set, count, depth, SHORT) ? SHORT : FULL;
    for (size_t i = 0; i < count; i++)
        if (depth < set[i]->count)
            set[i]->marked[depth] = (char)which;
    while (count > 0) {
        size_t same = 1;
        for (size_t i = 1; i < count; i++) {
            if (!is_same(text_at(set[0], depth, which), text_at(set[i], depth, which)))
                continue;
            struct way *swapped = set[same];
            set[same++] = set[i];
            set[i] = swapped;
        }
        mark(set, same, which == FULL ? depth + 1 : depth);
        set += same;
        count -= same;
    }
}

/* Outermost first, as people read it. */
static int rename_row(const struct way *way)
{
    struct buf name = {0};
    for (size_t depth = way->count; depth-- > 0;) {
        int which = way->marked[depth]                ? way->marked[depth]
                    : depth == 0 || depth == way->own ? SHORT
                                                      : 0;
        if (which)
            buf_print(&name, "%s%s", name.count ? " > " : "", text_at(way, depth, which));
    }
    char *copy = name.broken ? NULL : mem_copy(buf_string(&name), name.count);
    buf_clear(&name);
    if (!copy)
        return ERR_NOMEM;
    mem_free(*way->row->shown);
    *way->row->shown = copy;
    return 0;
}

static int tell(struct way *ways, size_t count, struct way **set)
{
    int err = 0;
    for (size_t i = 0; i < count; i++) {
        size_t alike = 0;
        for (size_t k = i; k < count; k++)
            if (!ways[k].done && is_alike(ways[i].row, ways[k].row)) {
                ways[k].done = true;
                set[alike++] = &ways[k];
            }
        mark(set, alike, 0);
    }
    for (size_t i = 0; i < count && err == 0; i++)
        err = rename_row(&ways[i]);
    return err;
}

int sites_tell_apart(struct db *db, const struct site_row *rows, size_t count)
{
    struct way *ways = mem_alloc(count + 1, sizeof *ways);
    struct way **set = mem_alloc(count + 1, sizeof *set);
    size_t found = 0;
    int err = ways && set ? 0 : ERR_NOMEM;
    for (size_t i = 0; i < count && err == 0; i++) {
        bool alike = false;
        for (size_t k = 0; k < count && !alike; k++)
            alike = rows[k].site != rows[i].site && is_alike(&rows[i], &rows[k]);
        if (!alike)
            continue;
        ways[found].row = &rows[i];
        err = read_way(db, &ways[found++]);
    }
    if (err == 0 && found)
        err = tell(ways, found, set);
    clear_ways(ways, ways ? found : 0);
    mem_free(set);
    return err;
}
