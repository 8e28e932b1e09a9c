/* modules.c - see modules.h. */
#include "modules.h"

#include <stdlib.h>
#include <string.h>

#include "ensure.h"
#include "error.h"
#include "living.h"
#include "mem.h"
#include "module_index.h"

struct row {
    const struct module_entry *is;
    size_t node;
};

struct module_tree {
    struct module_index index;
    struct row *rows; /* one for each entry */
    size_t count;
    struct modules *out;
};

static bool make_rows(struct module_tree *reading)
{
    reading->count = reading->index.count;
    reading->rows = mem_alloc(reading->count + 1, sizeof *reading->rows);
    for (size_t i = 0; reading->rows && i < reading->count; i++)
        reading->rows[i].is = &reading->index.entries[i];
    return reading->rows != NULL;
}

/* ---- nodes ---- */

/* A root of several is called by its class, with a number where that is taken. */
static bool is_root(const struct row *row)
{
    size_t bytes = strlen(row->is->class_name);
    if (!row->is->path[0])
        return true;
    return !strchr(row->is->path, '.') && strncmp(row->is->path, row->is->class_name, bytes) == 0 &&
           (row->is->path[bytes] == '\0' || row->is->path[bytes] == '#');
}

static int by_folded(const void *a, const void *b)
{
    const struct row *const *x = a, *const *y = b;
    int order = strcmp((*x)->is->folded, (*y)->is->folded);
    if (!order)
        order = strcmp((*x)->is->class_name, (*y)->is->class_name);
    return order ? order : ((*x)->is->id > (*y)->is->id) - ((*x)->is->id < (*y)->is->id);
}

static int by_raw_path(const void *a, const void *b)
{
    const struct row *const *x = a, *const *y = b;
    return strcmp((*x)->is->path, (*y)->is->path);
}

/* Gives each row its number among different folded paths and classes, from 0; how many, or
 * SIZE_MAX. */
static size_t number_paths(struct module_tree *reading)
{
    size_t count = reading->count, different = 0;
    struct row **order = mem_alloc(count + 1, sizeof *order);
    if (!order)
        return SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        order[i] = &reading->rows[i];
    qsort(order, count, sizeof *order, by_folded);
    for (size_t i = 0; i < count; i++) {
        bool same = i && module_entries_fold(order[i]->is, order[i - 1]->is);
        order[i]->node = same ? different - 1 : different++;
    }
    mem_free(order);
    return different;
}

struct tree {
    size_t *parent, *child, *next, *place; /* of paths; place: the node's */
};

/* The path around a row's, among the rows in order of their paths. */
static size_t parent_of(struct row *const *order, size_t count, const struct row *row)
{
    const char *dot = strrchr(row->is->path, '.');
    char *around =
        is_root(row) ? NULL : mem_copy(row->is->path, dot ? (size_t)(dot - row->is->path) : 0);
    struct module_entry entry = {.path = around};
    struct row wanted = {.is = &entry};
    const struct row *key = &wanted;
    struct row *const *found =
        around ? bsearch(&key, order, count, sizeof *order, by_raw_path) : NULL;
    mem_free(around);
    return found ? (*found)->node : MODULE_ROOT;
}

static bool find_parents(struct module_tree *reading, struct tree *tree, size_t different)
{
    size_t count = reading->count;
    struct row **order = mem_alloc(count + 1, sizeof *order);
    if (!order)
        return false;
    for (size_t i = 0; i < count; i++)
        order[i] = &reading->rows[i];
    qsort(order, count, sizeof *order, by_raw_path);
    for (size_t i = 0; i < different; i++)
        tree->parent[i] = tree->child[i] = tree->next[i] = MODULE_ROOT;
    for (size_t i = 0; i < count; i++)
        tree->parent[reading->rows[i].node] = parent_of(order, count, &reading->rows[i]);
    mem_free(order);
    return true;
}

/* Children in the order of their first rows, which is that of the model. Place `different` stands
 * for what is around the roots. */
static void link_children(struct module_tree *reading, struct tree *tree, size_t different)
{
    bool *linked = (bool *)(void *)tree->place; /* not in use yet, and large enough */
    memset(linked, 0, different * sizeof *linked);
    size_t *last = mem_alloc(different + 1, sizeof *last);
    tree->child[different] = MODULE_ROOT;
    for (size_t i = 0; last && i <= different; i++)
        last[i] = MODULE_ROOT;
    for (size_t i = 0; last && i < reading->count; i++) {
        size_t path = reading->rows[i].node;
        size_t around = tree->parent[path] == MODULE_ROOT ? different : tree->parent[path];
        if (linked[path])
            continue;
        linked[path] = true;
        *(last[around] == MODULE_ROOT ? &tree->child[around] : &tree->next[last[around]]) = path;
        last[around] = path;
    }
    mem_free(last);
}

/* Nodes in the order of the tree, behind the one for what is of no module. */
static void place_nodes(struct tree *tree, size_t around, size_t node, size_t depth,
                        struct modules *out)
{
    for (size_t path = tree->child[around]; path != MODULE_ROOT; path = tree->next[path]) {
        size_t at = out->count++;
        tree->place[path] = at;
        out->nodes[at] = (struct module_node){.parent = node, .depth = depth};
        place_nodes(tree, path, at, depth + 1, out);
    }
}

static bool name_nodes(struct module_tree *reading, const struct tree *tree)
{
    for (size_t i = 0; i < reading->count; i++) {
        struct row *row = &reading->rows[i];
        row->node = tree->place[row->node];
        struct module_node *node = &reading->out->nodes[row->node];
        node->instances++;
        if (node->path)
            continue;
        node->path = mem_copy(row->is->folded, strlen(row->is->folded));
        node->class_name = mem_copy(row->is->class_name, strlen(row->is->class_name));
        if (!node->path || !node->class_name)
            return false;
    }
    return true;
}

static int make_nodes(struct module_tree *reading)
{
    size_t different = number_paths(reading);
    if (different == SIZE_MAX)
        return ERR_NOMEM;
    struct modules *out = reading->out;
    size_t *cells = mem_alloc(different + 1, 4 * sizeof *cells);
    out->nodes = mem_alloc(different + 1, sizeof *out->nodes);
    struct tree tree = {cells, cells + different + 1, cells + 2 * (different + 1),
                        cells + 3 * (different + 1)};
    bool full = cells && out->nodes && find_parents(reading, &tree, different);
    if (full) {
        out->nodes[out->count++] = (struct module_node){.parent = MODULE_ROOT};
        link_children(reading, &tree, different);
        place_nodes(&tree, different, MODULE_ROOT, 0, out);
        full = out->count == different + 1 && name_nodes(reading, &tree);
        out->known = different;
    }
    mem_free(cells);
    return full ? 0 : ERR_NOMEM;
}

/* ---- blocks ---- */

/* The call site's entry, made if it is new; NULL without memory. */
static struct module_site *site_of(struct modules *out, int64_t site)
{
    uint64_t at = map_get(&out->by_site, (uint64_t)site);
    if (at != MAP_NONE)
        return &out->sites[at];
    if (!MEM_GROW(out->sites, out->site_cap, out->site_count + 1) ||
        !map_put(&out->by_site, (uint64_t)site, out->site_count, NULL))
        return NULL;
    out->sites[out->site_count] = (struct module_site){.site = site};
    return &out->sites[out->site_count++];
}

static bool add_to_site(struct modules *out, const struct living_block *block)
{
    struct module_site *site = site_of(out, block->site);
    if (!site)
        return false;
    site->held[block->purpose] += block->size;
    site->blocks++;
    return true;
}

/* Its place in the nodes; 0: it is of no module. */
static size_t node_of(const struct module_tree *tree, const struct living_block *block)
{
    const struct module_entry *entry = module_index_of(&tree->index, block);
    return entry ? tree->rows[entry - tree->index.entries].node : 0;
}

size_t module_tree_node(const struct module_tree *tree, int64_t module, int64_t tag, int64_t site)
{
    const struct living_block block = {.module = module, .tag = tag, .site = site};
    return node_of(tree, &block);
}

static bool add_block(void *self, const struct living_block *block)
{
    struct module_tree *tree = self;
    size_t at = node_of(tree, block);
    struct module_node *node = &tree->out->nodes[at];
    node->own[block->purpose] += block->size;
    node->blocks++;
    return at || add_to_site(tree->out, block);
}

/* A child stands behind its parent. */
static void add_up(struct modules *out)
{
    for (size_t i = 0; i < out->count; i++)
        memcpy(out->nodes[i].held, out->nodes[i].own, sizeof out->nodes[i].own);
    for (size_t i = out->count; i-- > 0;)
        for (int kind = 0; out->nodes[i].parent != MODULE_ROOT && kind < PURPOSES; kind++)
            out->nodes[out->nodes[i].parent].held[kind] += out->nodes[i].held[kind];
}

static int load(struct db *db, struct module_tree *tree)
{
    int err = module_index_read(db, &tree->index);
    if (err == 0)
        err = make_rows(tree) ? make_nodes(tree) : ERR_NOMEM;
    return err;
}

static void unload(struct module_tree *tree)
{
    mem_free(tree->rows);
    module_index_clear(&tree->index);
}

int module_tree_load(struct db *db, struct modules *out, struct module_tree **tree)
{
    *out = (struct modules){0};
    *tree = mem_alloc(1, sizeof **tree);
    if (!*tree)
        return ERR_NOMEM;
    (*tree)->out = out;
    return load(db, *tree);
}

void module_tree_free(struct module_tree *tree)
{
    if (tree)
        unload(tree);
    mem_free(tree);
}

int modules_read(struct db *db, int64_t process, int64_t device, int64_t seq, struct modules *out)
{
    struct module_tree tree = {.out = out};
    *out = (struct modules){0};
    int err = load(db, &tree);
    if (err == 0)
        err = living_read(db, process, device, seq, add_block, &tree);
    if (err == 0)
        add_up(out);
    unload(&tree);
    ENSURE_WHOLE(err < 0 || modules_are_valid(out));
    return err;
}

void modules_clear(struct modules *modules)
{
    for (size_t i = 0; i < modules->count; i++) {
        mem_free(modules->nodes[i].path);
        mem_free(modules->nodes[i].class_name);
    }
    mem_free(modules->nodes);
    mem_free(modules->sites);
    map_clear(&modules->by_site);
    *modules = (struct modules){0};
}

static int64_t sum(const int64_t *bytes)
{
    int64_t all = 0;
    for (int kind = 0; kind < PURPOSES; kind++)
        all += bytes[kind];
    return all;
}

int64_t module_own(const struct module_node *node)
{
    return sum(node->own);
}

int64_t module_held(const struct module_node *node)
{
    return sum(node->held);
}

bool modules_are_valid(const struct modules *modules)
{
    for (size_t i = 0; i < modules->count; i++) {
        int64_t held = module_own(&modules->nodes[i]);
        for (size_t child = i + 1; child < modules->count; child++)
            held += modules->nodes[child].parent == i ? module_held(&modules->nodes[child]) : 0;
        size_t parent = modules->nodes[i].parent;
        if (held != module_held(&modules->nodes[i]) || (parent != MODULE_ROOT && parent >= i) ||
            (i == 0) != (modules->nodes[i].path == NULL))
            return false;
    }
    return modules->known + (modules->count > 0) == modules->count;
}
