/* torch_census.c - see torch_census.h. */
#include "torch_census.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "clock.h"
#include "futex.h"
#include "guest.h"
#include "intern.h"
#include "pages.h"

#define FIRST_CAPACITY 128u
#define PATIENCE_NS NS_PER_S /* a part is told while the recorder makes room */
#define WAITS 8u
#define SPINS 100
#define NUMBER_MAX 20

struct entry {
    uint64_t addr; /* 0: free */
    uint64_t bytes;
    uint64_t stream;
    int16_t device_kind;
    int16_t lived; /* 1: it was found, not noted as it came */
    int32_t device_index;
};

/* Invariants: capacity is 0 or a power of two; count <= capacity / 2; an entry is found from its
 * home on without a free one before it. */
struct part {
    _Alignas(64) _Atomic uint32_t lock; /* futex: 0 free, 1 held, 2 held and waited for */
    uint32_t told;                      /* generation of the guest's ring that has it; 0: none */
    struct entry *table;
    uint64_t capacity, count;
    uint64_t told_blocks, told_bytes; /* to that ring */
    struct part *_Atomic next;        /* which took the place of this one; set once */
    _Atomic uintptr_t holder;         /* a thread's own address; 0: none */
    uint32_t since; /* 1 + generation of the ring when it took the place; 0: it took none */
};

static struct part *parts; /* CENSUS_PARTS; NULL: nobody armed the program */
static __thread char myself;

bool census_begin(void)
{
    const size_t bytes = CENSUS_PARTS * sizeof(struct part);
    if (parts)
        return true;
    void *memory = pages_new(bytes);
    if (!memory)
        return false;
    if (madvise(memory, bytes, MADV_WIPEONFORK) != 0) {
        munmap(memory, bytes);
        return false;
    }
    parts = memory;
    return true;
}

bool census_is_kept(void)
{
    return parts != NULL;
}

/* ---- the lock ---- */

static bool is_mine(const struct part *part)
{
    return atomic_load_explicit(&part->holder, memory_order_relaxed) == (uintptr_t)&myself;
}

/* A program that was stopped for a while has lost the time, and not its locks: so the holder must
 * have had the processor, too, as often as this one waited. */
static bool wait_for(struct part *part)
{
    uint64_t deadline = clock_now_ns() + PATIENCE_NS;
    for (unsigned waits = 0; atomic_exchange_explicit(&part->lock, 2, memory_order_acquire) != 0;
         waits++) {
        if (waits >= WAITS && clock_now_ns() >= deadline)
            return false;
        futex_wait(&part->lock, 2, PATIENCE_NS / WAITS);
    }
    return true;
}

static bool lock(struct part *part)
{
    for (int i = 0; i < SPINS; i++) {
        uint32_t none = 0;
        if (atomic_compare_exchange_weak_explicit(&part->lock, &none, 1, memory_order_acquire,
                                                  memory_order_relaxed))
            return true;
    }
    return !is_mine(part) && wait_for(part);
}

static void unlock(struct part *part)
{
    if (atomic_exchange_explicit(&part->lock, 0, memory_order_release) == 2)
        futex_wake_all(&part->lock);
}

static void give(struct part *part)
{
    atomic_store_explicit(&part->holder, 0, memory_order_relaxed);
    unlock(part);
}

/* Puts an empty part in the place of one whose lock was left. A child begins without it. */
static bool replace(struct part *left)
{
    struct part *none = NULL;
    struct part *fresh = pages_new(sizeof *fresh);
    if (!fresh)
        return false;
    fresh->since = guest_recording() + 1;
    if (left->told == guest_recording()) {
        fresh->told = left->told;
        fresh->told_blocks = left->told_blocks;
        fresh->told_bytes = left->told_bytes;
    }
    if (!atomic_compare_exchange_strong(&left->next, &none, fresh))
        munmap(fresh, sizeof *fresh);
    return true;
}

/* The one that is in use, locked; NULL: there is no memory for one. */
static struct part *take(struct part *part)
{
    for (;;) {
        struct part *next = atomic_load_explicit(&part->next, memory_order_acquire);
        if (next) {
            part = next;
        } else if (!lock(part)) {
            if (!replace(part))
                return NULL;
        } else if (atomic_load(&part->next)) {
            unlock(part);
        } else {
            atomic_store_explicit(&part->holder, (uintptr_t)&myself, memory_order_relaxed);
            return part;
        }
    }
}

/* ---- the table ---- */

static uint64_t hash_of(uint64_t addr)
{
    uint64_t hash = (addr >> 4) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 32;
}

static struct part *part_of(uint64_t addr)
{
    return &parts[hash_of(addr) % CENSUS_PARTS];
}

static uint64_t home_of(const struct part *part, uint64_t addr)
{
    return hash_of(addr) / CENSUS_PARTS & (part->capacity - 1);
}

static const struct entry *find(const struct part *part, uint64_t addr)
{
    uint64_t mask = part->capacity - 1, at = part->capacity ? home_of(part, addr) : 0;
    while (part->capacity && part->table[at].addr) {
        if (part->table[at].addr == addr)
            return &part->table[at];
        at = (at + 1) & mask;
    }
    return NULL;
}

static void put(struct part *part, const struct entry *entry)
{
    uint64_t at = home_of(part, entry->addr);
    while (part->table[at].addr && part->table[at].addr != entry->addr)
        at = (at + 1) & (part->capacity - 1);
    part->count += !part->table[at].addr;
    part->table[at] = *entry;
}

static bool make_room(struct part *part)
{
    if (part->count < part->capacity / 2)
        return true;
    struct part larger = {.capacity = part->capacity ? part->capacity * 2 : FIRST_CAPACITY};
    size_t bytes = larger.capacity * sizeof(struct entry);
    void *memory = pages_new(bytes);
    if (!memory)
        return false;
    madvise(memory, bytes, MADV_DONTFORK);
    larger.table = memory;
    for (uint64_t i = 0; i < part->capacity; i++)
        if (part->table[i].addr)
            put(&larger, &part->table[i]);
    if (part->table)
        munmap(part->table, part->capacity * sizeof(struct entry));
    part->table = larger.table;
    part->capacity = larger.capacity;
    return true;
}

/* Those behind it, up to the next free one, move up where that brings them nearer to their home. */
static bool drop(struct part *part, uint64_t addr)
{
    uint64_t mask = part->capacity - 1;
    if (!part->capacity)
        return false;
    uint64_t hole = home_of(part, addr);
    while (part->table[hole].addr != addr) {
        if (!part->table[hole].addr)
            return false;
        hole = (hole + 1) & mask;
    }
    for (uint64_t at = (hole + 1) & mask; part->table[at].addr; at = (at + 1) & mask) {
        uint64_t home = home_of(part, part->table[at].addr);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        part->table[hole] = part->table[at];
        hole = at;
    }
    part->table[hole].addr = 0;
    part->count--;
    return true;
}

/* ---- telling ---- */

static void tell_block(const struct entry *entry, uint32_t site, uint32_t generation)
{
    const struct arena_heap heap = {.device_kind = entry->device_kind,
                                    .device_index = entry->device_index,
                                    .stream = entry->stream};
    struct event event = {
        .word = generation,
        .kind = EVENT_BLOCK_ALLOC,
        .heap = intern(ARENA_HEAP, &heap, sizeof heap) & EVENT_MAX_HEAP,
        .site = site,
        .addr = entry->addr,
        .size = entry->bytes,
    };
    if (event.heap)
        guest_emit(&event);
}

/* Under the part's lock. */
static void tell(struct part *part, uint32_t generation)
{
    uint32_t site = part->count ? intern_site(CENSUS_SITE, NULL, 0) : 0;
    part->told_blocks = part->told_bytes = 0;
    for (uint64_t i = 0; i < part->capacity; i++) {
        if (!part->table[i].addr)
            continue;
        tell_block(&part->table[i], site, generation);
        part->told_blocks++;
        part->told_bytes += part->table[i].bytes;
    }
    part->told = generation;
}

/* Of a block that goes: whether a recording can have been told that it came. */
static bool is_known(struct part *part, uint64_t addr, uint32_t generation)
{
    return drop(part, addr) || !part->since || part->since == generation + 1;
}

/* Under the part's lock. */
static uint32_t note(struct part *part, const struct entry *entry, bool goes)
{
    uint32_t generation = guest_awake();
    if (generation && part->told != generation)
        tell(part, generation);
    if (goes)
        return is_known(part, entry->addr, generation) ? generation : 0;
    if (make_room(part))
        put(part, entry);
    return generation;
}

static struct entry entry_of(uint64_t addr, uint64_t bytes, const struct arena_heap *heap)
{
    return (struct entry){.addr = addr,
                          .bytes = bytes,
                          .stream = heap->stream,
                          .device_kind = (int16_t)heap->device_kind,
                          .device_index = heap->device_index};
}

uint32_t census_note(uint64_t addr, int64_t bytes, const struct arena_heap *heap)
{
    const struct entry entry = entry_of(addr, (uint64_t)bytes, heap);
    int saved = errno;
    struct part *part = addr ? take(part_of(addr)) : NULL;
    uint32_t generation = part ? note(part, &entry, bytes < 0) : guest_awake();
    if (part)
        give(part);
    errno = saved;
    return generation;
}

void census_lived(uint64_t addr, uint64_t bytes, const struct arena_heap *heap)
{
    struct entry entry = entry_of(addr, bytes, heap);
    struct part *part = addr && bytes ? take(part_of(addr)) : NULL;
    if (!part)
        return;
    entry.lived = 1;
    if (!find(part, addr) && make_room(part))
        put(part, &entry);
    give(part);
}

enum census_age census_look(uint64_t addr, uint64_t *bytes)
{
    struct part *part = take(part_of(addr));
    if (!part)
        return CENSUS_UNKNOWN;
    const struct entry *found = find(part, addr);
    enum census_age age = found ? found->lived ? CENSUS_LIVED : CENSUS_NOTED : CENSUS_UNKNOWN;
    *bytes = found ? found->bytes : 0;
    give(part);
    return age;
}

static void say(const char *key, uint64_t number, uint32_t generation)
{
    char text[64], digits[NUMBER_MAX];
    size_t used = strlen(key), count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) && count < sizeof digits);
    memcpy(text, key, used);
    while (count)
        text[used++] = digits[--count];
    text[used] = '\0';
    struct event event = {.word = generation,
                          .kind = EVENT_MARK,
                          .flags = EVENT_F_SETTING,
                          .name = intern_string(text)};
    guest_emit(&event);
}

void census_tell(void)
{
    uint64_t blocks = 0, bytes = 0;
    uint32_t generation = guest_awake();
    for (uint32_t i = 0; i < CENSUS_PARTS && generation; i++) {
        struct part *part = take(&parts[i]);
        if (!part)
            continue;
        if (part->told != generation)
            tell(part, generation);
        blocks += part->told_blocks;
        bytes += part->told_bytes;
        give(part);
        generation = guest_awake() == generation ? generation : 0;
    }
    if (!blocks || !generation)
        return;
    say("earlier_blocks=", blocks, generation);
    say("earlier_bytes=", bytes, generation);
}

static uint64_t count_of(const struct part *part)
{
    for (struct part *next = atomic_load(&part->next); next; next = atomic_load(&part->next))
        part = next;
    return part->count;
}

uint64_t census_count(void)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < CENSUS_PARTS; i++)
        count += count_of(&parts[i]);
    return count;
}
