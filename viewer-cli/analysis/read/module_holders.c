/* module_holders.c - see module_holders.h. */
#include "module_holders.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "living.h"
#include "map.h"
#include "mem.h"
#include "module_index.h"

struct counting {
    struct module_index index;
    size_t *group; /* of each entry: the first that shares its folded name, plus 1; 0 = of none */
    struct map holders;
    struct module_holders *out;
};

/* ---- entries that share a name ---- */

static int by_folded(const void *a, const void *b)
{
    const struct module_entry *const *x = a, *const *y = b;
    int order = strcmp((*x)->folded, (*y)->folded);
    if (!order)
        order = strcmp((*x)->class_name, (*y)->class_name);
    return order ? order : ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

static bool group(struct counting *counting)
{
    const struct module_entry *all = counting->index.entries;
    size_t count = counting->index.count, first = 0;
    const struct module_entry **order = mem_alloc(count + 1, sizeof *order);
    counting->group = mem_alloc(count + 1, sizeof *counting->group);
    for (size_t i = 0; order && i < count; i++)
        order[i] = &all[i];
    if (order)
        qsort(order, count, sizeof *order, by_folded);
    for (size_t i = 0; order && counting->group && i < count; i++) {
        first = i && module_entries_fold(order[i], order[first]) ? first : i;
        counting->group[order[i] - all] = (size_t)(order[first] - all) + 1;
    }
    mem_free(order);
    return order && counting->group;
}

static size_t instances_of(const struct counting *counting, size_t group_of)
{
    size_t instances = 0;
    for (size_t i = 0; group_of && i < counting->index.count; i++)
        instances += counting->group[i] == group_of;
    return instances;
}

/* ---- holders ---- */

static struct module_holder *make_holder(struct counting *counting, size_t group_of,
                                         enum purpose purpose)
{
    struct module_holders *out = counting->out;
    if (!MEM_GROW(out->all, out->cap, out->count + 1))
        return NULL;
    struct module_holder *holder = &out->all[out->count];
    *holder = (struct module_holder){.purpose = purpose};
    if (group_of) {
        const struct module_entry *entry = &counting->index.entries[group_of - 1];
        const char *text = module_entry_text(entry);
        holder->module = mem_copy(text, strlen(text));
        holder->class_name = mem_copy(entry->class_name, strlen(entry->class_name));
        holder->instances = instances_of(counting, group_of);
    }
    out->count++;
    return !group_of || (holder->module && holder->class_name) ? holder : NULL;
}

static bool add_block(void *self, const struct living_block *block)
{
    struct counting *counting = self;
    const struct module_entry *entry = module_index_of(&counting->index, block);
    size_t group_of = entry ? counting->group[entry - counting->index.entries] : 0;
    uint64_t key = group_of * PURPOSES + block->purpose, at = map_get(&counting->holders, key);
    struct module_holder *holder =
        at == MAP_NONE ? make_holder(counting, group_of, block->purpose) : &counting->out->all[at];
    if (!holder ||
        (at == MAP_NONE && !map_put(&counting->holders, key, counting->out->count - 1, NULL)))
        return false;
    holder->bytes += block->size;
    holder->blocks++;
    counting->out->bytes += block->size;
    return true;
}

/* Of equals those of a module first, then by name and purpose. */
static int by_bytes(const void *a, const void *b)
{
    const struct module_holder *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    if (!x->module != !y->module)
        return x->module ? -1 : 1;
    int order = x->module ? strcmp(x->module, y->module) : 0;
    return order ? order : (int)x->purpose - (int)y->purpose;
}

int module_holders_read(struct db *db, int64_t process, int64_t device, int64_t seq,
                        struct module_holders *out)
{
    struct counting counting = {.out = out};
    *out = (struct module_holders){0};
    int err = module_index_read(db, &counting.index);
    if (err == 0 && !group(&counting))
        err = ERR_NOMEM;
    if (err == 0)
        err = living_read(db, process, device, seq, add_block, &counting);
    out->known = counting.index.count;
    if (out->count)
        qsort(out->all, out->count, sizeof *out->all, by_bytes);
    mem_free(counting.group);
    map_clear(&counting.holders);
    module_index_clear(&counting.index);
    return err;
}

void module_holders_clear(struct module_holders *holders)
{
    for (size_t i = 0; i < holders->count; i++) {
        mem_free(holders->all[i].module);
        mem_free(holders->all[i].class_name);
    }
    mem_free(holders->all);
    *holders = (struct module_holders){0};
}

bool module_holders_are_valid(const struct module_holders *holders)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < holders->count; i++) {
        const struct module_holder *one = &holders->all[i];
        bytes += one->bytes;
        if (one->blocks < 1 || !one->module != !one->instances || !one->module != !one->class_name)
            return false;
        if (i && by_bytes(one - 1, one) > 0)
            return false;
        for (size_t k = 0; k < i; k++) {
            const struct module_holder *other = &holders->all[k];
            bool same_class = one->module && other->module &&
                              strcmp(one->module, other->module) == 0 &&
                              strcmp(one->class_name, other->class_name) == 0;
            if (one->purpose == other->purpose && (same_class || (!one->module && !other->module)))
                return false;
        }
    }
    return bytes == holders->bytes;
}
