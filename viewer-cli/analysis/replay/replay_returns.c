#include "replay_load.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "query.h"

static const char refused_sql[] = "SELECT seq FROM oom WHERE process = ?1 AND device = ?2";

static int put_item(struct replay_returns *returns, int64_t seq, uint64_t size,
                    enum replay_what what)
{
    if (!MEM_GROW(returns->items, returns->cap, returns->count + 1))
        return ERR_NOMEM;
    returns->items[returns->count++] =
        (struct replay_return){.seq = seq, .size = size, .what = what};
    return 0;
}

static int by_seq(const void *a, const void *b)
{
    const struct replay_return *x = a, *y = b;
    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    return (int)x->what - (int)y->what;
}

static int put_segments(const struct replay_trace *trace, struct replay_returns *returns)
{
    int err = 0;
    for (size_t i = 0; i < trace->segment_count && err >= 0; i++) {
        const struct replay_segment *segment = &trace->segments[i];
        err = put_item(returns, segment->seq, segment->size, RETURN_TAKEN);
        if (err >= 0 && segment->free_seq != INT64_MAX)
            err = put_item(returns, segment->free_seq, segment->size, RETURN_WENT);
    }
    for (size_t i = 0; i < trace->mapping_count && err >= 0; i++) {
        const struct replay_mapping *mapping = &trace->mappings[i];
        err = put_item(returns, mapping->seq, mapping->size,
                       mapping->mapped ? RETURN_TAKEN : RETURN_WENT);
    }
    return err;
}

static int put_refused(struct db *db, int64_t process, int64_t device,
                       struct replay_returns *returns)
{
    int64_t seq;
    struct query query = query_ask(db, refused_sql, Q_IN(process, device), Q_OUT(Q_INT(seq)));
    for (; query_next(&query); returns->refused++)
        query_fail(&query, put_item(returns, seq, 0, RETURN_REFUSED));
    return query_end(&query);
}

static void pass(struct replay_returns *returns)
{
    const struct replay_return *item = &returns->items[returns->next++];
    if (item->what == RETURN_TAKEN)
        returns->reserved += item->size;
    else if (item->what == RETURN_WENT)
        returns->reserved -= item->size < returns->reserved ? item->size : returns->reserved;
}

int replay_returns_load(struct db *db, int64_t process, int64_t device,
                        const struct replay_trace *trace, struct replay_returns *out)
{
    *out = (struct replay_returns){.most = UINT64_MAX};
    int err = put_segments(trace, out);
    if (err >= 0)
        err = put_refused(db, process, device, out);
    if (err < 0)
        return err;
    uint64_t limit = trace->limit ? trace->limit : trace->part_limit;
    if (limit)
        out->most = limit;
    else if (trace->total)
        out->most = trace->total - trace->total / 10;
    out->limited = limit != 0;
    out->collects =
        out->limited && trace->conf && strstr(trace->conf, "garbage_collection_threshold");
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, by_seq);
    while (out->next < out->count && out->items[out->next].seq <= trace->rebuilt_until)
        pass(out);
    return 0;
}

void replay_returns_clear(struct replay_returns *returns)
{
    mem_free(returns->items);
    *returns = (struct replay_returns){0};
}

bool replay_returns_before(struct replay_returns *returns, int64_t seq, enum replay_kind *what)
{
    uint64_t before = returns->reserved;
    bool went = false, refused = false, replaced = false, needed = false;
    for (; returns->next < returns->count && returns->items[returns->next].seq <= seq;
         pass(returns)) {
        const struct replay_return *item = &returns->items[returns->next];
        went = went || item->what == RETURN_WENT;
        refused = refused || item->what == RETURN_REFUSED;
        if (item->what == RETURN_TAKEN && went && !replaced) {
            replaced = true;
            needed = before > returns->most || item->size > returns->most - before;
        }
    }
    bool ladder = replaced && (needed || returns->collects);
    if (refused)
        *what = REPLAY_FULL;
    else
        *what = ladder ? REPLAY_SHORT : REPLAY_EMPTY;
    return refused || (went && !(ladder && returns->limited));
}
