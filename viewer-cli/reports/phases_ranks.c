/* phases_ranks.c - see phases_ranks.h. */
#include "phases_ranks.h"

#include <inttypes.h>
#include <stdio.h>

#include "human.h"
#include "mem.h"

/* Two devices of one rank have a list each, and host memory is no GPU's. */
static bool can_stand_for(const struct report_scope *shown, const struct report_scope *other)
{
    return shown->process.rank != other->process.rank &&
           report_is_host(shown) == report_is_host(other);
}

bool phases_ranks_fold(struct phases_ranks *ranks, const struct report_scope *scope,
                       const struct phases_rows *rows)
{
    int64_t apart;
    for (size_t i = 0; i < ranks->count; i++) {
        struct phases_list *list = &ranks->lists[i];
        if (!can_stand_for(list->scope, scope) || !phases_rows_alike(&list->rows, rows, &apart))
            continue;
        list->first = list->more++ ? list->first : scope->process.rank;
        list->apart = apart > list->apart ? apart : list->apart;
        return true;
    }
    return false;
}

bool phases_ranks_add(struct phases_ranks *ranks, const struct report_scope *scope,
                      struct phases_rows *rows)
{
    if (!MEM_GROW(ranks->lists, ranks->cap, ranks->count + 1))
        return false;
    ranks->lists[ranks->count++] = (struct phases_list){.scope = scope, .rows = *rows};
    *rows = (struct phases_rows){0};
    return true;
}

static void note(struct emit *emit, const struct phases_list *list)
{
    char sizes[HUMAN_MAX + 40] = "with the same sizes", bytes[HUMAN_MAX], count[HUMAN_MAX];
    if (list->apart)
        snprintf(sizes, sizeof sizes, "with sizes at most %s apart",
                 human_bytes(bytes, list->apart));
    if (list->more == 1)
        emit_note(emit,
                  "rank %" PRId64 " has the phases of rank %" PRId64 " on %s, %s: --rank %" PRId64
                  " shows it",
                  list->first, list->scope->process.rank, list->scope->device_text, sizes,
                  list->first);
    else if (list->more)
        emit_note(emit,
                  "%s more ranks have the phases of rank %" PRId64 " on %s, %s: --rank %" PRId64
                  " shows the first of them, --all each",
                  human_count(count, list->more), list->scope->process.rank,
                  list->scope->device_text, sizes, list->first);
}

void phases_ranks_note(struct emit *emit, const struct phases_ranks *ranks)
{
    for (size_t i = 0; i < ranks->count; i++)
        note(emit, &ranks->lists[i]);
}

void phases_ranks_clear(struct phases_ranks *ranks)
{
    for (size_t i = 0; i < ranks->count; i++)
        phases_rows_clear(&ranks->lists[i].rows);
    mem_free(ranks->lists);
    *ranks = (struct phases_ranks){0};
}
