/*
 * pyframes_table.c - see pyframes_table.h.
 *
 * Entries are open-addressed by the stack's hash; removal moves later entries back, so there are no
 * tombstones. A reader that meets such a move can miss a stack that is there: it then goes the slow
 * way, which looks again under the lock. A reader that meets a record while it becomes another one
 * sees an odd turn, or two different ones.
 */
#include "pyframes_table.h"

#include "fork_lock.h"
#include "pages.h"
#include "pyframes_record.h"

#define FIRST_CAPACITY 1024u

struct entry {
    _Atomic uint64_t hash;
    _Atomic(struct pyframes_record *) record; /* NULL = empty */
};

struct entries {
    uint64_t capacity; /* a power of two */
    struct entry entry[];
};

_Atomic bool pyframes_table_stale;

static _Atomic(struct entries *) entries;
static _Atomic uint32_t lock;
static size_t records; /* in entries; under the lock */

/* ---- finding ---- */

/* Each load is an acquire, so that the turn is read again after everything else; whoever fills a
 * record makes its turn odd before it stores anything else, with release. */
static bool same(struct pyframes_record *record, const struct pyframes_stack *stack,
                 struct pyframes_known *known)
{
    uint32_t turn = atomic_load_explicit(&record->turn, memory_order_acquire);
    uint64_t different = atomic_load_explicit(&record->hash, memory_order_acquire) ^ stack->hash;
    if (turn & 1 || atomic_load_explicit(&record->count, memory_order_acquire) != stack->count)
        return false;
    for (uint32_t i = 0; i < stack->count; i++)
        different |=
            atomic_load_explicit(&record->words[i], memory_order_acquire) ^ stack->words[i];
    known->site = atomic_load_explicit(&record->site, memory_order_acquire);
    known->way = atomic_load_explicit(&record->way, memory_order_acquire);
    return !different && atomic_load_explicit(&record->turn, memory_order_relaxed) == turn;
}

bool pyframes_table_find(const struct pyframes_stack *stack, struct pyframes_known *known)
{
    struct entries *in = atomic_load_explicit(&entries, memory_order_acquire);
    if (!in)
        return false;
    uint64_t at = stack->hash & (in->capacity - 1);
    for (uint64_t tries = 0; tries < in->capacity; tries++) {
        struct entry *entry = &in->entry[at];
        struct pyframes_record *record = atomic_load_explicit(&entry->record, memory_order_acquire);
        if (!record)
            return false;
        if (atomic_load_explicit(&entry->hash, memory_order_relaxed) == stack->hash &&
            same(record, stack, known))
            return true;
        at = (at + 1) & (in->capacity - 1);
    }
    return false;
}

/* ---- entries ---- */

static void set(struct entry *entry, uint64_t hash, struct pyframes_record *record)
{
    atomic_store_explicit(&entry->hash, hash, memory_order_relaxed);
    atomic_store_explicit(&entry->record, record, memory_order_release);
}

static struct pyframes_record *record_at(struct entries *in, uint64_t at)
{
    return atomic_load_explicit(&in->entry[at].record, memory_order_relaxed);
}

static uint64_t hash_at(struct entries *in, uint64_t at)
{
    return atomic_load_explicit(&in->entry[at].hash, memory_order_relaxed);
}

static void enter(struct entries *in, struct pyframes_record *record)
{
    uint64_t hash = atomic_load_explicit(&record->hash, memory_order_relaxed);
    uint64_t at = hash & (in->capacity - 1);
    while (record_at(in, at))
        at = (at + 1) & (in->capacity - 1);
    set(&in->entry[at], hash, record);
}

/* Takes the record's entry out and closes the gap: an entry behind it moves into the gap unless its
 * home lies cyclically behind the gap. */
static void leave(struct entries *in, const struct pyframes_record *record)
{
    const uint64_t mask = in->capacity - 1;
    uint64_t gap = atomic_load_explicit(&record->hash, memory_order_relaxed) & mask;
    while (record_at(in, gap) != record)
        gap = (gap + 1) & mask;
    for (uint64_t at = (gap + 1) & mask; record_at(in, at); at = (at + 1) & mask) {
        if (((at - hash_at(in, at)) & mask) < ((at - gap) & mask))
            continue;
        set(&in->entry[gap], hash_at(in, at), record_at(in, at));
        gap = at;
    }
    atomic_store_explicit(&in->entry[gap].record, NULL, memory_order_release);
}

static struct entries *new_entries(uint64_t capacity)
{
    struct entries *made = pages_new(sizeof *made + capacity * sizeof(struct entry));
    if (made)
        made->capacity = capacity;
    return made;
}

/* The entries with room for one more, or NULL. Old ones stay mapped for readers that are in them;
 * all together they are smaller than the present ones. */
static struct entries *with_room(void)
{
    struct entries *old = atomic_load_explicit(&entries, memory_order_relaxed);
    if (old && records < old->capacity / 2)
        return old;
    struct entries *bigger = new_entries(old ? old->capacity * 2 : FIRST_CAPACITY);
    if (!bigger)
        return old && records < old->capacity - old->capacity / 8 ? old : NULL;
    for (uint64_t i = 0; old && i < old->capacity; i++)
        if (record_at(old, i))
            enter(bigger, record_at(old, i));
    atomic_store_explicit(&entries, bigger, memory_order_release);
    return bigger;
}

/* ---- the lock ---- */

bool pyframes_lock(void)
{
    enum fork_lock hold = fork_lock_take(&lock);
    if (hold == FORK_LOCK_INHERITED) {
        atomic_store(&entries, NULL);
        pyframes_record_begin_anew();
        records = 0;
    }
    return hold != FORK_LOCK_NOT_HELD;
}

void pyframes_unlock(void)
{
    fork_lock_give(&lock);
}

/* ---- changing ---- */

static void fill(struct pyframes_record *record, const struct pyframes_stack *stack,
                 struct pyframes_known known)
{
    atomic_store_explicit(&record->hash, stack->hash, memory_order_release);
    atomic_store_explicit(&record->count, stack->count, memory_order_release);
    atomic_store_explicit(&record->site, known.site, memory_order_release);
    atomic_store_explicit(&record->way, known.way, memory_order_release);
    for (uint32_t i = 0; i < stack->count; i++)
        atomic_store_explicit(&record->words[i], stack->words[i], memory_order_release);
}

static bool put(const struct pyframes_stack *stack, const void *const *codes,
                struct pyframes_known known)
{
    struct entries *in = with_room();
    struct pyframes_record *record = in ? pyframes_record_new(stack->count) : NULL;
    if (!record)
        return false;
    fill(record, stack, known);
    if (!pyframes_record_chain(record, codes, stack->depth)) {
        pyframes_record_free(record);
        return false;
    }
    atomic_fetch_add_explicit(&record->turn, 1, memory_order_release);
    enter(in, record);
    records++;
    return true;
}

void pyframes_table_add(const struct pyframes_stack *stack, const void *const *codes,
                        struct pyframes_known known)
{
    struct pyframes_known before;
    if (stack->count == 0 || stack->count > PYFRAMES_MAX_WORDS || stack->depth > stack->count)
        return;
    if (!pyframes_lock())
        return;
    if (!pyframes_table_find(stack, &before) && !put(stack, codes, known)) {
        pyframes_table_empty();
        put(stack, codes, known);
    }
    pyframes_unlock();
}

void pyframes_table_drop(const void *code)
{
    if (atomic_load_explicit(&pyframes_table_stale, memory_order_relaxed))
        return;
    if (!pyframes_lock()) {
        atomic_store(&pyframes_table_stale, true);
        return;
    }
    struct entries *in = atomic_load_explicit(&entries, memory_order_relaxed);
    for (struct pyframes_record *record; (record = pyframes_record_of(code)); records--) {
        leave(in, record);
        pyframes_record_free(record);
    }
    pyframes_record_forget(code);
    pyframes_unlock();
}

void pyframes_table_empty(void)
{
    struct entries *in = atomic_load_explicit(&entries, memory_order_relaxed);
    for (uint64_t i = 0; in && i < in->capacity; i++) {
        struct pyframes_record *record = record_at(in, i);
        atomic_store_explicit(&in->entry[i].record, NULL, memory_order_release);
        if (record)
            pyframes_record_free(record);
    }
    pyframes_record_forget_all();
    records = 0;
    atomic_store(&pyframes_table_stale, false);
}

/* ---- tests ---- */

size_t pyframes_table_count(void)
{
    if (!pyframes_lock())
        return 0;
    size_t count = records;
    pyframes_unlock();
    return count;
}

static bool entry_is_valid(struct entries *in, uint64_t slot)
{
    struct pyframes_record *record = record_at(in, slot);
    uint64_t hash = atomic_load(&record->hash);
    for (uint64_t at = hash & (in->capacity - 1); at != slot; at = (at + 1) & (in->capacity - 1))
        if (!record_at(in, at))
            return false;
    return hash == hash_at(in, slot) && pyframes_record_is_valid(record);
}

bool pyframes_table_is_valid(void)
{
    if (!pyframes_lock())
        return false;
    struct entries *in = atomic_load(&entries);
    size_t count = 0, links = 0;
    bool valid = true;
    for (uint64_t i = 0; valid && in && i < in->capacity; i++) {
        if (!record_at(in, i))
            continue;
        valid = entry_is_valid(in, i);
        links += record_at(in, i)->depth;
        count++;
    }
    valid = valid && count == records && links == pyframes_record_links();
    pyframes_unlock();
    return valid;
}
