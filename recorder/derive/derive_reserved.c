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
    "SELECT seq, heap, alloc_ns, size, 1 FROM segment UNION ALL"
    " SELECT free_seq, heap, alloc_ns + life_ns, -size, 0 FROM segment"
    "  WHERE free_seq IS NOT NULL UNION ALL"
    " SELECT seq, heap, at_ns, CASE WHEN mapped THEN size ELSE -size END, mapped FROM mapping"
    " ORDER BY 1, 5";
static const char told_sql[] =
    "SELECT p.end_seq, p.process, d.device, d.reserved"
    " FROM phase_device d JOIN phase p ON p.id = d.phase"
    " WHERE p.end_seq IS NOT NULL AND d.reserved IS NOT NULL ORDER BY p.end_seq";

static void compare_told(struct groups *groups, struct db_stmt *told)
{
    struct group *group = find_group(groups, db_column_int(told, 1), db_column_int(told, 2));
    if (!group)
        return;
    group->told = true;
    group->differs |= group->sum != db_column_int(told, 3);
}

/* Phases that ended before `seq`. *row: what db_step said of `told` last. */
static int told_before(struct groups *groups, struct db_stmt *told, int *row, int64_t seq)
{
    while (*row == DB_ROW && db_column_int(told, 0) < seq) {
        compare_told(groups, told);
        *row = db_step(told);
    }
    return *row < 0 ? *row : 0;
}

static int add_changes(struct derive *derive, struct groups *groups, struct db_stmt *change,
                       struct db_stmt *told)
{
    int err, row = db_step(told);
    while ((err = db_step(change)) == DB_ROW) {
        const struct derive_heap *heap = derive_heap(derive, db_column_int(change, 1));
        err = told_before(groups, told, &row, db_column_int(change, 0));
        if (err < 0)
            return err;
        struct group *group = heap ? find_group(groups, heap->process, heap->device) : NULL;
        if (!group || __builtin_add_overflow(group->sum, db_column_int(change, 3), &group->sum))
            continue;
        group->changes = true;
    }
    return err < 0 ? err : told_before(groups, told, &row, INT64_MAX);
}

static int read_facts(struct derive *derive, struct groups *groups)
{
    struct db_stmt *change = NULL, *told = NULL;
    int err = db_prepare(derive->options->facts, &change, changes_sql);
    if (err == 0)
        err = db_prepare(derive->options->facts, &told, told_sql);
    if (err == 0)
        err = add_changes(derive, groups, change, told);
    db_finalize(change);
    db_finalize(told);
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
    struct db_stmt *change = NULL;
    int err = db_prepare(derive->options->facts, &change, changes_sql);
    while (err >= 0 && (err = db_step(change)) == DB_ROW) {
        struct derive_heap *heap = derive_heap(derive, db_column_int(change, 1));
        const struct group *group = heap ? find_group(groups, heap->process, heap->device) : NULL;
        if (!group || !group->feeds)
            continue;
        err = derive_feed(derive, heap, "reserved", db_column_int(change, 2),
                          db_column_int(change, 3));
        if (err == 0)
            err = derive_flush(derive, false);
        if (err < 0)
            break;
    }
    db_finalize(change);
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
