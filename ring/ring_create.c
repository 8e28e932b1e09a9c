/*
 * ring_create.c - the recorder's side of a ring's life: memfd, mapping, and the owner by
 * whom the program learns that the recorder died.
 */
#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "error.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* Memory of `bytes`, shared through *fd when one is wanted. Its size is sealed: a program that cut
 * it short would take the recorder with it, by SIGBUS. */
static void *map_new(uint64_t bytes, int *fd)
{
    if (!fd)
        return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *fd = (int)syscall(SYS_memfd_create, "tidemark-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*fd < 0)
        return MAP_FAILED;
    void *at = MAP_FAILED;
    if (ftruncate(*fd, (off_t)bytes) == 0 && fcntl(*fd, F_ADD_SEALS, SEALS) == 0)
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (at == MAP_FAILED) {
        int saved = errno;
        close(*fd);
        errno = saved;
    }
    return at;
}

int ring_create(struct ring_shared **out, unsigned slot_bits, uint64_t arena_bytes, int *fd)
{
    struct ring_shared plan = {0};
    if (slot_bits < RING_MIN_BITS || slot_bits > RING_MAX_BITS || arena_bytes > RING_MOST_ARENA)
        return ERR_ARG;
    ring_lay_out(&plan, slot_bits, arena_bytes);
    struct ring_shared *ring = map_new(plan.map_bytes, fd);
    if (ring == MAP_FAILED)
        return base_err_from_errno(errno);
    ring_lay_out(ring, slot_bits, arena_bytes);
    int err = owner_take(&ring->owner);
    if (err) {
        munmap(ring, plan.map_bytes);
        if (fd)
            close(*fd);
        return err;
    }
    atomic_store(&ring->limit, 1ull << slot_bits);
    *out = ring;
    return BASE_OK;
}

uint64_t ring_bytes(unsigned slot_bits, uint64_t arena_bytes)
{
    struct ring_shared plan = {0};
    ring_lay_out(&plan, slot_bits, arena_bytes);
    return plan.map_bytes;
}

void ring_destroy(struct ring_shared *ring, unsigned slot_bits, uint64_t arena_bytes)
{
    if (!ring)
        return;
    ring_close(ring);
    owner_give_up(&ring->owner);
    /* As the kernel marks it: the program may give the memory back. */
    atomic_fetch_or(&ring->owner.thread, FUTEX_OWNER_DIED);
    munmap(ring, ring_bytes(slot_bits, arena_bytes));
}
