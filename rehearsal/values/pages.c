/*
 * pages.c - see pages.h: a table of open addressing, by the page's number, and for each region how
 * many of its pages are known: what is forgotten is large most of the time, a tensor that is
 * written, and next to nothing of it is known.
 */
#include "pages.h"

#include <stdatomic.h>
#include <string.h>

#include "mem.h"
#include "values.h"

#define SLOTS (VALUES_PAGES * 2u)
#define LOST 4096u
#define REGION 64u /* pages */
#define COUNTS 65536u
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

struct page {
    uint64_t number;               /* address / VALUES_PAGE */
    struct page *older, *newer;    /* by when they were written last: the oldest gives way */
    uint32_t known;                /* bytes */
    uint8_t has;                   /* or had: a bit for each way to be known */
    uint8_t begins;                /* a bit for each step: a block is known to begin there */
    uint8_t is_known[VALUES_PAGE]; /* 0, or how */
    uint8_t bytes[VALUES_PAGE];
};

static struct {
    struct page **slots; /* SLOTS of them, once something was known */
    uint32_t count;
    struct page *oldest, *newest;
    uint16_t in_region[COUNTS]; /* pages, of all regions that share a count */
    uint64_t lost[LOST];        /* the last pages that gave way; 0: handed out anew since */
    uint64_t losses;
    /* All that is known lies between: most of what is asked for does not. */
    _Atomic uint64_t low, high;
} table;

static _Atomic bool have_lost;
static _Atomic uint32_t pages_known; /* table.count, for those who do not hold the lock */

static uint32_t slot_of(uint64_t number)
{
    return (uint32_t)((number * GOLDEN) >> 40) % SLOTS;
}

static uint16_t *count_of_region(uint64_t number)
{
    return &table.in_region[((number / REGION * GOLDEN) >> 40) % COUNTS];
}

static struct page **find(uint64_t number)
{
    uint32_t at = slot_of(number);
    while (table.slots[at] && table.slots[at]->number != number)
        at = (at + 1) % SLOTS;
    return &table.slots[at];
}

static void set_count(uint32_t count)
{
    table.count = count;
    atomic_store_explicit(&pages_known, count, memory_order_release);
}

static void widen(uint64_t base)
{
    if (table.count == 1 || base < table.low)
        table.low = base;
    if (table.count == 1 || base + VALUES_PAGE > table.high)
        table.high = base + VALUES_PAGE;
}

static void link_newest(struct page *page)
{
    page->newer = NULL;
    page->older = table.newest;
    if (table.newest)
        table.newest->newer = page;
    else
        table.oldest = page;
    table.newest = page;
}

static void unlink_page(struct page *page)
{
    *(page->older ? &page->older->newer : &table.oldest) = page->newer;
    *(page->newer ? &page->newer->older : &table.newest) = page->older;
}

/* Takes a page out, and closes the gap that it leaves for those that were put behind it. */
static void drop(struct page **slot)
{
    uint32_t hole = (uint32_t)(slot - table.slots), at = hole;
    unlink_page(*slot);
    --*count_of_region((*slot)->number);
    mem_free(*slot);
    *slot = NULL;
    set_count(table.count - 1);
    while (table.slots[at = (at + 1) % SLOTS]) {
        uint32_t home = slot_of(table.slots[at]->number);
        if ((at - home + SLOTS) % SLOTS < (at - hole + SLOTS) % SLOTS)
            continue;
        table.slots[hole] = table.slots[at];
        table.slots[at] = NULL;
        hole = at;
    }
}

static void make_room(void)
{
    if (table.count < VALUES_PAGES)
        return;
    table.lost[table.losses++ % LOST] = table.oldest->number;
    atomic_store(&have_lost, true);
    drop(find(table.oldest->number));
}

static struct page *page_for(uint64_t number)
{
    if (!table.slots)
        table.slots = mem_alloc(SLOTS, sizeof *table.slots);
    if (!table.slots)
        return NULL;
    struct page **slot = find(number);
    if (*slot) {
        unlink_page(*slot);
        link_newest(*slot);
        return *slot;
    }
    make_room();
    slot = find(number); /* a gap may have been closed */
    *slot = mem_alloc(1, sizeof **slot);
    if (*slot) {
        (*slot)->number = number;
        link_newest(*slot);
        ++*count_of_region(number);
        set_count(table.count + 1);
        widen(number * VALUES_PAGE);
    }
    return *slot;
}

static uint8_t step_bit(uint64_t at)
{
    return (uint8_t)(1U << at % VALUES_PAGE / PAGES_STEP);
}

static void forget_in(struct page **slot, uint32_t from, uint32_t count)
{
    struct page *page = *slot;
    for (uint32_t i = 0; i < VALUES_PAGE; i += PAGES_STEP)
        if (i >= from && i < from + count)
            page->begins &= (uint8_t)~step_bit(i);
    if (count == VALUES_PAGE) {
        drop(slot);
        return;
    }
    for (uint32_t i = from; i < from + count; i++)
        page->known -= page->is_known[i] != 0;
    memset(page->is_known + from, 0, count);
    memset(page->bytes + from, 0, count);
    if (page->known == 0)
        drop(slot);
}

/* The part of [at, at + count) that lies in its first page. */
static uint32_t part_of(uint64_t at, uint64_t count)
{
    uint64_t room = VALUES_PAGE - at % VALUES_PAGE;
    return (uint32_t)(count < room ? count : room);
}

/* Those of the page's bytes that lie in [at, end). */
static void forget_part(struct page **slot, uint64_t at, uint64_t end)
{
    uint64_t base = (*slot)->number * VALUES_PAGE;
    uint64_t from = base < at ? at - base : 0;
    uint64_t to = end - base < VALUES_PAGE ? end - base : VALUES_PAGE;
    forget_in(slot, (uint32_t)from, (uint32_t)(to - from));
}

/* Looks at the pages that there are, not at those that there might be. */
static void forget_listed(uint64_t at, uint64_t end)
{
    for (struct page *page = table.oldest, *newer; page; page = newer) {
        uint64_t base = page->number * VALUES_PAGE;
        newer = page->newer;
        if (base + VALUES_PAGE > at && base < end)
            forget_part(find(page->number), at, end);
    }
}

static void forget_regions(uint64_t at, uint64_t end)
{
    for (uint64_t number = at / VALUES_PAGE; number * VALUES_PAGE < end;) {
        if (!*count_of_region(number)) {
            number += REGION - number % REGION;
            continue;
        }
        struct page **slot = find(number++);
        if (*slot)
            forget_part(slot, at, end);
    }
}

#define REGIONS_A_PAGE 32u /* are looked at in the time that one page in a list takes */

void pages_forget(uint64_t at, uint64_t count)
{
    uint64_t end = at + count < table.high ? at + count : table.high;
    if (table.count == 0 || at >= table.high || end <= table.low)
        return;
    at = at > table.low ? at : table.low;
    if ((end - at) / (REGION * VALUES_PAGE) > (uint64_t)table.count * REGIONS_A_PAGE)
        forget_listed(at, end);
    else
        forget_regions(at, end);
}

bool pages_put(uint64_t at, const uint8_t *bytes, int value, uint64_t count, enum known how)
{
    for (uint32_t part; count; at += part, count -= part) {
        struct page *page = page_for(at / VALUES_PAGE);
        uint32_t from = at % VALUES_PAGE;
        part = part_of(at, count);
        if (!page)
            return false;
        if (page->known < VALUES_PAGE)
            for (uint32_t i = from; i < from + part; i++)
                page->known += !page->is_known[i];
        memset(page->is_known + from, (int)how, part);
        page->has |= (uint8_t)(1U << how);
        if (bytes) {
            memcpy(page->bytes + from, bytes, part);
            bytes += part;
        } else {
            memset(page->bytes + from, value, part);
        }
    }
    return true;
}

void pages_note_begin(uint64_t at)
{
    struct page **slot = table.slots ? find(at / VALUES_PAGE) : NULL;
    if (slot && *slot && at % PAGES_STEP == 0)
        (*slot)->begins |= step_bit(at);
}

bool pages_begin(uint64_t at)
{
    struct page **slot = table.slots ? find(at / VALUES_PAGE) : NULL;
    return slot && *slot && at % PAGES_STEP == 0 && ((*slot)->begins & step_bit(at));
}

void pages_forget_run(uint64_t at)
{
    while (table.count) {
        struct page **slot = find(at / VALUES_PAGE);
        uint32_t from = at % VALUES_PAGE, to = from;
        while (*slot && to < VALUES_PAGE && (*slot)->is_known[to])
            to++;
        if (to == from)
            break;
        forget_in(slot, from, to - from);
        at += to - from;
        if (to < VALUES_PAGE)
            break;
    }
}

void pages_forget_all(void)
{
    for (uint32_t i = 0; table.slots && i < SLOTS; i++)
        mem_free(table.slots[i]);
    mem_free(table.slots);
    table.slots = NULL;
    table.oldest = table.newest = NULL;
    if (table.count)
        memset(table.in_region, 0, sizeof table.in_region);
    set_count(0);
}

static void forget_these(struct page **slot, enum known how)
{
    struct page *page = *slot;
    page->has &= (uint8_t) ~(1U << how);
    for (uint32_t i = 0; i < VALUES_PAGE && *slot == page; i++)
        if (page->is_known[i] == how)
            forget_in(slot, i, 1);
}

void pages_forget_known(enum known how)
{
    for (struct page *page = table.oldest, *newer; page; page = newer) {
        newer = page->newer;
        if (page->has & 1U << how)
            forget_these(find(page->number), how);
    }
}

/* ---- reading ---- */

bool pages_any(void)
{
    return atomic_load_explicit(&pages_known, memory_order_acquire) != 0;
}

bool pages_may_be_in(uint64_t at, uint64_t count)
{
    return pages_any() && at < table.high && at + count > table.low;
}

bool pages_get(uint64_t at, uint8_t *bytes, uint64_t count)
{
    bool all = true;
    for (uint32_t part; count; at += part, bytes += part, count -= part) {
        struct page *page = table.slots ? *find(at / VALUES_PAGE) : NULL;
        uint32_t from = at % VALUES_PAGE;
        part = part_of(at, count);
        if (page)
            memcpy(bytes, page->bytes + from, part);
        else
            memset(bytes, 0, part);
        all &= page && memchr(page->is_known + from, 0, part) == NULL;
    }
    return all;
}

bool pages_know(uint64_t at, uint64_t count)
{
    for (uint32_t part; count; at += part, count -= part) {
        const struct page *page = table.slots ? *find(at / VALUES_PAGE) : NULL;
        part = part_of(at, count);
        if (!page || memchr(page->is_known + at % VALUES_PAGE, 0, part))
            return false;
    }
    return true;
}

bool pages_are(uint64_t at, uint64_t count, enum known how)
{
    for (uint32_t part; count; at += part, count -= part) {
        const struct page *page = table.slots ? *find(at / VALUES_PAGE) : NULL;
        part = part_of(at, count);
        for (uint32_t i = 0; i < part; i++)
            if (!page || page->is_known[at % VALUES_PAGE + i] != how)
                return false;
    }
    return true;
}

/* ---- what gave way ---- */

bool pages_gave_way(void)
{
    return atomic_load_explicit(&have_lost, memory_order_relaxed);
}

void pages_find_again(uint64_t at, uint64_t count)
{
    for (uint32_t i = 0; i < LOST; i++)
        if (table.lost[i] && table.lost[i] * VALUES_PAGE >= at &&
            (table.lost[i] + 1) * VALUES_PAGE <= at + count)
            table.lost[i] = 0;
}

bool pages_were_lost(uint64_t at, uint64_t count)
{
    bool lost = false;
    for (uint32_t i = 0; i < LOST && !lost; i++)
        lost = table.lost[i] && table.lost[i] * VALUES_PAGE < at + count &&
               (table.lost[i] + 1) * VALUES_PAGE > at;
    return lost;
}

/* As many are counted as there are. */
static bool counts_are_valid(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < COUNTS; i++)
        count += table.in_region[i];
    return count == table.count;
}

static bool page_is_valid(const struct page *page)
{
    uint32_t known = 0;
    for (uint32_t i = 0; i < VALUES_PAGE; i++) {
        known += page->is_known[i] != 0;
        if (page->is_known[i] > KNOWN_SCALAR || (!page->is_known[i] && page->bytes[i]))
            return false;
    }
    return known == page->known && known > 0;
}

bool pages_are_valid(void)
{
    uint32_t count = 0;
    bool valid = true;
    for (uint32_t i = 0; table.slots && i < SLOTS; i++) {
        struct page *page = table.slots[i];
        count += page != NULL;
        valid &= !page || (page_is_valid(page) && *find(page->number) == page);
    }
    return valid && counts_are_valid() && count == table.count && count <= VALUES_PAGES &&
           pages_known == count;
}
