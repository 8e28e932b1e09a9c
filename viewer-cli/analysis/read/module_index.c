/* module_index.c - see module_index.h. */
#include "module_index.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "module_fold.h"
#include "query.h"

static int read_modules(struct db *db, struct module_index *out)
{
    struct module_entry row = {0};
    struct query query =
        query_ask(db,
                  "SELECT id, coalesce(path, '') AS path, coalesce(class, '') AS class_name"
                  "  FROM module ORDER BY id",
                  NULL, Q_OUT(Q_INT(row.id), Q_COPY(row.path), Q_COPY(row.class_name)));
    while (query_next(&query)) {
        if (MEM_GROW(out->entries, out->cap, out->count + 1)) {
            out->entries[out->count++] = row;
            continue;
        }
        mem_free(row.path);
        mem_free(row.class_name);
        query_fail(&query, ERR_NOMEM);
    }
    return query_end(&query);
}

static int read_tags(struct db *db, struct module_index *out)
{
    int64_t tag, module_id;
    struct query query =
        query_ask(db, "SELECT tag, module_id FROM tag_module WHERE module_id IS NOT NULL", NULL,
                  Q_OUT(Q_INT(tag), Q_INT(module_id)));
    while (query_next(&query))
        if (!map_put(&out->tags, (uint64_t)tag, (uint64_t)module_id, NULL))
            query_fail(&query, ERR_NOMEM);
    return query_end(&query);
}

/* Gradients that are sent around are of all parameters that a module's ranks share, though the tag
 * names the first of them; outside of any module they are of the outermost one. */
static int read_sent(struct db *db, struct module_index *out)
{
    int64_t site, tag;
    struct query query =
        query_ask(db, "SELECT site FROM sharing_site WHERE kind = 3", NULL, Q_OUT(Q_INT(site)));
    while (query_next(&query))
        if (!map_put(&out->sent, (uint64_t)site, 1, NULL))
            query_fail(&query, ERR_NOMEM);
    int err = query_end(&query);
    if (err < 0 || !out->sent.count)
        return err;
    query = query_ask(db, "SELECT id AS tag FROM tag WHERE category = 2", NULL, Q_OUT(Q_INT(tag)));
    while (query_next(&query))
        if (!map_put(&out->gradients, (uint64_t)tag, 1, NULL))
            query_fail(&query, ERR_NOMEM);
    return query_end(&query);
}

static int fold(struct module_index *out)
{
    size_t count = out->count;
    struct module_name *names = mem_alloc(count + 1, sizeof *names);
    char **folded = mem_alloc(count + 1, sizeof *folded);
    int err = names && folded ? 0 : ERR_NOMEM;
    for (size_t i = 0; err == 0 && i < count; i++)
        names[i] = (struct module_name){out->entries[i].path, out->entries[i].class_name};
    if (err == 0)
        err = module_fold(names, count, folded);
    for (size_t i = 0; err == 0 && i < count; i++)
        out->entries[i].folded = folded[i];
    mem_free(names);
    mem_free(folded);
    return err;
}

int module_index_read(struct db *db, struct module_index *out)
{
    *out = (struct module_index){0};
    int err = read_modules(db, out);
    if (err == 0 && out->count)
        err = read_tags(db, out);
    if (err == 0 && out->count)
        err = read_sent(db, out);
    return err == 0 ? fold(out) : err;
}

void module_index_clear(struct module_index *index)
{
    for (size_t i = 0; i < index->count; i++) {
        mem_free(index->entries[i].path);
        mem_free(index->entries[i].class_name);
        mem_free(index->entries[i].folded);
    }
    mem_free(index->entries);
    map_clear(&index->tags);
    map_clear(&index->sent);
    map_clear(&index->gradients);
    *index = (struct module_index){0};
}

static int by_id(const void *key, const void *entry)
{
    const int64_t *id = key;
    const struct module_entry *at = entry;
    return (*id > at->id) - (*id < at->id);
}

const struct module_entry *module_index_at(const struct module_index *index, int64_t id)
{
    if (!index->count)
        return NULL;
    return bsearch(&id, index->entries, index->count, sizeof *index->entries, by_id);
}

static bool is_sent(const struct module_index *index, const struct living_block *block)
{
    return index->sent.count && block->tag != LIVING_NONE && block->site != LIVING_NONE &&
           map_get(&index->sent, (uint64_t)block->site) != MAP_NONE &&
           map_get(&index->gradients, (uint64_t)block->tag) != MAP_NONE;
}

static const struct module_entry *outermost(const struct module_index *index)
{
    for (size_t i = 0; i < index->count; i++)
        if (!*index->entries[i].path)
            return &index->entries[i];
    return NULL;
}

const struct module_entry *module_index_of(const struct module_index *index,
                                           const struct living_block *block)
{
    const struct module_entry *whole = NULL;
    if (is_sent(index, block))
        whole =
            block->module == LIVING_NONE ? outermost(index) : module_index_at(index, block->module);
    if (whole)
        return whole;
    uint64_t tagged =
        block->tag == LIVING_NONE ? MAP_NONE : map_get(&index->tags, (uint64_t)block->tag);
    return module_index_at(index, tagged == MAP_NONE ? block->module : (int64_t)tagged);
}

bool module_entries_fold(const struct module_entry *one, const struct module_entry *other)
{
    return strcmp(one->folded, other->folded) == 0 &&
           strcmp(one->class_name, other->class_name) == 0;
}

const char *module_entry_text(const struct module_entry *entry)
{
    return *entry->folded ? entry->folded : entry->class_name;
}
