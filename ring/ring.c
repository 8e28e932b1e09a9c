/*
 * ring.c - the program's side of a ring: attaching, and the producer's slow path. The recorder's
 * side is ring_create.c and ring_reader.c; the protocol is explained in ring.h.
 */
#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "error.h"
#include "futex.h"
#include "ring_fast.h"

#define PAGE 4096u
#define HEADER_WORDS 8 /* what is written once: the first line of struct ring_shared */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
/* How soon a waiting producer sees that the recorder died. */
#define WAIT_SLICE_NS (10 * NS_PER_MS)
#define PATIENT_LOOKS (RING_PATIENCE_MS * NS_PER_MS / WAIT_SLICE_NS)

static uint64_t pages(uint64_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

void ring_lay_out(struct ring_shared *ring, unsigned slot_bits, uint64_t arena_bytes)
{
    ring->magic = RING_MAGIC;
    ring->format = EVENT_FORMAT;
    ring->slot_bits = slot_bits;
    ring->slots_offset = pages(sizeof *ring);
    ring->arena_offset = ring->slots_offset + ((uint64_t)sizeof(struct event) << slot_bits);
    ring->arena_bytes = pages(arena_bytes);
    ring->map_bytes = ring->arena_offset + ring->arena_bytes;
}

void ring_close(struct ring_shared *ring)
{
    atomic_store(&ring->mode, RING_CLOSED);
    atomic_store(&ring->limit, 0);
    atomic_fetch_add(&ring->progress, 1);
    futex_wake_all(&ring->progress);
}

static_assert(offsetof(struct ring_shared, head) == HEADER_WORDS * sizeof(uint64_t),
              "the first line");

/* The one look at a header: whatever it becomes after that, what was checked is what is used. */
static bool read_header(const struct ring_shared *ring, struct ring_shared *seen)
{
    struct ring_shared plan = {0};
    const uint64_t *from = (const uint64_t *)(const void *)ring;
    uint64_t words[HEADER_WORDS];
    for (int i = 0; i < HEADER_WORDS; i++)
        words[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
    memcpy(seen, words, sizeof words);
    if (seen->magic != RING_MAGIC || seen->format != EVENT_FORMAT ||
        seen->slot_bits < RING_MIN_BITS || seen->slot_bits > RING_MAX_BITS ||
        seen->arena_bytes > RING_MOST_ARENA)
        return false;
    ring_lay_out(&plan, seen->slot_bits, seen->arena_bytes);
    return seen->slots_offset == plan.slots_offset && seen->arena_offset == plan.arena_offset &&
           seen->arena_bytes == plan.arena_bytes && seen->map_bytes == plan.map_bytes;
}

bool ring_is_valid(const struct ring_shared *ring)
{
    struct ring_shared seen;
    if (!read_header(ring, &seen))
        return false;
    uint64_t limit = atomic_load(&ring->limit);
    return atomic_load(&ring->mode) == RING_CLOSED || atomic_load(&ring->head) <= limit;
}

static void fill(struct ring *ring, struct ring_shared *shared, const struct ring_shared *seen)
{
    ring->shared = shared;
    ring->slots = (struct event *)((char *)shared + seen->slots_offset);
    ring->mask = (1ull << seen->slot_bits) - 1;
    ring->map_bytes = seen->map_bytes;
    ring->key = seen->key;
    ring->arena_first = seen->arena_first;
    arena_begin(&ring->arena, shared, (char *)shared + seen->arena_offset, seen->arena_bytes);
}

/* Memory that could be cut short would end the program by SIGBUS, whenever its owner likes. */
static bool keeps_its_size(int fd)
{
    long seals = syscall(SYS_fcntl, fd, F_GET_SEALS); /* libc's has a newer name since 2.28 */
    return seals >= 0 && (seals & SEALS) == SEALS;
}

int ring_attach(struct ring *ring, int fd)
{
    struct ring_shared seen;
    if (!keeps_its_size(fd))
        return ERR_CORRUPT;
    off_t size = lseek(fd, 0, SEEK_END); /* fstat is a new symbol in glibc 2.33 */
    if (size < 0)
        return base_err_from_errno(errno);
    if (size < (off_t)PAGE)
        return ERR_CORRUPT;
    size_t bytes = (size_t)size;
    struct ring_shared *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED)
        return base_err_from_errno(errno);
    if (!read_header(shared, &seen) || seen.map_bytes != bytes) {
        munmap(shared, bytes);
        return ERR_CORRUPT;
    }
    fill(ring, shared, &seen);
    return BASE_OK;
}

void ring_detach(struct ring *ring)
{
    munmap(ring->shared, ring->map_bytes);
}

void ring_give_back_events(const struct ring *ring)
{
    ring_close(ring->shared);
    madvise(ring->slots, (ring->mask + 1) * sizeof *ring->slots, MADV_REMOVE);
}

void ring_give_back_definitions(const struct ring *ring)
{
    madvise(ring->arena.base, ring->arena.bytes, MADV_REMOVE);
}

void ring_use(struct ring *ring, struct ring_shared *shared)
{
    fill(ring, shared, shared);
}

/* ---- the producer's slow path ---- */

bool ring_recorder_died(const struct ring_shared *ring)
{
    uint32_t owner = atomic_load_explicit(&ring->owner.thread, memory_order_relaxed);
    return (owner & FUTEX_OWNER_DIED) != 0;
}

static void begin_dropping(struct ring_shared *ring)
{
    uint32_t open = RING_OPEN;
    uint64_t head = atomic_load(&ring->head);
    if (!atomic_compare_exchange_strong(&ring->mode, &open, RING_DROPPING))
        return;
    atomic_store(&ring->drop_ticket, head);
    atomic_fetch_add(&ring->drops_begun, 1);
}

static void count_wait(struct ring_shared *ring, uint64_t waited_ns)
{
    atomic_fetch_add_explicit(&ring->waits, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&ring->wait_ns, waited_ns, memory_order_relaxed);
    uint64_t longest = atomic_load_explicit(&ring->longest_wait_ns, memory_order_relaxed);
    while (waited_ns > longest &&
           !atomic_compare_exchange_weak_explicit(&ring->longest_wait_ns, &longest, waited_ns,
                                                  memory_order_relaxed, memory_order_relaxed))
        continue;
}

static void sleep_for_progress(struct ring_shared *ring, uint32_t seen)
{
    atomic_fetch_add(&ring->waiters, 1);
    if (atomic_load(&ring->head) >= atomic_load(&ring->limit))
        futex_wait(&ring->progress, seen, WAIT_SLICE_NS);
    atomic_fetch_sub(&ring->waiters, 1);
}

static enum ring_push drop(struct ring_shared *ring, const struct event *event)
{
    atomic_fetch_add_explicit(&ring->dropped[event->kind % EVENT_KIND_SLOTS], 1,
                              memory_order_relaxed);
    return RING_DROPPED;
}

/* Waits for room as long as the recorder moves; RING_PUSHED, or what the mode says. One that gets a
 * ticket and is fenced has been counted as late, and is not counted as dropped, too. On a machine
 * with too much to do a producer may sleep longer than it asked for, and so does the recorder: time
 * alone does not tell that it hangs, so it must have been looked at often enough, too. */
static enum ring_push wait_for_room(const struct ring *of, const struct event *event,
                                    uint64_t start)
{
    struct ring_shared *ring = of->shared;
    uint32_t seen = atomic_load(&ring->progress);
    unsigned looks = 0;
    uint64_t deadline = start + RING_PATIENCE_MS * NS_PER_MS;
    for (;;) {
        enum ring_try tried = ring_try(of, event);
        if (tried != TRY_FULL)
            return tried == TRY_PUSHED ? RING_PUSHED : RING_DROPPED;
        uint32_t mode = atomic_load(&ring->mode);
        if (mode != RING_OPEN)
            return mode == RING_CLOSED ? RING_OFF : drop(ring, event);
        if (ring_recorder_died(ring)) {
            ring_close(ring);
            return RING_OFF;
        }
        uint64_t now = clock_now_ns();
        uint32_t progress = atomic_load(&ring->progress);
        if (progress != seen) {
            seen = progress;
            looks = 0;
            deadline = now + RING_PATIENCE_MS * NS_PER_MS;
        } else if (++looks >= PATIENT_LOOKS && now >= deadline) {
            begin_dropping(ring);
            continue;
        }
        sleep_for_progress(ring, seen);
    }
}

enum ring_push ring_push_slow(const struct ring *of, const struct event *event)
{
    struct ring_shared *ring = of->shared;
    uint32_t mode = atomic_load(&ring->mode);
    enum ring_push result;
    if (mode == RING_OPEN) {
        uint64_t start = clock_now_ns();
        result = wait_for_room(of, event, start);
        count_wait(ring, clock_now_ns() - start);
    } else {
        if (mode == RING_DROPPING && ring_recorder_died(ring)) {
            ring_close(ring);
            mode = RING_CLOSED;
        }
        result = mode == RING_CLOSED ? RING_OFF : drop(ring, event);
    }
    return result;
}
