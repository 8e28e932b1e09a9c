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

#define FIRST_CAPACITY 128u
#define PATIENCE_NS NS_PER_S /* a part is told while the recorder makes room */
#define SPINS 100
#define NUMBER_MAX 20

struct entry {
    uint64_t addr; /* 0: free */
    uint64_t bytes;
    uint64_t stream;
    int32_t device_kind, device_index;
};

/* Invariants: capacity is 0 or a power of two; count <= capacity / 2; an entry is found from its
 * home on without a free one before it. */
struct part {
    _Alignas(64) _Atomic uint32_t lock; /* futex: 0 free, 1 held, 2 held and waited for */
    uint32_t told;                      /* generation of the guest's ring that has it; 0: none */
    struct entry *table;
    uint64_t capacity, count;
    uint64_t told_blocks, told_bytes; /* to that ring */
};

static struct part *parts; /* CENSUS_PARTS; NULL: nobody armed the program */

bool census_begin(void)
{
    const size_t bytes = CENSUS_PARTS * sizeof(struct part);
    if (parts)
        return true;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
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

/* Bounded: a signal handler may have interrupted its own thread in here. */
static bool wait_for(struct part *part)
{
    uint64_t deadline = clock_now_ns() + PATIENCE_NS;
    while (atomic_exchange_explicit(&part->lock, 2, memory_order_acquire) != 0) {
        if (clock_now_ns() >= deadline)
            return false;
        futex_wait(&part->lock, 2, PATIENCE_NS / 8);
    }
    return true;
}

static bool take(struct part *part)
{
    for (int i = 0; i < SPINS; i++) {
        uint32_t none = 0;
        if (atomic_compare_exchange_weak_explicit(&part->lock, &none, 1, memory_order_acquire,
                                                  memory_order_relaxed))
            return true;
    }
    return wait_for(part);
}

static void give(struct part *part)
{
    if (atomic_exchange_explicit(&part->lock, 0, memory_order_release) == 2)
        futex_wake_all(&part->lock);
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
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
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
static void drop(struct part *part, uint64_t addr)
{
    uint64_t mask = part->capacity - 1;
    if (!part->capacity)
        return;
    uint64_t hole = home_of(part, addr);
    while (part->table[hole].addr != addr) {
        if (!part->table[hole].addr)
            return;
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
}

/* ---- telling ---- */

static void tell_block(const struct entry *entry, uint32_t site)
{
    const struct arena_heap heap = {.device_kind = entry->device_kind,
                                    .device_index = entry->device_index,
                                    .stream = entry->stream};
    struct event event = {
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
        tell_block(&part->table[i], site);
        part->told_blocks++;
        part->told_bytes += part->table[i].bytes;
    }
    part->told = generation;
}

bool census_note(uint64_t addr, int64_t bytes, const struct arena_heap *heap)
{
    struct part *part = part_of(addr);
    int saved = errno;
    bool taken = take(part), awake = guest_awake();
    uint32_t generation = atomic_load(&guest.generation);
    if (taken && awake && part->told != generation)
        tell(part, generation);
    if (taken && addr && bytes < 0)
        drop(part, addr);
    else if (taken && addr && make_room(part))
        put(part, &(struct entry){addr, (uint64_t)bytes, heap->stream, heap->device_kind,
                                  heap->device_index});
    if (taken)
        give(part);
    errno = saved;
    return awake;
}

static void say(const char *key, uint64_t number)
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
    struct event event = {
        .kind = EVENT_MARK, .flags = EVENT_F_SETTING, .name = intern_string(text)};
    guest_emit(&event);
}

void census_tell(void)
{
    uint64_t blocks = 0, bytes = 0;
    uint32_t generation = atomic_load(&guest.generation);
    for (uint32_t i = 0; i < CENSUS_PARTS && guest_awake(); i++) {
        struct part *part = &parts[i];
        if (!take(part))
            continue;
        if (part->told != generation)
            tell(part, generation);
        blocks += part->told_blocks;
        bytes += part->told_bytes;
        give(part);
    }
    if (!blocks || !guest_awake())
        return;
    say("earlier_blocks=", blocks);
    say("earlier_bytes=", bytes);
}

uint64_t census_count(void)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < CENSUS_PARTS; i++)
        count += parts[i].count;
    return count;
}
