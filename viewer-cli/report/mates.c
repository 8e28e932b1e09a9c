#include "mates.h"

#include <inttypes.h>
#include <stdio.h>

#include "diff.h"
#include "error.h"
#include "mem.h"

#define ALONE_SHOWN 24

static struct diff_place *list_places(const struct report *report)
{
    struct diff_place *places = mem_alloc(report->scope_count + 1, sizeof *places);
    for (size_t i = 0; places && i < report->scope_count; i++) {
        const struct report_scope *scope = &report->scopes[i];
        int64_t rank = scope->process.rank == REPORT_ANY ? GROUP_NONE : scope->process.rank;
        places[i] = (struct diff_place){scope->process.id, rank, scope->device_text};
    }
    return places;
}

int mates_find(const struct report *a, const struct report *b, size_t **mates)
{
    struct diff_place *ones = list_places(a), *others = list_places(b);
    *mates = mem_alloc(a->scope_count + 1, sizeof **mates);
    int err = ones && others && *mates
                  ? diff_pair(ones, a->scope_count, others, b->scope_count, *mates)
                  : ERR_NOMEM;
    mem_free(ones);
    mem_free(others);
    return err;
}

static void note_one(struct emit *emit, const struct report_scope *scope, const char *path)
{
    char rank[32] = "";
    if (scope->process.rank != REPORT_ANY)
        snprintf(rank, sizeof rank, ", rank %" PRId64, scope->process.rank);
    emit_note(emit, "process %" PRId64 " (pid %" PRId64 "%s) on %s is only in %s",
              scope->process.id, scope->process.pid, rank, scope->device_text, path);
}

/* Of a crowd of processes that come and go, the first are named. */
static void note_some(struct emit *emit, const struct report_scope *scope, const char *path,
                      size_t *count)
{
    if (++*count <= ALONE_SHOWN)
        note_one(emit, scope, path);
}

static void note_more(struct emit *emit, size_t count, const char *path)
{
    if (count > ALONE_SHOWN)
        emit_note(emit, "and %zu more are only in %s", count - ALONE_SHOWN, path);
}

void mates_note_alone(struct report *a, const struct report *b, const size_t *mates)
{
    size_t ones = 0, others = 0;
    bool *taken = mem_alloc(b->scope_count + 1, sizeof *taken);
    for (size_t i = 0; i < a->scope_count; i++) {
        if (mates[i] == DIFF_ALONE)
            note_some(&a->emit, &a->scopes[i], a->path, &ones);
        else if (taken)
            taken[mates[i]] = true;
    }
    note_more(&a->emit, ones, a->path);
    for (size_t j = 0; taken && j < b->scope_count; j++)
        if (!taken[j])
            note_some(&a->emit, &b->scopes[j], b->path, &others);
    note_more(&a->emit, others, b->path);
    mem_free(taken);
}
