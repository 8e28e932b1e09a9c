/*
 * ring.c - the program's side of a ring: attaching, and the producer's slow path. The recorder's
 * side is ring_create.c and ring_reader.c; the protocol is explained in ring.h.
 */
#include "ring.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "error.h"
#include "futex.h"
#include "ring_fast.h"

#define PAGE 4096u
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

bool ring_is_valid(const struct ring_shared *ring)
{
    struct ring_shared plan = {0};
    if (ring->magic != RING_MAGIC || ring->format != EVENT_FORMAT)
        return false;
    if (ring->slot_bits < RING_MIN_BITS || ring->slot_bits > RING_MAX_BITS)
        return false;
    ring_lay_out(&plan, ring->slot_bits, ring->arena_bytes);
    if (ring->slots_offset != plan.slots_offset || ring->arena_offset != plan.arena_offset ||
        ring->arena_bytes != plan.arena_bytes || ring->map_bytes != plan.map_bytes)
        return false;
    uint64_t limit = atomic_load(&ring->limit);
    return atomic_load(&ring->mode) == RING_CLOSED || atomic_load(&ring->head) <= limit;
}

int ring_attach(struct ring_shared **out, int fd)
{
    off_t size = lseek(fd, 0, SEEK_END); /* fstat is a new symbol in glibc 2.33 */
    if (size < 0)
        return base_err_from_errno(errno);
    if (size < (off_t)PAGE)
        return ERR_CORRUPT;
    size_t bytes = (size_t)size;
    struct ring_shared *ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (ring == MAP_FAILED)
        return base_err_from_errno(errno);
    if (!ring_is_valid(ring) || ring->map_bytes != bytes) {
        munmap(ring, bytes);
        return ERR_CORRUPT;
    }
    *out = ring;
    return BASE_OK;
}

void ring_detach(struct ring_shared *ring)
{
    munmap(ring, ring->map_bytes);
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
    atomic_fetch_add_explicit(&ring->dropped[event->kind % EVENT_KIND_SLOTS], 1, memory_order_relaxed);
    return RING_DROPPED;
}

/* Waits for room as long as the recorder moves; RING_PUSHED, or what the mode says. One that gets a
 * ticket and is fenced has been counted as late, and is not counted as dropped, too. On a machine
 * with too much to do a producer may sleep longer than it asked for, and so does the recorder: time
 * alone does not tell that it hangs, so it must have been looked at often enough, too. */
static enum ring_push wait_for_room(struct ring_shared *ring, const struct event *event,
                                    uint64_t start)
{
    uint32_t seen = atomic_load(&ring->progress);
    unsigned looks = 0;
    uint64_t deadline = start + RING_PATIENCE_MS * NS_PER_MS;
    for (;;) {
        enum ring_try tried = ring_try(ring, event);
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

enum ring_push ring_push_slow(struct ring_shared *ring, const struct event *event)
{
    uint32_t mode = atomic_load(&ring->mode);
    enum ring_push result;
    if (mode == RING_OPEN) {
        uint64_t start = clock_now_ns();
        result = wait_for_room(ring, event, start);
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
