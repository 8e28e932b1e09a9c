/*
 * pyframes_table.c - see pyframes_table.h.
 *
 * Entries are open-addressed by the stack's hash; removal moves later entries back, so there are no
 * tombstones. A reader that meets such a move can miss a stack that is there: it then goes the slow
 * way, which looks again under the lock. A reader that meets a record while it becomes another one
 * sees an odd turn, or two different ones.
 *
 * For drop, each code object has a chain through the records that are made of it, doubly linked,
 * because a record that goes must leave the chains of all its code objects.
 */
#include "pyframes_table.h"

#include <string.h>
#include <sys/mman.h>

#include "pyframes_lock.h"

enum {
    FIRST_CAPACITY = 1024,
    CHUNK = 256 << 10,
    BUCKETS = 4096,
    ROOM_STEP = 4, /* records have room for a multiple of this many words */
    ROOMS = PYFRAMES_MAX_WORDS / ROOM_STEP + 1,
};

struct record {
    _Atomic uint32_t turn; /* odd: free, or being filled */
    _Atomic uint32_t site;
    _Atomic uint64_t hash;
    _Atomic uint32_t count; /* of words */
    uint32_t depth;         /* of links in use */
    uint32_t room;          /* for words, and for as many links behind them */
    uint32_t unused;
    struct record *next_free;
    _Atomic uint64_t words[];
};

struct link {
    struct link *next;
    struct link **at; /* what points here */
    struct record *record;
};

struct code {
    const void *address;
    struct code *next; /* in its bucket, or free */
    struct link *first;
};

struct entry {
    _Atomic uint64_t hash;
    _Atomic(struct record *) record; /* NULL = empty */
};

struct entries {
    uint64_t capacity; /* a power of two */
    struct entry entry[];
};

_Atomic bool pyframes_table_stale;

static _Atomic(struct entries *) entries;

/* All that follows under the lock. */
static _Atomic uint32_t lock;
static struct {
    size_t count;
    size_t bytes;
    char *chunk, *chunk_end;
    struct record *free_records[ROOMS];
    struct code *free_codes;
    struct code *buckets[BUCKETS];
} own;

/* ---- finding ---- */

static bool same(struct record *record, const struct pyframes_stack *stack, uint32_t *site)
{
    uint32_t turn = atomic_load_explicit(&record->turn, memory_order_acquire);
    uint64_t different = atomic_load_explicit(&record->hash, memory_order_acquire) ^ stack->hash;
    if (turn & 1 || atomic_load_explicit(&record->count, memory_order_acquire) != stack->count)
        return false;
    for (uint32_t i = 0; i < stack->count; i++)
        different |=
            atomic_load_explicit(&record->words[i], memory_order_acquire) ^ stack->words[i];
    *site = atomic_load_explicit(&record->site, memory_order_acquire);
    return !different && atomic_load_explicit(&record->turn, memory_order_relaxed) == turn;
}

bool pyframes_table_find(const struct pyframes_stack *stack, uint32_t *site)
{
    struct entries *in = atomic_load_explicit(&entries, memory_order_acquire);
    if (!in)
        return false;
    uint64_t at = stack->hash & (in->capacity - 1);
    for (uint64_t tries = 0; tries < in->capacity; tries++) {
        struct entry *entry = &in->entry[at];
        struct record *record = atomic_load_explicit(&entry->record, memory_order_acquire);
        if (!record)
            return false;
        if (atomic_load_explicit(&entry->hash, memory_order_relaxed) == stack->hash &&
            same(record, stack, site))
            return true;
        at = (at + 1) & (in->capacity - 1);
    }
    return false;
}

/* ---- memory ---- */

static void *map_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void *carve(size_t bytes)
{
    if ((size_t)(own.chunk_end - own.chunk) < bytes) {
        if (own.bytes + CHUNK > PYFRAMES_TABLE_BYTES)
            return NULL;
        char *chunk = map_memory(CHUNK);
        if (!chunk)
            return NULL;
        own.bytes += CHUNK;
        own.chunk = chunk;
        own.chunk_end = chunk + CHUNK;
    }
    void *taken = own.chunk;
    own.chunk += bytes;
    return taken;
}

static struct link *links_of(struct record *record)
{
    return (struct link *)(uintptr_t)(record->words + record->room);
}

static struct record *reuse(uint32_t step)
{
    struct record *record = own.free_records[step];
    if (record)
        own.free_records[step] = record->next_free;
    return record;
}

static struct record *new_record(uint32_t words)
{
    uint32_t step = (words + ROOM_STEP - 1) / ROOM_STEP, room = step * ROOM_STEP;
    struct record *record = reuse(step);
    if (record)
        return record;
    record = carve(sizeof *record + room * (sizeof(uint64_t) + sizeof(struct link)));
    if (record) {
        atomic_store_explicit(&record->turn, 1, memory_order_relaxed);
        record->room = room;
    }
    while (!record && ++step < ROOMS) /* no memory any more: a larger one does */
        record = reuse(step);
    return record;
}

static void put_back(struct record *record)
{
    record->next_free = own.free_records[record->room / ROOM_STEP];
    own.free_records[record->room / ROOM_STEP] = record;
}

static void free_record(struct record *record)
{
    uint32_t turn = atomic_load_explicit(&record->turn, memory_order_relaxed);
    atomic_store_explicit(&record->turn, turn + 1, memory_order_relaxed);
    put_back(record);
}

/* ---- code objects ---- */

static struct code **bucket_of(const void *address)
{
    uint64_t hash = (uint64_t)(uintptr_t)address * 0x9e3779b97f4a7c15ull;
    return &own.buckets[hash >> 52];
}

static struct code *code_of(const void *address)
{
    struct code **bucket = bucket_of(address);
    struct code *code = *bucket;
    while (code && code->address != address)
        code = code->next;
    if (code)
        return code;
    code = own.free_codes;
    if (code)
        own.free_codes = code->next;
    else
        code = carve(sizeof *code);
    if (code) {
        *code = (struct code){address, *bucket, NULL};
        *bucket = code;
    }
    return code;
}

static void chain(struct code *code, struct record *record, struct link *link)
{
    *link = (struct link){code->first, &code->first, record};
    if (code->first)
        code->first->at = &link->next;
    code->first = link;
}

static void unchain(struct link *link)
{
    *link->at = link->next;
    if (link->next)
        link->next->at = link->at;
}

static void unchain_all(struct record *record)
{
    struct link *links = links_of(record);
    while (record->depth > 0)
        unchain(&links[--record->depth]);
}

/* ---- entries ---- */

static void set(struct entry *entry, uint64_t hash, struct record *record)
{
    atomic_store_explicit(&entry->hash, hash, memory_order_relaxed);
    atomic_store_explicit(&entry->record, record, memory_order_release);
}

static struct record *record_at(struct entries *in, uint64_t at)
{
    return atomic_load_explicit(&in->entry[at].record, memory_order_relaxed);
}

static uint64_t home_of(struct entries *in, uint64_t at)
{
    return atomic_load_explicit(&in->entry[at].hash, memory_order_relaxed) & (in->capacity - 1);
}

static void enter(struct entries *in, struct record *record)
{
    uint64_t hash = atomic_load_explicit(&record->hash, memory_order_relaxed);
    uint64_t at = hash & (in->capacity - 1);
    while (record_at(in, at))
        at = (at + 1) & (in->capacity - 1);
    set(&in->entry[at], hash, record);
}

/* Takes the record's entry out and closes the gap: an entry behind it moves into the gap unless its
 * home lies cyclically behind the gap. */
static void leave(struct entries *in, const struct record *record)
{
    const uint64_t mask = in->capacity - 1;
    uint64_t gap = atomic_load_explicit(&record->hash, memory_order_relaxed) & mask;
    while (record_at(in, gap) != record)
        gap = (gap + 1) & mask;
    for (uint64_t at = (gap + 1) & mask; record_at(in, at); at = (at + 1) & mask) {
        if (((at - home_of(in, at)) & mask) < ((at - gap) & mask))
            continue;
        set(&in->entry[gap], atomic_load_explicit(&in->entry[at].hash, memory_order_relaxed),
            record_at(in, at));
        gap = at;
    }
    atomic_store_explicit(&in->entry[gap].record, NULL, memory_order_release);
}

/* The entries with room for one more, or NULL. Old ones stay mapped for readers that are in them;
 * all together they are smaller than the present ones. */
static struct entries *with_room(void)
{
    struct entries *old = atomic_load_explicit(&entries, memory_order_relaxed);
    if (old && own.count < old->capacity / 2)
        return old;
    uint64_t capacity = old ? old->capacity * 2 : FIRST_CAPACITY;
    struct entries *bigger = map_memory(sizeof *bigger + capacity * sizeof(struct entry));
    if (!bigger)
        return old && own.count < old->capacity - old->capacity / 8 ? old : NULL;
    bigger->capacity = capacity;
    for (uint64_t i = 0; old && i < old->capacity; i++)
        if (record_at(old, i))
            enter(bigger, record_at(old, i));
    atomic_store_explicit(&entries, bigger, memory_order_release);
    return bigger;
}

/* ---- the lock ---- */

/* Leaves all memory where it is: threads of this process may be reading in it. */
static void begin_anew(void)
{
    atomic_store(&entries, NULL);
    memset(&own, 0, sizeof own);
}

bool pyframes_lock(void)
{
    enum pyframes_hold hold = pyframes_lock_take(&lock);
    if (hold == PYFRAMES_INHERITED)
        begin_anew();
    return hold != PYFRAMES_NOT_HELD;
}

void pyframes_unlock(void)
{
    pyframes_lock_give(&lock);
}

/* ---- changing ---- */

static void empty(void)
{
    struct entries *in = atomic_load_explicit(&entries, memory_order_relaxed);
    for (uint64_t i = 0; in && i < in->capacity; i++) {
        struct record *record = record_at(in, i);
        atomic_store_explicit(&in->entry[i].record, NULL, memory_order_release);
        if (record)
            free_record(record);
    }
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct code *code = own.buckets[i], *next; code; code = next) {
            next = code->next;
            code->next = own.free_codes;
            own.free_codes = code;
        }
        own.buckets[i] = NULL;
    }
    own.count = 0;
}

static void fill(struct record *record, const struct pyframes_stack *stack, uint32_t site)
{
    atomic_store_explicit(&record->hash, stack->hash, memory_order_release);
    atomic_store_explicit(&record->count, stack->count, memory_order_release);
    atomic_store_explicit(&record->site, site, memory_order_release);
    for (uint32_t i = 0; i < stack->count; i++)
        atomic_store_explicit(&record->words[i], stack->words[i], memory_order_release);
}

static bool put(const struct pyframes_stack *stack, const void *const *codes, uint32_t site)
{
    struct entries *in = with_room();
    struct record *record = in ? new_record(stack->count) : NULL;
    if (!record)
        return false;
    fill(record, stack, site);
    record->depth = 0;
    for (uint32_t i = 0; i < stack->depth; i++) {
        struct code *code = code_of(codes[i]);
        if (!code) {
            unchain_all(record);
            put_back(record);
            return false;
        }
        chain(code, record, &links_of(record)[record->depth++]);
    }
    atomic_fetch_add_explicit(&record->turn, 1, memory_order_release);
    enter(in, record);
    own.count++;
    return true;
}

void pyframes_table_add(const struct pyframes_stack *stack, const void *const *codes, uint32_t site)
{
    uint32_t known;
    if (stack->count == 0 || stack->count > PYFRAMES_MAX_WORDS || stack->depth > stack->count)
        return;
    if (!pyframes_lock())
        return;
    if (!pyframes_table_find(stack, &known) && !put(stack, codes, site)) {
        empty();
        put(stack, codes, site);
    }
    pyframes_unlock();
}

static void remove_record(struct record *record)
{
    leave(atomic_load_explicit(&entries, memory_order_relaxed), record);
    unchain_all(record);
    free_record(record);
    own.count--;
}

void pyframes_table_drop(const void *address)
{
    if (atomic_load_explicit(&pyframes_table_stale, memory_order_relaxed))
        return;
    if (!pyframes_lock()) {
        atomic_store(&pyframes_table_stale, true);
        return;
    }
    struct code **at = bucket_of(address);
    while (*at && (*at)->address != address)
        at = &(*at)->next;
    struct code *code = *at;
    if (code) {
        while (code->first)
            remove_record(code->first->record);
        *at = code->next;
        code->next = own.free_codes;
        own.free_codes = code;
    }
    pyframes_unlock();
}

void pyframes_table_empty(void)
{
    empty();
    atomic_store(&pyframes_table_stale, false);
}

/* ---- tests ---- */

size_t pyframes_table_count(void)
{
    if (!pyframes_lock())
        return 0;
    size_t count = own.count;
    pyframes_unlock();
    return count;
}

static bool record_is_valid(struct entries *in, uint64_t slot)
{
    struct record *record = record_at(in, slot);
    uint64_t hash = atomic_load(&record->hash);
    struct link *links = links_of(record);
    if (atomic_load(&record->turn) & 1 || hash != atomic_load(&in->entry[slot].hash) ||
        atomic_load(&record->count) > record->room || record->depth > record->room)
        return false;
    for (uint64_t at = hash & (in->capacity - 1); at != slot; at = (at + 1) & (in->capacity - 1))
        if (!record_at(in, at))
            return false;
    for (uint32_t i = 0; i < record->depth; i++)
        if (*links[i].at != &links[i] || links[i].record != record ||
            (links[i].next && links[i].next->at != &links[i].next))
            return false;
    return true;
}

bool pyframes_table_is_valid(void)
{
    bool valid = pyframes_lock();
    struct entries *in = atomic_load(&entries);
    size_t count = 0, links = 0, chained = 0;
    for (uint64_t i = 0; valid && in && i < in->capacity; i++) {
        if (!record_at(in, i))
            continue;
        valid = record_is_valid(in, i);
        count++;
        links += record_at(in, i)->depth;
    }
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct code *code = own.buckets[i]; code; code = code->next)
            for (struct link *link = code->first; link; link = link->next)
                chained++;
    valid = valid && count == own.count && links == chained;
    pyframes_unlock();
    return valid;
}
