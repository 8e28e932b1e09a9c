/* rank_fold.c - see rank_fold.h. */
#include "rank_fold.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "human.h"
#include "mem.h"

/* Two devices of one process have a table each, and host memory is no GPU's. */
static bool can_stand_for(const struct report_scope *shown, const struct report_scope *other)
{
    return shown->process.id != other->process.id &&
           (shown->process.rank == REPORT_ANY) == (other->process.rank == REPORT_ANY) &&
           report_is_host(shown) == report_is_host(other);
}

static int add(struct rank_fold *fold, const struct report_scope *scope, const char *text,
               size_t bytes)
{
    char *copy = mem_copy(text, bytes);
    if (!copy || !MEM_GROW(fold->tables, fold->cap, fold->count + 1)) {
        mem_free(copy);
        return ERR_NOMEM;
    }
    fold->tables[fold->count++] = (struct rank_table){.scope = scope, .text = copy};
    return 0;
}

int rank_fold_see(struct rank_fold *fold, struct emit *emit, const struct report_scope *scope,
                  const struct emit_mark *begin, const struct emit_mark *body, const char *key)
{
    struct buf text = {0};
    if (emit->format != EMIT_TABLE)
        return 0;
    emit_here(emit); /* closes the table */
    buf_print(&text, "%s\n", key);
    if (!emit->out.broken)
        buf_add(&text, buf_string(&emit->out) + body->bytes, emit->out.count - body->bytes);
    int err = text.broken ? ERR_NOMEM : 0;
    struct rank_table *like = NULL;
    for (size_t i = 0; i < fold->count && !like && err == 0; i++)
        if (can_stand_for(fold->tables[i].scope, scope) &&
            strcmp(fold->tables[i].text, buf_string(&text)) == 0)
            like = &fold->tables[i];
    if (like) {
        like->first = like->more++ ? like->first : scope;
        emit_back(emit, begin);
    } else if (err == 0) {
        err = add(fold, scope, buf_string(&text), text.count);
    }
    buf_clear(&text);
    return err;
}

enum { NAME = 40 };

static const char *name_of(char text[NAME], const struct report_process *process)
{
    if (process->rank != REPORT_ANY)
        snprintf(text, NAME, "rank %" PRId64, process->rank);
    else
        snprintf(text, NAME, "process %" PRId64, process->id);
    return text;
}

static void note(struct emit *emit, const struct rank_table *table, const char *what)
{
    char shown[NAME], first[NAME], count[HUMAN_MAX];
    const struct report_process *process = &table->first->process;
    bool ranks = process->rank != REPORT_ANY;
    name_of(shown, &table->scope->process);
    name_of(first, process);
    if (table->more == 1)
        emit_note(emit, "%s has the %s of %s on %s: --%s shows it", first, what, shown,
                  table->scope->device_text, first);
    else
        emit_note(emit, "%s more %s have the %s of %s on %s: --%s shows the first of them",
                  human_count(count, table->more), ranks ? "ranks" : "processes", what, shown,
                  table->scope->device_text, first);
}

void rank_fold_note(struct emit *emit, const struct rank_fold *fold, const char *what)
{
    for (size_t i = 0; i < fold->count; i++)
        if (fold->tables[i].more)
            note(emit, &fold->tables[i], what);
}

void rank_fold_clear(struct rank_fold *fold)
{
    for (size_t i = 0; i < fold->count; i++)
        mem_free(fold->tables[i].text);
    mem_free(fold->tables);
    *fold = (struct rank_fold){0};
}
