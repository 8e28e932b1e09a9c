/*
 * derive_reserved.c - what was reserved over time, of each process on each device.
 *
 * The facts that change it are segments and mapped pages. Whether they are all of it is asked of
 * the phases, which say what was reserved when they ended: one that says something else had it from
 * its source. Old rows are preferred as long as they are whole and end as the facts do, for they
 * have the moments that the source itself told.
 */
#include "derive_types.h"
#include "error.h"
#include "mem.h"
#include "query.h"

struct group { /* process x device */
    int64_t process, device;
    int64_t sum;      /* of the changes so far */
    bool changes;     /* there are some */
    bool told;        /* a phase says what was reserved */
    bool differs;     /* from the sum, at the end of some phase */
    bool old;         /* there are old rows, */
    bool old_whole;   /* of all its heaps whole ones, */
    int64_t old_last; /* which end with this sum */
    bool feeds;
};

struct groups {
    struct group *at;
    size_t count, cap;
};

static struct group *find_group(struct groups *groups, int64_t process, int64_t device)
{
    for (size_t i = groups->count; i-- > 0;)
        if (groups->at[i].process == process && groups->at[i].device == device)
            return &groups->at[i];
    return NULL;
}

static int make_groups(struct derive *derive, struct groups *groups)
{
    for (size_t i = 0; i < derive->heap_count; i++) {
        const struct derive_heap *heap = &derive->heaps[i];
        if (find_group(groups, heap->process, heap->device))
            continue;
        if (!MEM_GROW(groups->at, groups->cap, groups->count + 1))
            return ERR_NOMEM;
        groups->at[groups->count++] =
            (struct group){.process = heap->process, .device = heap->device, .old_whole = true};
    }
    return 0;
}

/* ---- the facts ---- */

/* In the order of the run; by one event memory goes before it comes. */
static const char changes_sql[] =
    "SELECT seq, heap, alloc_ns AS at_ns, size, 1 AS mapped FROM segment UNION ALL"
    " SELECT free_seq, heap, alloc_ns + life_ns, -size, 0 FROM segment"
    "  WHERE free_seq IS NOT NULL UNION ALL"
    " SELECT seq, heap, at_ns, CASE WHEN mapped THEN size ELSE -size END, mapped FROM mapping"
    " ORDER BY 1, 5";
static const char told_sql[] =
    "SELECT p.end_seq, p.process, d.device, d.reserved"
    " FROM phase_device d JOIN phase p ON p.id = d.phase"
    " WHERE p.end_seq IS NOT NULL AND d.reserved IS NOT NULL ORDER BY p.end_seq";

struct told { /* phases in the order of their ends, each looked at once */
    struct query query;
    bool there; /* what is below is of the next */
    int64_t end_seq, process, device, reserved;
};

static void compare_told(struct groups *groups, const struct told *told)
{
    struct group *group = find_group(groups, told->process, told->device);
    if (!group)
        return;
    group->told = true;
    group->differs |= group->sum != told->reserved;
}

/* Phases that ended before `seq`. */
static int told_before(struct groups *groups, struct told *told, int64_t seq)
{
    for (; told->there && told->end_seq < seq; told->there = query_next(&told->query))
        compare_told(groups, told);
    return told->query.err < 0 ? told->query.err : 0;
}

struct change {
    int64_t seq, heap, at_ns, size;
};

#define CHANGE(change)                                                                             \
    Q_OUT(Q_INT((change).seq), Q_INT((change).heap), Q_INT((change).at_ns), Q_INT((change).size),  \
          Q_REST)

static int add_changes(struct derive *derive, struct groups *groups, struct told *told)
{
    struct change change;
    struct query query = query_ask(derive->options->facts, changes_sql, Q_NOTHING, CHANGE(change));
    told->there = query_next(&told->query);
    while (query_next(&query)) {
        const struct derive_heap *heap = derive_heap(derive, change.heap);
        query_fail(&query, told_before(groups, told, change.seq));
        struct group *group = heap ? find_group(groups, heap->process, heap->device) : NULL;
        if (group && !__builtin_add_overflow(group->sum, change.size, &group->sum))
            group->changes = true;
    }
    int err = query_end(&query);
    return err < 0 ? err : told_before(groups, told, INT64_MAX);
}

static int read_facts(struct derive *derive, struct groups *groups)
{
    struct told told = {.there = false};
    told.query = query_ask(
        derive->options->facts, told_sql, Q_NOTHING,
        Q_OUT(Q_INT(told.end_seq), Q_INT(told.process), Q_INT(told.device), Q_INT(told.reserved)));
    int err = add_changes(derive, groups, &told);
    query_end(&told.query);
    return err;
}

static int read_old(struct derive *derive, struct groups *groups)
{
    int err = 0;
    for (size_t i = 0; i < derive->heap_count && err == 0; i++) {
        const struct derive_heap *heap = &derive->heaps[i];
        struct group *group = find_group(groups, heap->process, heap->device);
        enum derive_way way;
        bool found;
        int64_t last;
        err = derive_old_last(derive, heap, "reserved", &found, &last);
        if (err < 0 || !found)
            continue;
        err = derive_old_way(derive, heap, "reserved", &way);
        group->old = true;
        group->old_whole &= way == DERIVE_KEPT;
        if (__builtin_add_overflow(group->old_last, last, &group->old_last))
            group->old_whole = false;
    }
    return err;
}

/* ---- which of them ---- */

static bool knows_by_facts(const struct derive *derive, const struct group *group)
{
    return group->changes && !group->differs && derive->options->segments_whole;
}

static enum derive_way choose(const struct derive *derive, const struct group *group)
{
    bool facts = knows_by_facts(derive, group);
    if (group->old && group->old_whole && derive->options->curve_whole &&
        (!facts || group->old_last == group->sum))
        return DERIVE_KEPT;
    if (facts)
        return DERIVE_REBUILT;
    if (group->old)
        return DERIVE_MENDED;
    if (group->changes)
        return DERIVE_PART;
    return DERIVE_LOST;
}

static int take_old(struct derive *derive, const struct group *group)
{
    int err = 0;
    for (size_t i = 0; i < derive->heap_count && err == 0; i++) {
        const struct derive_heap *heap = &derive->heaps[i];
        enum derive_way way;
        if (heap->process == group->process && heap->device == group->device)
            err = derive_old(derive, heap, "reserved", &way);
    }
    return err;
}

static int drop_old(struct derive *derive, const struct group *group)
{
    int err = 0;
    for (size_t i = 0; i < derive->heap_count && err == 0; i++) {
        const struct derive_heap *heap = &derive->heaps[i];
        if (heap->process == group->process && heap->device == group->device)
            err = derive_drop(derive, heap->id, "reserved");
    }
    return err;
}

static int settle(struct derive *derive, struct groups *groups)
{
    int err = 0;
    for (size_t i = 0; i < groups->count && err == 0; i++) {
        struct group *group = &groups->at[i];
        if (!group->old && !group->changes && !group->told)
            continue; /* it never was known */
        enum derive_way way = choose(derive, group);
        group->feeds = way == DERIVE_REBUILT || way == DERIVE_PART;
        derive->result->reserved[way]++;
        if (way == DERIVE_KEPT || way == DERIVE_MENDED)
            err = take_old(derive, group);
        else
            err = drop_old(derive, group);
    }
    return err;
}

static int feed_changes(struct derive *derive, struct groups *groups)
{
    struct change change;
    struct query query = query_ask(derive->options->facts, changes_sql, Q_NOTHING, CHANGE(change));
    while (query_next(&query)) {
        struct derive_heap *heap = derive_heap(derive, change.heap);
        const struct group *group = heap ? find_group(groups, heap->process, heap->device) : NULL;
        if (!group || !group->feeds)
            continue;
        int err = derive_feed(derive, heap, "reserved", change.at_ns, change.size);
        query_fail(&query, err < 0 ? err : derive_flush(derive, false));
    }
    int err = query_end(&query);
    return err < 0 ? err : derive_end_curves(derive);
}

int derive_reserved(struct derive *derive)
{
    struct groups groups = {0};
    int err = make_groups(derive, &groups);
    if (err == 0)
        err = read_facts(derive, &groups);
    if (err == 0)
        err = read_old(derive, &groups);
    if (err == 0)
        err = settle(derive, &groups);
    if (err == 0)
        err = feed_changes(derive, &groups);
    mem_free(groups.at);
    return err;
}
