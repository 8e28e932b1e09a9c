/*
 * Names: strings, frames, call sites, tags and modules. What is the same in two inputs is one row
 * of the output, as it is between the processes of one recording. They come in the order in which
 * they name each other.
 */
#include <string.h>

#include "buf.h"
#include "error.h"
#include "mem.h"
#include "merge_types.h"
#include "query.h"

struct naming { /* one kind of them */
    struct merge *merge;
    struct merge_input *input;
    enum merge_kind kind;
    struct intern *intern;
    struct db_stmt *insert;
};

static int naming_begin(struct naming *naming, struct merge *merge, struct merge_input *input,
                        enum merge_name table, struct intern *intern)
{
    *naming = (struct naming){.merge = merge, .input = input, .intern = intern};
    naming->kind = merge_tables[table].columns[0].kind;
    return merge_out_prepare(merge, &merge_tables[table], &naming->insert);
}

/* The id in the output of what is called so there; *fresh: it has no row yet. 0 without memory. */
static uint32_t named(struct naming *naming, const void *bytes, size_t count, bool *fresh)
{
    uint32_t id = intern_find(naming->intern, bytes, count);
    *fresh = id == 0;
    return id ? id : intern_add(naming->intern, bytes, count);
}

static int remember(struct naming *naming, int64_t old, uint32_t id)
{
    if (!id || !map_put(&naming->input->names[naming->kind], (uint64_t)old, id, NULL))
        return ERR_NOMEM;
    return 0;
}

/* 0: none, or none that is known. */
static int64_t new_id(const struct merge_input *input, enum merge_kind kind, int64_t old)
{
    uint64_t id = old > 0 ? map_get(&input->names[kind], (uint64_t)old) : MAP_NONE;
    return id == MAP_NONE ? 0 : (int64_t)id;
}

static struct merge_cell number(int64_t value)
{
    return (struct merge_cell){.type = MERGE_NUMBER, .number = value};
}

static struct merge_cell number_or_null(int64_t value)
{
    return (struct merge_cell){.type = value ? MERGE_NUMBER : MERGE_NULL, .number = value};
}

static struct merge_cell text(const char *value)
{
    return (struct merge_cell){.type = value ? MERGE_TEXT : MERGE_NULL,
                               .number = value ? (int64_t)strlen(value) : 0,
                               .text = value};
}

static int put(struct naming *naming, const struct merge_cell *cells, size_t count)
{
    int err = merge_out_row(naming->merge, naming->insert, cells, count);
    return err < 0 ? merge_out_failed(naming->merge, err) : 0;
}

static int end(struct naming *naming, struct query *query, struct db *db)
{
    int err = query_end(query);
    db_finalize(naming->insert);
    if (err < 0 && !*naming->merge->result->message)
        merge_input_failed(naming->merge, naming->input, db, err);
    return err < 0 ? err : 0;
}

/* ---- strings ---- */

static int take_string(struct naming *naming, int64_t id, const char *value)
{
    bool fresh;
    uint32_t now = named(naming, value, strlen(value), &fresh);
    int err = remember(naming, id, now);
    if (err == 0 && fresh)
        err = put(naming, (struct merge_cell[]){number(now), text(value)}, 2);
    return err;
}

static int read_strings(struct merge *merge, struct merge_input *input, struct db *db)
{
    struct naming naming;
    const char *value;
    int64_t id;
    int err = naming_begin(&naming, merge, input, MERGE_TABLE_string, &merge->names.strings);
    if (err < 0)
        return err;
    struct query query = query_ask(db, "SELECT id, text AS value FROM string", Q_NOTHING,
                                   Q_OUT(Q_INT(id), Q_TEXT(value)));
    while (query_next(&query))
        query_fail(&query, take_string(&naming, id, value));
    return end(&naming, &query, db);
}

/* ---- frames ---- */

struct frame {
    int64_t function, file, line; /* 0: none; line QUERY_NONE */
};

static int take_frame(struct naming *naming, int64_t id, const struct frame *frame)
{
    bool fresh;
    uint32_t now = named(naming, frame, sizeof *frame, &fresh);
    int err = remember(naming, id, now);
    if (err < 0 || !fresh)
        return err;
    struct merge_cell line = number(frame->line);
    if (frame->line == QUERY_NONE)
        line.type = MERGE_NULL;
    const struct merge_cell cells[] = {number(now), number_or_null(frame->function),
                                       number_or_null(frame->file), line};
    return put(naming, cells, 4);
}

static int read_frames(struct merge *merge, struct merge_input *input, struct db *db)
{
    struct naming naming;
    struct frame row;
    int64_t id;
    int err = naming_begin(&naming, merge, input, MERGE_TABLE_frame, &merge->names.frames);
    if (err < 0)
        return err;
    struct query query =
        query_ask(db, "SELECT id, function, file, line FROM frame", Q_NOTHING,
                  Q_OUT(Q_INT(id), Q_INT(row.function), Q_INT(row.file), Q_OPT(row.line)));
    while (query_next(&query)) {
        struct frame frame = {new_id(input, MERGE_STRING, row.function),
                              new_id(input, MERGE_STRING, row.file), row.line};
        query_fail(&query, take_frame(&naming, id, &frame));
    }
    return end(&naming, &query, db);
}

/* ---- call sites ---- */

struct stack {
    int64_t site; /* 0: none yet */
    uint32_t *frames;
    size_t count, cap;
};

static int take_stack(struct naming *naming, struct stack *stack)
{
    bool fresh;
    size_t count = stack->count;
    stack->count = 0;
    if (!count)
        return 0;
    uint32_t now = named(naming, stack->frames, count * sizeof *stack->frames, &fresh);
    int err = remember(naming, stack->site, now);
    for (size_t i = 0; i < count && err == 0 && fresh; i++)
        err = put(naming,
                  (struct merge_cell[]){number(now), number((int64_t)i), number(stack->frames[i])},
                  3);
    return err;
}

/* A frame whose row is not there any more is one that nothing is known of. */
static int add_frame(struct naming *frames, struct stack *stack, int64_t frame)
{
    int64_t id = new_id(frames->input, MERGE_FRAME, frame);
    if (!id) {
        int err = take_frame(frames, frame, &(struct frame){0, 0, QUERY_NONE});
        if (err < 0)
            return err;
        id = new_id(frames->input, MERGE_FRAME, frame);
    }
    if (!id || !MEM_GROW(stack->frames, stack->cap, stack->count + 1))
        return id ? ERR_NOMEM : ERR_CORRUPT;
    stack->frames[stack->count++] = (uint32_t)id;
    return 0;
}

static int read_sites(struct merge *merge, struct merge_input *input, struct db *db)
{
    struct naming sites, frames;
    struct stack stack = {0};
    int64_t site, frame;
    int err = naming_begin(&sites, merge, input, MERGE_TABLE_site, &merge->names.sites);
    if (err == 0)
        err = naming_begin(&frames, merge, input, MERGE_TABLE_frame, &merge->names.frames);
    if (err < 0) {
        db_finalize(sites.insert);
        return err;
    }
    struct query query = query_ask(db, "SELECT site, frame FROM site ORDER BY site, depth",
                                   Q_NOTHING, Q_OUT(Q_INT(site), Q_INT(frame)));
    while (query_next(&query)) {
        if (site != stack.site)
            query_fail(&query, take_stack(&sites, &stack));
        stack.site = site;
        query_fail(&query, add_frame(&frames, &stack, frame));
    }
    if (query.err >= 0)
        query_fail(&query, take_stack(&sites, &stack));
    mem_free(stack.frames);
    db_finalize(frames.insert);
    return end(&sites, &query, db);
}

/* ---- tags and modules: a row is what it says ---- */

/* What its row says, in bytes that no other has. */
static void put_key(struct buf *key, int64_t first, const char *a, const char *b)
{
    buf_print(key, "%lld %d ", (long long)first, a ? (int)strlen(a) : -1);
    buf_text(key, a ? a : "");
    buf_text(key, b ? b : "");
}

static int take_keyed(struct naming *naming, int64_t id, struct buf *key, struct merge_cell *cells)
{
    bool fresh;
    uint32_t now = key->broken ? 0 : named(naming, key->data, key->count, &fresh);
    int err = remember(naming, id, now);
    cells[0] = number(now);
    if (err == 0 && fresh)
        err = put(naming, cells, 3);
    buf_clear(key);
    return err;
}

static int read_tags(struct merge *merge, struct merge_input *input, struct db *db)
{
    struct naming naming;
    const char *name;
    int64_t id, category;
    int err = naming_begin(&naming, merge, input, MERGE_TABLE_tag, &merge->names.tags);
    if (err < 0)
        return err;
    struct query query = query_ask(db, "SELECT id, category, name FROM tag", Q_NOTHING,
                                   Q_OUT(Q_INT(id), Q_INT(category), Q_NTEXT(name)));
    while (query_next(&query)) {
        struct merge_cell cells[3] = {{0}, number(category), text(name)};
        struct buf key = {0};
        put_key(&key, category, name, NULL);
        query_fail(&query, take_keyed(&naming, id, &key, cells));
    }
    return end(&naming, &query, db);
}

static int read_modules(struct merge *merge, struct merge_input *input, struct db *db)
{
    struct naming naming;
    const char *path, *class;
    int64_t id;
    int err = naming_begin(&naming, merge, input, MERGE_TABLE_module, &merge->names.modules);
    if (err < 0)
        return err;
    struct query query = query_ask(db, "SELECT id, path, class FROM module ORDER BY id", Q_NOTHING,
                                   Q_OUT(Q_INT(id), Q_TEXT(path), Q_TEXT(class)));
    while (query_next(&query)) {
        struct merge_cell cells[3] = {{0}, text(path), text(class)};
        struct buf key = {0};
        put_key(&key, 0, path, class);
        query_fail(&query, take_keyed(&naming, id, &key, cells));
    }
    return end(&naming, &query, db);
}

int merge_read_names(struct merge *merge, struct merge_input *input, struct db *db)
{
    int err = read_strings(merge, input, db);
    if (err == 0)
        err = read_frames(merge, input, db);
    if (err == 0)
        err = read_sites(merge, input, db);
    if (err == 0)
        err = read_tags(merge, input, db);
    if (err == 0)
        err = read_modules(merge, input, db);
    return err;
}
