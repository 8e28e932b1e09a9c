#include "running.h"

#include "error.h"
#include "mem.h"
#include "span.h"

static const char told_sql[] =
    "SELECT EXISTS (SELECT 1 FROM activity WHERE" SPAN_HAS("seq") " AND process = ?1"
                                                                  "   AND device = ?2)";

static const char items_sql[] =
    "SELECT n.text, a.kind, a.stream, a.begin_ns, a.end_ns, a.bytes FROM activity a"
    "  LEFT JOIN string n ON n.id = a.name"
    " WHERE" SPAN_HAS(
        "a.seq") " AND a.process = ?1 AND a.device = ?2 AND a.begin_ns <= ?3 AND a.end_ns > ?3"
                 " ORDER BY a.begin_ns, a.seq";

static const char *kind_text(int64_t kind)
{
    static const char *const texts[] = {"?", "kernel", "copy", "set", "graph"};
    return texts[kind > 0 && kind < 5 ? kind : 0];
}

static int add_item(struct running *out, struct db_stmt *row)
{
    if (!MEM_GROW(out->items, out->cap, out->count + 1))
        return ERR_NOMEM;
    struct running_item *item = &out->items[out->count++];
    *item = (struct running_item){
        .kind = kind_text(db_column_int(row, 1)),
        .stream = db_column_any(row, 2),
        .begin_ns = db_column_int(row, 3),
        .end_ns = db_column_int(row, 4),
        .bytes = column_known(row, 5),
    };
    return column_copy(row, 0, &item->name) ? 0 : ERR_NOMEM;
}

int running_read(struct db *db, int64_t process, int64_t device, int64_t at_ns, struct running *out)
{
    const int64_t numbers[] = {process, device, at_ns};
    struct db_stmt *stmt = NULL;
    *out = (struct running){.at_ns = at_ns};
    int err = db_prepare(db, &stmt, told_sql);
    for (int i = 0; i < 2 && err >= 0; i++)
        db_bind_int(stmt, i, numbers[i]);
    if (err >= 0)
        err = db_step(stmt);
    out->told = err == DB_ROW && db_column_int(stmt, 0);
    db_finalize(stmt);
    if (err < 0 || !out->told)
        return err < 0 ? err : 0;
    err = db_prepare(db, &stmt, items_sql);
    if (err < 0)
        return err;
    for (int i = 0; i < 3; i++)
        db_bind_int(stmt, i, numbers[i]);
    while (err >= 0 && (err = db_step(stmt)) == DB_ROW)
        err = add_item(out, stmt);
    db_finalize(stmt);
    return err < 0 ? err : 0;
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
