/* torch_late.c - see torch_late.h. */
#include "torch_late.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "notes.h"
#include "torch_hook.h"
#include "torch_slots.h"

#define SLOTS 256u
#define ROWS (TORCH_HOOK_LATE + TORCH_NODE_LATE)

struct slot {
    uintptr_t at;
    uint32_t row;
    bool protected; /* as in torch_slots.h */
};

struct search {
    struct slot slots[SLOTS];
    uint32_t count;
    uint32_t seen[ROWS];
};

static const struct torch_late *row_at(uint32_t row)
{
    return row < TORCH_HOOK_LATE ? &torch_hook_late[row] : &torch_node_late[row - TORCH_HOOK_LATE];
}

/* ---- where the slots are ---- */

static void see_slot(void *self, const struct torch_slot *slot)
{
    struct search *search = self;
    for (uint32_t row = 0; row < ROWS; row++) {
        if (strcmp(slot->name, row_at(row)->name) != 0 || search->count >= SLOTS)
            continue;
        search->slots[search->count++] = (struct slot){slot->at, row, slot->protected};
        search->seen[row]++;
    }
}

/* ---- taking them ---- */

static bool take_slot(const struct slot *slot)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = slot->at & ~(page - 1);
    uintptr_t ours = (uintptr_t)row_at(slot->row)->ours;
    if (slot->protected && mprotect((void *)begin, page, PROT_READ | PROT_WRITE) != 0)
        return false;
    __atomic_store_n((uintptr_t *)slot->at, ours, __ATOMIC_RELEASE);
    if (slot->protected)
        mprotect((void *)begin, page, PROT_READ);
    return true;
}

static bool take_row(const struct search *search, uint32_t row)
{
    bool taken = true;
    for (uint32_t i = 0; i < search->count && taken; i++)
        if (search->slots[i].row == row)
            taken = take_slot(&search->slots[i]);
    return taken;
}

bool torch_late_bind(void)
{
    static struct search search;
    bool taken = true;
    int saved = errno;
    search.count = 0;
    memset(search.seen, 0, sizeof search.seen);
    torch_hook_bind();
    torch_slots_each(0, see_slot, &search);
    for (uint32_t row = TORCH_HOOK_LATE; row < ROWS; row++)
        take_row(&search, row);
    bool cpu = search.seen[0] > 0 && torch_hook_original(TORCH_DELETE) && take_row(&search, 0);
    for (uint32_t row = 1; row < TORCH_HOOK_LATE - 1; row++)
        taken = take_row(&search, row) && taken;
    if (cpu)
        cpu = take_row(&search, TORCH_HOOK_LATE - 1);
    if (torch_hook_original(TORCH_USAGE) && !cpu)
        notes_why_not(
            "torch-cpu: this libc10 does not let a library that comes late see its blocks");
    errno = saved;
    return taken && (cpu || !torch_hook_original(TORCH_USAGE));
}
