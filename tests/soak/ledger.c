#include "ledger.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(struct ledger_slot) == 64 && offsetof(struct ledger, slots) == 64,
               "as soak.py reads it");

struct ledger *ledger;

int ledger_open(const char *path)
{
    struct stat stat;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (fstat(fd, &stat) == 0 && (size_t)stat.st_size >= sizeof(struct ledger)) {
        void *at = mmap(NULL, sizeof(struct ledger), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ledger = at == MAP_FAILED ? NULL : at;
    }
    close(fd);
    return ledger != NULL;
}

struct ledger_slot *ledger_take(uint64_t mode)
{
    uint64_t number = atomic_fetch_add(&ledger->next, 1);
    if (number >= LEDGER_SLOTS)
        return NULL;
    struct ledger_slot *slot = &ledger->slots[number];
    atomic_store(&slot->mode, mode);
    atomic_store(&slot->state, LEDGER_RUNS);
    atomic_store(&slot->pid, (uint64_t)getpid());
    return slot;
}

uint64_t ledger_number(const struct ledger_slot *slot)
{
    return (uint64_t)(slot - ledger->slots);
}
