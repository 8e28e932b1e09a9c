#include "heap_event.h"

#include <stdbool.h>

#include "category.h"
#include "error.h"
#include "mem.h"
#include "pqueue.h"
#include "query.h"
#include "span.h"

static const char blocks_sql[] =
    "SELECT a.seq, a.heap, a.address, a.size, a.requested, a.alloc_ns, a.life_ns, a.free_seq,"
    "  a.site, a.tag, ap.phase AS born, i.seq AS idle_seq, i.at_ns AS idle_ns"
    "  FROM allocation a LEFT JOIN allocation_phase ap ON ap.allocation = a.seq"
    "  LEFT JOIN idle i ON i.allocation = a.seq"
    " WHERE a.heap IN (SELECT id FROM heap WHERE process = ?1 AND device = ?2)"
    "   AND" SPAN_HAS("a.seq") " AND a.seq <= ?3 ORDER BY a.seq";

/* `kind` are those of enum heap_event_kind. */
static const char others_sql[] =
    "SELECT seq, kind, at_ns, heap, address, size, site FROM ("
    "SELECT free_seq AS seq, 1 AS kind, alloc_ns + life_ns AS at_ns, heap, address, size,"
    "  site, 0 AS n FROM segment WHERE free_seq IS NOT NULL"
    " UNION ALL "
    "SELECT seq, CASE WHEN mapped THEN 3 ELSE 2 END, at_ns, heap, address, size, NULL, rowid"
    "  FROM mapping"
    " UNION ALL "
    "SELECT seq, 4, alloc_ns, heap, address, size, site, 0 FROM segment)"
    " WHERE heap IN (SELECT id FROM heap WHERE process = ?1 AND device = ?2) AND seq <= ?3"
    " UNION ALL "
    "SELECT seq, 5, at_ns, NULL, 0, asked, site FROM oom"
    "  WHERE process = ?1 AND device = ?2 AND seq <= ?3"
    " ORDER BY 1, 2";

/* Invariant: `items` is a heap by is_before (pqueue.h); `other` is the next row of `others` if
 * `has_other`. */
struct walk {
    int (*see)(void *self, const struct heap_event *event);
    void *self;
    struct category_rules *rules;
    struct query others;
    bool has_other;
    struct heap_event other;
    int64_t kind; /* of `other`, as a number */
    struct heap_event *items;
    size_t count, cap;
    int64_t until;
};

static bool is_before(const struct heap_event *a, const struct heap_event *b)
{
    return a->seq != b->seq ? a->seq < b->seq : a->kind < b->kind;
}

static int await(struct walk *walk, const struct heap_event *event)
{
    if (!MEM_GROW(walk->items, walk->cap, walk->count + 1))
        return ERR_NOMEM;
    walk->items[walk->count] = *event;
    PQUEUE_RISE(walk->items, walk->count, is_before);
    walk->count++;
    return 0;
}

static struct heap_event take_first(struct walk *walk)
{
    struct heap_event first = walk->items[0];
    walk->items[0] = walk->items[--walk->count];
    PQUEUE_SINK(walk->items, 0, walk->count, is_before);
    return first;
}

static int next_other(struct walk *walk)
{
    walk->has_other = query_next(&walk->others);
    if (walk->has_other)
        walk->other.kind = (enum heap_event_kind)walk->kind;
    return walk->others.err < 0 ? walk->others.err : 0;
}

/* All that comes before `event`; NULL: all there is. */
static int see_before(struct walk *walk, const struct heap_event *event)
{
    int err = 0;
    while (err >= 0) {
        bool waits = walk->count && (!event || is_before(&walk->items[0], event));
        bool others = walk->has_other && (!event || is_before(&walk->other, event));
        if (!waits && !others)
            break;
        if (waits && (!others || !is_before(&walk->other, &walk->items[0]))) {
            struct heap_event first = take_first(walk);
            err = walk->see(walk->self, &first);
        } else {
            err = walk->see(walk->self, &walk->other);
            if (err >= 0)
                err = next_other(walk);
        }
    }
    return err;
}

struct row {
    struct category_block of;
    int64_t requested, life_ns, idle_seq, idle_ns;
};

/* A free that waited for no stream is completed by the same event: right behind it, before whatever
 * has the next number. */
static int await_end(struct walk *walk, struct heap_event event, const struct row *row)
{
    int64_t free_seq = row->of.free_seq;
    bool waits = row->idle_seq != QUERY_NONE && row->idle_seq > free_seq;
    event.kind = HEAP_FREE_REQUESTED;
    event.seq = free_seq;
    event.at_ns += row->life_ns;
    if (free_seq > walk->until)
        return 0;
    int err = await(walk, &event);
    if (err < 0 || (waits && row->idle_seq > walk->until))
        return err;
    event.kind = HEAP_FREE_COMPLETED;
    event.seq = waits ? row->idle_seq : free_seq + 1;
    event.at_ns = waits ? row->idle_ns : event.at_ns;
    return await(walk, &event);
}

static int see_block(struct walk *walk, struct heap_event *event, const struct row *row)
{
    struct category_verdict verdict;
    bool ends = row->of.free_seq > event->seq;
    event->kind = HEAP_ALLOC;
    if (row->requested != QUERY_NONE)
        event->size = row->requested;
    event->freed_at = ends ? row->of.free_seq : HEAP_EVENT_NONE;
    int err = see_before(walk, event);
    if (err >= 0)
        err = category_decide(walk->rules, &row->of, &verdict);
    if (err < 0)
        return err;
    event->purpose = verdict.purpose;
    err = walk->see(walk->self, event);
    return err < 0 || !ends ? err : await_end(walk, *event, row);
}

static int see_blocks(struct walk *walk, struct db *db, int64_t process, int64_t device)
{
    struct heap_event event = {0};
    struct row row;
    int64_t size, born, alloc_ns;
    struct query query =
        query_ask(db, blocks_sql, Q_IN(process, device, walk->until),
                  Q_OUT(Q_INT(event.seq), Q_INT(event.heap), Q_ANY(event.address), Q_SIZE(size),
                        Q_OPT(row.requested), Q_INT(alloc_ns), Q_INT(row.life_ns),
                        Q_INT(row.of.free_seq), Q_OPT(event.site), Q_OPT(row.of.tag), Q_OPT(born),
                        Q_OPT(row.idle_seq), Q_OPT(row.idle_ns)));
    while (query_next(&query)) {
        event.size = size;
        event.at_ns = alloc_ns;
        row.of.seq = event.seq;
        row.of.size = size;
        row.of.phase = born;
        query_fail(&query, see_block(walk, &event, &row));
    }
    int err = query_end(&query);
    return err < 0 ? err : see_before(walk, NULL);
}

int heap_events_each(struct db *db, int64_t process, int64_t device, int64_t until,
                     int (*see)(void *self, const struct heap_event *event), void *self)
{
    struct walk walk = {.see = see, .self = self, .until = until};
    int err = category_load(db, process, &walk.rules);
    if (err < 0)
        return err;
    walk.others = query_ask(db, others_sql, Q_IN(process, device, until),
                            Q_OUT(Q_INT(walk.other.seq), Q_INT(walk.kind), Q_INT(walk.other.at_ns),
                                  Q_OPT(walk.other.heap), Q_ANY(walk.other.address),
                                  Q_SIZE(walk.other.size), Q_OPT(walk.other.site)));
    err = next_other(&walk);
    if (err >= 0)
        err = see_blocks(&walk, db, process, device);
    int ended = query_end(&walk.others);
    category_free(walk.rules);
    mem_free(walk.items);
    return err < 0 ? err : ended;
}
