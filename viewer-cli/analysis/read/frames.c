#include "frames.h"

#include <string.h>

#include "error.h"
#include "mem.h"
#include "query.h"

static const char stack_sql[] = "SELECT frame AS id FROM site WHERE site = ?1 ORDER BY depth DESC";
static const char frame_sql[] =
    "SELECT coalesce(function, -1) AS function, coalesce(file, -1) AS file,"
    "       coalesce(line, 0) AS line FROM frame WHERE id = ?1";

static int read_text(struct db *db, struct frames *frames, int64_t id, const char **out)
{
    uint64_t at = map_get(&frames->texts, (uint64_t)id);
    *out = "";
    if (at != MAP_NONE) {
        *out = frames->kept[at];
        return 0;
    }
    const char *text;
    char *kept = NULL;
    struct query query =
        query_ask(db, "SELECT text FROM string WHERE id = ?1", Q_IN(id), Q_OUT(Q_TEXT(text)));
    while (query_next(&query))
        if (!kept && !(kept = mem_copy(text ? text : "", text ? strlen(text) : 0)))
            query_fail(&query, ERR_NOMEM);
    int err = query_end(&query);
    if (err < 0 || !kept) {
        mem_free(kept);
        return err;
    }
    if (!MEM_GROW(frames->kept, frames->kept_cap, frames->kept_count + 1) ||
        !map_put(&frames->texts, (uint64_t)id, frames->kept_count, NULL)) {
        mem_free(kept);
        return ERR_NOMEM;
    }
    frames->kept[frames->kept_count++] = kept;
    *out = kept;
    return 0;
}

static int read_frame(struct db *db, struct frames *frames, int64_t id)
{
    struct frame frame = {.function = -1, .file = -1};
    int err = query_first(db, frame_sql, Q_IN(id),
                          Q_OUT(Q_INT(frame.function), Q_INT(frame.file), Q_INT(frame.line)));
    if (err >= 0)
        err = read_text(db, frames, frame.function, &frame.name);
    if (err >= 0)
        err = read_text(db, frames, frame.file, &frame.path);
    if (err < 0)
        return err;
    if (!MEM_GROW(frames->frames, frames->cap, frames->count + 1) ||
        !map_put(&frames->index, (uint64_t)id, frames->count, NULL))
        return ERR_NOMEM;
    frames->frames[frames->count++] = frame;
    return 0;
}

static int see_frame(struct db *db, struct frames *frames, int64_t id,
                     int (*see)(void *self, const struct frame *frame), void *self)
{
    int err = 0;
    uint64_t at = map_get(&frames->index, (uint64_t)id);
    if (at == MAP_NONE) {
        at = frames->count;
        err = read_frame(db, frames, id);
    }
    return err < 0 ? err : see(self, &frames->frames[at]);
}

int frames_read(struct db *db, struct frames *frames, int64_t site,
                int (*see)(void *self, const struct frame *frame), void *self)
{
    int64_t id;
    struct query query = query_ask(db, stack_sql, Q_IN(site), Q_OUT(Q_INT(id)));
    while (query_next(&query)) {
        int err = see_frame(db, frames, id, see, self);
        if (err < 0)
            query_fail(&query, err);
    }
    return query_end(&query);
}

void frames_clear(struct frames *frames)
{
    for (size_t i = 0; i < frames->kept_count; i++)
        mem_free(frames->kept[i]);
    mem_free(frames->kept);
    mem_free(frames->frames);
    map_clear(&frames->index);
    map_clear(&frames->texts);
    *frames = (struct frames){0};
}
