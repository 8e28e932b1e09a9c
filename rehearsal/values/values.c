/* values.c - see values.h. Pages in a table of open addressing, by their number. */
#include "values.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "mem.h"
#include "pending.h"
#include "record.h"

#define SLOTS (VALUES_PAGES * 2u)
#define LOST 4096u

enum { KNOWN = 1, KNOWN_REAL = 2 };

struct page {
    uint64_t number;               /* address / VALUES_PAGE */
    struct page *older, *newer;    /* by when they were written last: the oldest gives way */
    uint32_t known;                /* bytes */
    uint8_t is_known[VALUES_PAGE]; /* KNOWN or KNOWN_REAL */
    uint8_t bytes[VALUES_PAGE];
};

static struct {
    pthread_mutex_t lock;
    struct page **slots; /* SLOTS of them, once something was known */
    uint32_t count;
    struct page *oldest, *newest;
    uint64_t lost[LOST]; /* the last pages that gave way; 0: handed out anew since */
    uint64_t losses;
    uint64_t low, high; /* all that is known lies between: most of what is asked for does not */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Atomic bool have_lost;
static _Atomic uint32_t pages_known; /* table.count, for those who do not hold the lock */

/* ---- pages, under the lock ---- */

static uint32_t slot_of(uint64_t number)
{
    return (uint32_t)((number * UINT64_C(0x9e3779b97f4a7c15)) >> 40) % SLOTS;
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
        set_count(table.count + 1);
        widen(number * VALUES_PAGE);
    }
    return *slot;
}

static void forget_in(struct page **slot, uint32_t from, uint32_t count)
{
    struct page *page = *slot;
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

/* Of a long range: looks at the pages that there are, not at those that there might be. */
static void forget_long(uint64_t at, uint64_t count)
{
    for (uint32_t i = 0; i < SLOTS && table.count; i++) {
        struct page *page = table.slots[i];
        uint64_t base = page ? page->number * VALUES_PAGE : 0;
        if (!page || base + VALUES_PAGE <= at || base >= at + count)
            continue;
        uint64_t from = base < at ? at - base : 0;
        uint64_t to = at + count - base < VALUES_PAGE ? at + count - base : VALUES_PAGE;
        forget_in(&table.slots[i], (uint32_t)from, (uint32_t)(to - from));
        i -= table.slots[i] != page && table.slots[i]; /* another one came into the gap */
    }
}

static void forget(uint64_t at, uint64_t count)
{
    if (table.count == 0 || at >= table.high || at + count <= table.low)
        return;
    if (count / VALUES_PAGE > SLOTS / 16) {
        forget_long(at, count);
        return;
    }
    for (uint32_t part; count; at += part, count -= part) {
        struct page **slot = find(at / VALUES_PAGE);
        part = part_of(at, count);
        if (*slot)
            forget_in(slot, at % VALUES_PAGE, part);
    }
}

static bool put(uint64_t at, const uint8_t *bytes, int value, uint64_t count, int how)
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
        memset(page->is_known + from, how, part);
        if (bytes) {
            memcpy(page->bytes + from, bytes, part);
            bytes += part;
        } else {
            memset(page->bytes + from, value, part);
        }
    }
    return true;
}

/* ---- forks ---- */

static void before_fork(void)
{
    pthread_mutex_lock(&table.lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&table.lock);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}

/* ---- what others call ---- */

static void put_or_forget(uint64_t at, const void *bytes, int value, uint64_t count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&table.lock);
    if (count > VALUES_MOST || !put(at, bytes, value, count, KNOWN))
        forget(at, count);
    pthread_mutex_unlock(&table.lock);
}

void values_arrive(uint64_t at, const void *bytes, uint64_t count)
{
    put_or_forget(at, bytes, 0, count);
}

/* Words of whole numbers are small, also below zero; those of floats have an exponent in front. A
 * few of them tell: of a tensor of weights the first ones do. */
#define WORDS_SEEN 256u

static bool looks_whole(const void *bytes, uint64_t count)
{
    uint64_t words = count / sizeof(uint32_t), step = words / WORDS_SEEN + 1;
    for (uint64_t i = 0; i < words; i += step | 1) { /* odd: of longs both halves are seen */
        uint32_t word;
        memcpy(&word, (const char *)bytes + i * sizeof word, sizeof word);
        if (word >> 25 != 0 && word >> 25 != UINT32_MAX >> 25)
            return false;
    }
    return true;
}

void values_bring(uint64_t at, const void *bytes, uint64_t count)
{
    if (count <= VALUES_PLAIN || (count <= VALUES_MOST && looks_whole(bytes, count)))
        values_put(at, bytes, count);
    else
        values_forget(at, count);
}

void values_put(uint64_t at, const void *bytes, uint64_t count)
{
    if (record_of_thread()) {
        record_add(record_of_thread(), at, count);
        return;
    }
    pending_cancel(at, count);
    put_or_forget(at, bytes, 0, count);
}

void values_fill(uint64_t at, int value, uint64_t count)
{
    if (record_of_thread()) {
        record_add(record_of_thread(), at, count);
        return;
    }
    pending_cancel(at, count);
    put_or_forget(at, NULL, value, count);
}

void values_forget(uint64_t at, uint64_t count)
{
    if (record_of_thread()) {
        record_add(record_of_thread(), at, count);
        return;
    }
    if (!values_any())
        return;
    pending_cancel(at, count);
    pthread_mutex_lock(&table.lock);
    forget(at, count);
    pthread_mutex_unlock(&table.lock);
}

/* The blocks that were handed out last, by address; an older one gives way to a newer. */
#define BLOCKS 16384u

static struct {
    _Atomic uint64_t at, count;
} blocks[BLOCKS];

static uint32_t block_slot(uint64_t at)
{
    return (uint32_t)((at * UINT64_C(0x9e3779b97f4a7c15)) >> 44) % BLOCKS;
}

/* What gave way and lay in what is handed out anew is missed by nobody. */
static void find_again(uint64_t at, uint64_t count)
{
    if (!atomic_load_explicit(&have_lost, memory_order_relaxed))
        return;
    pthread_mutex_lock(&table.lock);
    for (uint32_t i = 0; i < LOST; i++)
        if (table.lost[i] && table.lost[i] * VALUES_PAGE >= at &&
            (table.lost[i] + 1) * VALUES_PAGE <= at + count)
            table.lost[i] = 0;
    pthread_mutex_unlock(&table.lock);
}

bool values_was_lost(uint64_t at, uint64_t count)
{
    bool lost = false;
    if (!atomic_load_explicit(&have_lost, memory_order_relaxed))
        return false;
    pthread_mutex_lock(&table.lock);
    for (uint32_t i = 0; i < LOST && !lost; i++)
        lost = table.lost[i] && table.lost[i] * VALUES_PAGE < at + count &&
               (table.lost[i] + 1) * VALUES_PAGE > at;
    pthread_mutex_unlock(&table.lock);
    return lost;
}

void values_block(uint64_t at, uint64_t count)
{
    uint32_t slot = block_slot(at);
    values_forget(at, count);
    find_again(at, count);
    atomic_store(&blocks[slot].at, 0);
    atomic_store(&blocks[slot].count, count);
    atomic_store(&blocks[slot].at, at);
}

void values_forget_run(uint64_t at)
{
    uint32_t block = block_slot(at);
    bool begins = atomic_load(&blocks[block].at) == at;
    if (record_of_thread()) {
        record_add(record_of_thread(), at, begins ? atomic_load(&blocks[block].count) : 0);
        return;
    }
    if (!values_any())
        return;
    if (begins)
        values_forget(at, atomic_load(&blocks[block].count));
    pending_cancel(at, 1);
    pthread_mutex_lock(&table.lock);
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
    pthread_mutex_unlock(&table.lock);
}

void values_forget_all(void)
{
    if (record_of_thread()) {
        record_everything(record_of_thread());
        return;
    }
    pending_cancel_all();
    pthread_mutex_lock(&table.lock);
    for (uint32_t i = 0; table.slots && i < SLOTS; i++)
        mem_free(table.slots[i]);
    mem_free(table.slots);
    table.slots = NULL;
    table.oldest = table.newest = NULL;
    set_count(0);
    pthread_mutex_unlock(&table.lock);
}

static bool get(uint64_t at, uint8_t *bytes, uint64_t count)
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

bool values_get(uint64_t at, void *bytes, uint64_t count)
{
    if (!values_any() || record_of_thread()) {
        memset(bytes, 0, count);
        return count == 0;
    }
    if (pending_any())
        (void)pending_wait_some(at, count);
    pthread_mutex_lock(&table.lock);
    bool all = get(at, bytes, count);
    pthread_mutex_unlock(&table.lock);
    return all;
}

static _Atomic bool have_reals;

void values_put_real(uint64_t at, const void *bytes, uint64_t count)
{
    if (record_of_thread()) {
        record_add(record_of_thread(), at, count);
        return;
    }
    pending_cancel(at, count);
    pthread_mutex_lock(&table.lock);
    if (!put(at, bytes, 0, count, KNOWN_REAL))
        forget(at, count);
    atomic_store(&have_reals, true);
    pthread_mutex_unlock(&table.lock);
}

static bool are_reals(uint64_t at, uint64_t count)
{
    for (uint32_t part; count; at += part, count -= part) {
        const struct page *page = table.slots ? *find(at / VALUES_PAGE) : NULL;
        part = part_of(at, count);
        for (uint32_t i = 0; i < part; i++)
            if (!page || page->is_known[at % VALUES_PAGE + i] != KNOWN_REAL)
                return false;
    }
    return true;
}

bool values_get_real(uint64_t at, void *bytes, uint64_t count)
{
    if (!atomic_load_explicit(&have_reals, memory_order_relaxed) || record_of_thread())
        return false;
    pthread_mutex_lock(&table.lock);
    bool all = are_reals(at, count) && get(at, bytes, count);
    pthread_mutex_unlock(&table.lock);
    return all;
}

static void forget_reals_of(struct page **slot)
{
    struct page *page = *slot;
    for (uint32_t i = 0; i < VALUES_PAGE && *slot == page; i++)
        if (page->is_known[i] == KNOWN_REAL)
            forget_in(slot, i, 1);
}

void values_forget_reals(void)
{
    if (!atomic_load_explicit(&have_reals, memory_order_relaxed))
        return;
    pthread_mutex_lock(&table.lock);
    atomic_store(&have_reals, false);
    for (uint32_t i = 0; i < SLOTS && table.count; i++) {
        struct page *page = table.slots[i];
        if (page)
            forget_reals_of(&table.slots[i]);
        i -= page && table.slots[i] != page && table.slots[i]; /* another one came into the gap */
    }
    pthread_mutex_unlock(&table.lock);
}

void values_move(uint64_t to, uint64_t from, uint64_t count)
{
    if (record_of_thread()) {
        record_add(record_of_thread(), to, count);
        return;
    }
    uint8_t *bytes = count <= VALUES_MOST ? mem_alloc(1, count + 1) : NULL;
    if (bytes && values_get_real(from, bytes, count))
        values_put_real(to, bytes, count);
    else if (bytes && values_get(from, bytes, count))
        values_put(to, bytes, count);
    else
        values_forget(to, count);
    mem_free(bytes);
}

bool values_any(void)
{
    return atomic_load_explicit(&pages_known, memory_order_acquire) != 0 || pending_any();
}

static bool page_is_valid(const struct page *page)
{
    uint32_t known = 0;
    for (uint32_t i = 0; i < VALUES_PAGE; i++) {
        known += page->is_known[i] != 0;
        if (page->is_known[i] > KNOWN_REAL || (!page->is_known[i] && page->bytes[i]))
            return false;
    }
    return known == page->known && known > 0;
}

bool values_are_valid(void)
{
    uint32_t count = 0;
    bool valid = true;
    pthread_mutex_lock(&table.lock);
    for (uint32_t i = 0; table.slots && i < SLOTS; i++) {
        struct page *page = table.slots[i];
        count += page != NULL;
        valid &= !page || (page_is_valid(page) && *find(page->number) == page);
    }
    valid &= count == table.count && count <= VALUES_PAGES && pages_known == count;
    pthread_mutex_unlock(&table.lock);
    return valid;
}
