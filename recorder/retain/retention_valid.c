/* retention_valid.c - the invariants of retention_types.h. */
#include "retention_types.h"

static bool blocks_are_valid(const struct retention_process *process)
{
    for (size_t i = 0; i < process->late.count; i++) {
        const struct retention_block *block = &process->late.at[i];
        if (block->seq >= process->decided || block->free_seq < block->seq ||
            (i && process->late.at[(i - 1) / 2].free_seq > block->free_seq))
            return false;
    }
    for (size_t i = 0; i < process->spared.count; i++)
        if (!retention_meets(process, process->spared.at[i].seq, process->spared.at[i].free_seq))
            return false;
    return true;
}

static bool process_is_valid(const struct retention_process *process)
{
    for (size_t i = process->head; i + 1 < process->count; i++)
        if (process->units[i].begin > process->units[i + 1].begin)
            return false;
    for (size_t i = 0; i < process->kept_count; i++)
        if (process->kept[i].begin > process->kept[i].end ||
            process->kept[i].end > process->decided ||
            (i && process->kept[i - 1].end > process->kept[i].begin))
            return false;
    for (size_t i = 0; i < process->left_count; i++)
        if (process->left[i].blocks <= 0 ||
            (i && process->left[i - 1].end > process->left[i].begin))
            return false;
    return process->head <= process->count && blocks_are_valid(process);
}

bool retention_is_valid(const struct retention *retention)
{
    size_t heaps = 0, ended = 0;
    for (size_t i = 0; retention && i < retention->process_count; i++) {
        heaps += retention->processes[i].heap_count;
        ended += retention->processes[i].ended;
        if (!process_is_valid(&retention->processes[i]) ||
            map_get(&retention->places, (uint64_t)retention->processes[i].id) != i)
            return false;
    }
    return !retention || (retention->places.count == retention->process_count &&
                          retention->heaps.count == heaps && retention->ended_waiting == ended);
}
