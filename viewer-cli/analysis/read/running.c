#include "running.h"

#include "error.h"
#include "mem.h"
#include "query.h"
#include "span.h"

static const char told_sql[] =
    "SELECT EXISTS (SELECT 1 FROM activity WHERE" SPAN_HAS("seq") " AND process = ?1"
                                                                  "   AND device = ?2) AS told";

static const char items_sql[] =
    "SELECT n.text AS name, a.kind, a.stream, a.begin_ns, a.end_ns, a.bytes FROM activity a"
    "  LEFT JOIN string n ON n.id = a.name"
    " WHERE" SPAN_HAS(
        "a.seq") " AND a.process = ?1 AND a.device = ?2 AND a.begin_ns <= ?3 AND a.end_ns > ?3"
                 " ORDER BY a.begin_ns, a.seq";

static const char *kind_text(int64_t kind)
{
    static const char *const texts[] = {"?", "kernel", "copy", "set", "graph"};
    return texts[kind > 0 && kind < 5 ? kind : 0];
}

static int add_item(struct running *out, const struct running_item *item)
{
    if (!MEM_GROW(out->items, out->cap, out->count + 1)) {
        mem_free(item->name);
        return ERR_NOMEM;
    }
    out->items[out->count++] = *item;
    return 0;
}

int running_read(struct db *db, int64_t process, int64_t device, int64_t at_ns, struct running *out)
{
    struct running_item item = {0};
    int64_t kind;
    *out = (struct running){.at_ns = at_ns};
    int err = query_read(db, told_sql, Q_IN(process, device), Q_OUT(Q_INT(out->told)));
    if (err < 0 || !out->told)
        return err;
    struct query query =
        query_ask(db, items_sql, Q_IN(process, device, at_ns),
                  Q_OUT(Q_COPY(item.name), Q_INT(kind), Q_ANY(item.stream), Q_INT(item.begin_ns),
                        Q_INT(item.end_ns), Q_OPT(item.bytes)));
    while (query_next(&query)) {
        item.kind = kind_text(kind);
        query_fail(&query, add_item(out, &item));
    }
    return query_end(&query);
}

void running_clear(struct running *running)
{
    for (size_t i = 0; i < running->count; i++)
        mem_free(running->items[i].name);
    mem_free(running->items);
    *running = (struct running){0};
}

bool running_is_valid(const struct running *running)
{
    for (size_t i = 0; i < running->count; i++) {
        const struct running_item *item = &running->items[i];
        if (item->begin_ns > running->at_ns || item->end_ns <= running->at_ns ||
            (i && running->items[i - 1].begin_ns > item->begin_ns))
            return false;
    }
    return running->told || !running->count;
}
