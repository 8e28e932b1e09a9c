/* values.c - see values.h. The lock of the pages; what records and pending work have to know. */
#include "values.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "mem.h"
#include "pages.h"
#include "pending.h"
#include "record.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the pages */

/* ---- forks ---- */

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
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

static bool is_block(uint64_t at)
{
    return atomic_load_explicit(&blocks[block_slot(at)].at, memory_order_relaxed) == at;
}

/* ---- what others call ---- */

#define SCALAR_MOST 8u /* bytes */

/* At most one number, at the beginning of a block: what a library writes there begins there. */
static bool is_scalar(uint64_t at, uint64_t count)
{
    return count <= SCALAR_MOST && (is_block(at) || pages_begin(at));
}

static _Atomic bool have_reals, have_scalars;

static void put_or_forget(uint64_t at, const void *bytes, int value, uint64_t count, bool real)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    enum known how = KNOWN;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&lock);
    if (real)
        how = is_scalar(at, count) ? KNOWN_SCALAR : KNOWN_REAL;
    have_reals |= how == KNOWN_REAL;
    have_scalars |= how == KNOWN_SCALAR;
    if (count > VALUES_MOST || !pages_put(at, bytes, value, count, how))
        pages_forget(at, count);
    else if (is_block(at)) /* which is not remembered for long */
        pages_note_begin(at);
    pthread_mutex_unlock(&lock);
}

void values_arrive(uint64_t at, const void *bytes, uint64_t count)
{
    put_or_forget(at, bytes, 0, count, false);
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
    put_or_forget(at, bytes, 0, count, false);
}

void values_fill(uint64_t at, int value, uint64_t count)
{
    if (record_of_thread()) {
        record_add(record_of_thread(), at, count);
        return;
    }
    pending_cancel(at, count);
    put_or_forget(at, NULL, value, count, false);
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
    pthread_mutex_lock(&lock);
    pages_forget(at, count);
    pthread_mutex_unlock(&lock);
}

static _Atomic uint64_t longest; /* of all blocks that there were */

static void note_length(uint64_t count)
{
    uint64_t most = atomic_load_explicit(&longest, memory_order_relaxed);
    while (count > most && !atomic_compare_exchange_weak(&longest, &most, count))
        continue;
}

static void find_again(uint64_t at, uint64_t count)
{
    if (!pages_gave_way())
        return;
    pthread_mutex_lock(&lock);
    pages_find_again(at, count);
    pthread_mutex_unlock(&lock);
}

bool values_was_lost(uint64_t at, uint64_t count)
{
    if (!pages_gave_way())
        return false;
    pthread_mutex_lock(&lock);
    bool lost = pages_were_lost(at, count);
    pthread_mutex_unlock(&lock);
    return lost;
}

/* Where whole numbers stand that are not known; an older address gives way to a newer. */
#define WHOLES 4096u
static _Atomic uint64_t wholes[WHOLES];

static _Atomic uint64_t *whole_of(uint64_t at)
{
    return &wholes[((at * UINT64_C(0x9e3779b97f4a7c15)) >> 40) % WHOLES];
}

void values_forget_whole(uint64_t at, uint64_t count)
{
    values_forget(at, count);
    atomic_store_explicit(whole_of(at), at, memory_order_relaxed);
}

static bool is_noted(uint64_t at)
{
    return atomic_load_explicit(whole_of(at), memory_order_relaxed) == at;
}

/* Further back no block is looked for: what is asked for are small ones. */
#define STEPS_BACK 128u

/* None begins inside of another one, as far as it is looked for. */
static void forget_blocks(uint64_t at, uint64_t count)
{
    for (uint64_t step = 1; step <= STEPS_BACK && step * PAGES_STEP < count; step++) {
        uint64_t inside = at + step * PAGES_STEP;
        if (is_block(inside))
            atomic_store(&blocks[block_slot(inside)].at, 0);
    }
}

void values_block(uint64_t at, uint64_t count)
{
    uint32_t slot = block_slot(at);
    values_forget(at, count);
    find_again(at, count);
    if (is_noted(at))
        atomic_store(whole_of(at), 0);
    note_length(count);
    forget_blocks(at, count);
    atomic_store(&blocks[slot].at, 0);
    atomic_store(&blocks[slot].count, count);
    atomic_store(&blocks[slot].at, at);
}

/* Where its block begins, and how many bytes of that lie behind the address; 0: which block that
 * is, is not known. */
static uint64_t find_block(uint64_t at, uint64_t *rest)
{
    uint64_t begin = at;
    *rest = 0;
    for (uint32_t step = 0; step <= STEPS_BACK; step++) {
        uint32_t slot = block_slot(begin);
        if (atomic_load_explicit(&blocks[slot].at, memory_order_relaxed) == begin) {
            uint64_t count = atomic_load_explicit(&blocks[slot].count, memory_order_relaxed);
            *rest = begin + count > at ? begin + count - at : 0;
            return *rest ? begin : 0;
        }
        begin = begin == at && at % PAGES_STEP ? at - at % PAGES_STEP : begin - PAGES_STEP;
    }
    return 0;
}

static uint64_t rest_of_block(uint64_t at)
{
    uint64_t rest;
    find_block(at, &rest);
    return rest;
}

/* A tensor begins where its block does; what is read may be a part of it. */
bool values_is_whole(uint64_t at)
{
    uint64_t rest, begin = is_noted(at) ? 0 : find_block(at, &rest);
    return is_noted(at) || (begin && is_noted(begin));
}

bool values_in_block(uint64_t at)
{
    return rest_of_block(at) > 0;
}

void values_note_whole(uint64_t at)
{
    if (values_in_block(at) && !values_are_known(at, 1))
        atomic_store_explicit(whole_of(at), at, memory_order_relaxed);
}

/* What is known there is plainly a length or an index, not a weight or a bias: if it is forgotten,
 * who reads it is to be told. */
static bool holds_whole(uint64_t at)
{
    uint8_t bytes[64] = {0}, none[sizeof bytes] = {0};
    uint64_t room = VALUES_PAGE - at % VALUES_PAGE;
    pthread_mutex_lock(&lock);
    if (pages_are(at, 1, KNOWN))
        (void)pages_get(at, bytes, room < sizeof bytes ? room : sizeof bytes);
    pthread_mutex_unlock(&lock);
    return memcmp(bytes, none, sizeof bytes) != 0 && looks_whole(bytes, sizeof bytes);
}

void values_forget_run(uint64_t at)
{
    if (!record_of_thread() && !values_any())
        return;
    if (!record_of_thread() && !pending_any() && !pages_may_be_in(at, atomic_load(&longest) + 1))
        return; /* most words that are looked at are no addresses */
    uint64_t rest = rest_of_block(at);
    if (record_of_thread()) {
        record_add(record_of_thread(), at, rest);
        return;
    }
    if (holds_whole(at))
        atomic_store_explicit(whole_of(at), at, memory_order_relaxed);
    if (rest)
        values_forget(at, rest);
    pending_cancel(at, 1);
    pthread_mutex_lock(&lock);
    pages_forget_run(at);
    pthread_mutex_unlock(&lock);
}

void values_forget_all(void)
{
    if (record_of_thread()) {
        record_everything(record_of_thread());
        return;
    }
    pending_cancel_all();
    pthread_mutex_lock(&lock);
    pages_forget_all();
    pthread_mutex_unlock(&lock);
}

bool values_get(uint64_t at, void *bytes, uint64_t count)
{
    if (!values_any() || record_of_thread()) {
        memset(bytes, 0, count);
        return count == 0;
    }
    if (pending_any())
        (void)pending_wait_some(at, count);
    pthread_mutex_lock(&lock);
    bool all = pages_get(at, bytes, count);
    pthread_mutex_unlock(&lock);
    return all;
}

bool values_are_known(uint64_t at, uint64_t count)
{
    if (!values_any() || record_of_thread())
        return count == 0;
    if (pending_any())
        (void)pending_wait_some(at, count);
    pthread_mutex_lock(&lock);
    bool all = pages_know(at, count);
    pthread_mutex_unlock(&lock);
    return all;
}

void values_put_real(uint64_t at, const void *bytes, uint64_t count)
{
    if (record_of_thread()) {
        record_add(record_of_thread(), at, count);
        return;
    }
    pending_cancel(at, count);
    put_or_forget(at, bytes, 0, count, true);
}

static bool are_marked(uint64_t at, uint64_t count)
{
    return (have_reals && pages_are(at, count, KNOWN_REAL)) ||
           (have_scalars && pages_are(at, count, KNOWN_SCALAR));
}

static bool are_real(uint64_t at, uint64_t count)
{
    return are_marked(at, count) || (is_scalar(at, count) && pages_know(at, count));
}

bool values_get_real(uint64_t at, void *bytes, uint64_t count)
{
    if (!pages_any() || record_of_thread())
        return false;
    pthread_mutex_lock(&lock);
    bool all = are_real(at, count) && pages_get(at, bytes, count);
    pthread_mutex_unlock(&lock);
    return all;
}

bool values_are_real(uint64_t at, uint64_t count)
{
    if (!pages_any() || record_of_thread())
        return false;
    pthread_mutex_lock(&lock);
    bool all = are_real(at, count);
    pthread_mutex_unlock(&lock);
    return all;
}

static void forget_scalar(uint64_t at)
{
    if (pages_may_be_in(at, 1) && pages_are(at, 1, KNOWN_SCALAR))
        pages_forget(at, SCALAR_MOST);
}

void values_forget_led_to(const uint64_t *arguments, uint32_t count)
{
    if (have_reals) {
        pthread_mutex_lock(&lock);
        atomic_store(&have_reals, false);
        pages_forget_known(KNOWN_REAL);
        pthread_mutex_unlock(&lock);
    }
    if (!have_scalars)
        return;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < count; i++)
        forget_scalar(arguments[i]);
    pthread_mutex_unlock(&lock);
}

void values_forget_reals(void)
{
    if (!have_reals && !have_scalars)
        return;
    pthread_mutex_lock(&lock);
    atomic_store(&have_reals, false);
    atomic_store(&have_scalars, false);
    pages_forget_known(KNOWN_REAL);
    pages_forget_known(KNOWN_SCALAR);
    pthread_mutex_unlock(&lock);
}

static bool get_marked(uint64_t at, void *bytes, uint64_t count)
{
    pthread_mutex_lock(&lock);
    bool all = are_marked(at, count) && pages_get(at, bytes, count);
    pthread_mutex_unlock(&lock);
    return all;
}

void values_move(uint64_t to, uint64_t from, uint64_t count)
{
    if (record_of_thread()) {
        record_add(record_of_thread(), to, count);
        return;
    }
    bool known = count <= VALUES_MOST && values_are_known(from, count);
    uint8_t *bytes = known ? mem_alloc(1, count + 1) : NULL;
    if (bytes && get_marked(from, bytes, count))
        values_put_real(to, bytes, count);
    else if (bytes && values_get(from, bytes, count))
        values_put(to, bytes, count);
    else
        values_forget(to, count);
    if (!known && values_is_whole(from))
        values_note_whole(to);
    mem_free(bytes);
}

bool values_any(void)
{
    return pages_any() || pending_any();
}

bool values_are_valid(void)
{
    pthread_mutex_lock(&lock);
    bool valid = pages_are_valid();
    pthread_mutex_unlock(&lock);
    return valid;
}
