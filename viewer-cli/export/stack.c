#include "stack.h"

#include <inttypes.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "query.h"

int stack_read(struct db *db, int64_t site, struct stack *out)
{
    int64_t frame;
    out->count = 0;
    if (site == STACK_NONE)
        return 0;
    struct query query = query_ask(db, "SELECT frame FROM site WHERE site = ?1 ORDER BY depth",
                                   Q_IN(site), Q_OUT(Q_INT(frame)));
    while (query_next(&query)) {
        if (MEM_GROW(out->frames, out->cap, out->count + 1))
            out->frames[out->count++] = frame;
        else
            query_fail(&query, ERR_NOMEM);
    }
    return query_end(&query);
}

void stack_clear(struct stack *stack)
{
    mem_free(stack->frames);
    *stack = (struct stack){0};
}

int frame_name_read(struct db *db, int64_t frame, struct frame_name *out)
{
    *out = (struct frame_name){.line = STACK_NONE};
    return query_read(db,
                      "SELECT fn.text AS function, fi.text AS file, f.line FROM frame f"
                      "  LEFT JOIN string fn ON fn.id = f.function"
                      "  LEFT JOIN string fi ON fi.id = f.file WHERE f.id = ?1",
                      Q_IN(frame),
                      Q_OUT(Q_COPY(out->function), Q_COPY(out->file), Q_OPT(out->line)));
}

void frame_name_clear(struct frame_name *name)
{
    mem_free(name->function);
    mem_free(name->file);
    *name = (struct frame_name){.line = STACK_NONE};
}

void frame_name_put(struct buf *out, const struct frame_name *name, bool whole)
{
    buf_text(out, name->function ? name->function : "?");
    if (!name->file)
        return;
    const char *slash = strrchr(name->file, '/');
    buf_text(out, " (");
    buf_text(out, slash && !whole ? slash + 1 : name->file);
    if (name->line != STACK_NONE)
        buf_print(out, ":%" PRId64, name->line);
    buf_text(out, ")");
}

bool numbered_put(struct numbered *numbered, int64_t id, size_t *number, bool *is_new)
{
    uint64_t at = map_get(&numbered->index, (uint64_t)id);
    *is_new = at == MAP_NONE;
    *number = *is_new ? numbered->count : (size_t)at;
    if (!*is_new)
        return true;
    if (!MEM_GROW(numbered->ids, numbered->cap, numbered->count + 1) ||
        !map_put(&numbered->index, (uint64_t)id, numbered->count, NULL))
        return false;
    numbered->ids[numbered->count++] = id;
    return true;
}

void numbered_clear(struct numbered *numbered)
{
    map_clear(&numbered->index);
    mem_free(numbered->ids);
    *numbered = (struct numbered){0};
}
