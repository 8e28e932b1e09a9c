/* cupti_table.c - see cupti_table.h. */
#include "cupti_table.h"
#include "pages.h"

#include <string.h>
#include <sys/mman.h>

#define FIRST_CAPACITY ((size_t)512)

static size_t home_of(const struct live_table *table, enum live_space space, uint64_t key)
{
    uint64_t hash = (key ^ ((uint64_t)space << 60)) * 0x9e3779b97f4a7c15ull;
    return (size_t)(hash >> 20) & (table->capacity - 1);
}

/* The slot that has the key, or the free one where it belongs. */
static struct live_entry *slot_of(const struct live_table *table, enum live_space space,
                                  uint64_t key)
{
    size_t at = home_of(table, space, key);
    while (table->slots[at].used &&
           (table->slots[at].key != key || table->slots[at].space != (uint8_t)space))
        at = (at + 1) & (table->capacity - 1);
    return &table->slots[at];
}

struct live_entry *live_table_find(const struct live_table *table, enum live_space space,
                                   uint64_t key)
{
    struct live_entry *slot = table->used ? slot_of(table, space, key) : NULL;
    return slot && slot->used ? slot : NULL;
}

static struct live_entry *new_slots(size_t capacity)
{
    return pages_new(capacity * sizeof(struct live_entry));
}

static bool grow(struct live_table *table)
{
    struct live_table larger = *table;
    larger.capacity = table->capacity ? 2 * table->capacity : FIRST_CAPACITY;
    larger.slots = new_slots(larger.capacity);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < table->capacity; i++) {
        const struct live_entry *entry = &table->slots[i];
        if (entry->used)
            *slot_of(&larger, (enum live_space)entry->space, entry->key) = *entry;
    }
    if (table->slots)
        munmap(table->slots, table->capacity * sizeof *table->slots);
    *table = larger;
    return true;
}

struct live_entry *live_table_put(struct live_table *table, const struct live_entry *entry)
{
    if (table->used + 1 > table->capacity / 4 * 3 && !grow(table))
        return NULL;
    struct live_entry *slot = slot_of(table, (enum live_space)entry->space, entry->key);
    table->used += !slot->used;
    table->of_space[entry->space] += !slot->used;
    table->changes++;
    *slot = *entry;
    slot->used = 1;
    table->serial = table->serial == UINT32_MAX ? 1 : table->serial + 1;
    slot->serial = table->serial;
    return slot;
}

/* What stands behind moves up, unless it is where it belongs. */
void live_table_remove(struct live_table *table, struct live_entry *entry)
{
    size_t mask = table->capacity - 1;
    size_t hole = (size_t)(entry - table->slots);
    table->of_space[entry->space]--;
    table->changes++;
    for (size_t at = (hole + 1) & mask; table->slots[at].used; at = (at + 1) & mask) {
        const struct live_entry *next = &table->slots[at];
        size_t home = home_of(table, (enum live_space)next->space, next->key);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            table->slots[hole] = *next;
            hole = at;
        }
    }
    memset(&table->slots[hole], 0, sizeof table->slots[hole]);
    table->used--;
}

void live_table_clear(struct live_table *table)
{
    if (table->slots)
        munmap(table->slots, table->capacity * sizeof *table->slots);
    *table = (struct live_table){.serial = table->serial, .changes = table->changes + 1};
}

size_t live_table_resume(const struct live_table *table, size_t at, uint64_t changes)
{
    return table->changes == changes ? at : 0;
}

bool live_table_is_valid(const struct live_table *table)
{
    size_t used = 0, of_space[SPACE_COUNT] = {0};
    if (!table->slots)
        return table->capacity == 0 && table->used == 0;
    for (size_t i = 0; i < table->capacity; i++) {
        const struct live_entry *entry = &table->slots[i];
        if (!entry->used)
            continue;
        used++;
        if (entry->space >= SPACE_COUNT || entry->serial == 0 ||
            slot_of(table, (enum live_space)entry->space, entry->key) != entry)
            return false;
        of_space[entry->space]++;
    }
    return memcmp(of_space, table->of_space, sizeof of_space) == 0 && used == table->used &&
           used <= table->capacity / 4 * 3 && (table->capacity & (table->capacity - 1)) == 0;
}
