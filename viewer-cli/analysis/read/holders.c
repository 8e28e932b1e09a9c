/* holders.c - see holders.h. */
#include "holders.h"

#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "group.h"
#include "mem.h"
#include "site_apart.h"

enum { SPLIT_ABOVE = 3 }; /* a module with more than one part in so many is looked into */

struct choosing {
    const struct modules *modules;
    struct holders *out;
    size_t *of; /* node of each holder; MODULE_ROOT: a call site, or a module itself */
    size_t of_cap;
};

/* What a library keeps is of no module, though one was the first to call it. */
static int64_t bytes_of(const int64_t *held)
{
    int64_t bytes = 0;
    for (int kind = 0; kind < PURPOSES; kind++)
        bytes += kind == PURPOSE_LIBRARY ? 0 : held[kind];
    return bytes;
}

/* Room for one more, all zero; NULL without memory. */
static struct holder *add(struct choosing *choosing, size_t node, const int64_t *held)
{
    struct holders *out = choosing->out;
    if (!MEM_GROW(out->holders, out->cap, out->count + 1) ||
        !MEM_GROW(choosing->of, choosing->of_cap, out->count + 1))
        return NULL;
    choosing->of[out->count] = node;
    struct holder *holder = &out->holders[out->count++];
    *holder = (struct holder){.site = GROUP_NONE, .bytes = bytes_of(held)};
    for (int kind = 0; kind < PURPOSES; kind++)
        holder->held[kind] = kind == PURPOSE_LIBRARY ? 0 : held[kind];
    return holder;
}

/* Children of a Sequential are called 0, 1, 2: their class says more. */
static bool is_number(const char *path)
{
    return path[strspn(path, "0123456789[-,].")] == '\0';
}

static bool name_module(struct holder *holder, const struct module_node *node)
{
    struct buf name = {0};
    buf_text(&name, *node->path ? node->path : node->class_name);
    if (*node->path && is_number(node->path) && *node->class_name)
        buf_print(&name, " (%s)", node->class_name);
    holder->module = true;
    holder->name = name.broken ? NULL : mem_copy(buf_string(&name), name.count);
    buf_clear(&name);
    return holder->name != NULL;
}

static bool add_module(struct choosing *choosing, size_t at)
{
    const struct module_node *node = &choosing->modules->nodes[at];
    if (!bytes_of(node->held))
        return true;
    struct holder *holder = add(choosing, at, node->held);
    return holder && name_module(holder, node);
}

static bool add_itself(struct choosing *choosing, size_t at)
{
    const struct module_node *node = &choosing->modules->nodes[at];
    if (!bytes_of(node->own))
        return true;
    struct holder *holder = add(choosing, MODULE_ROOT, node->own);
    if (!holder || !name_module(holder, node))
        return false;
    holder->itself = true;
    return true;
}

static bool add_roots_and_sites(struct choosing *choosing)
{
    const struct modules *modules = choosing->modules;
    bool full = true;
    for (size_t i = 1; full && i < modules->count; i++)
        if (modules->nodes[i].parent == MODULE_ROOT)
            full = add_module(choosing, i);
    for (size_t i = 0; full && i < modules->site_count; i++) {
        if (!bytes_of(modules->sites[i].held))
            continue;
        struct holder *holder = add(choosing, MODULE_ROOT, modules->sites[i].held);
        full = holder != NULL;
        if (full)
            holder->site = modules->sites[i].site;
    }
    return full;
}

/* All that cuBLAS keeps, as one. */
static bool add_library(struct choosing *choosing)
{
    static const char name[] = "cuBLAS";
    const struct modules *modules = choosing->modules;
    const int64_t nothing[PURPOSES] = {0};
    int64_t bytes = 0;
    for (size_t i = 0; i < modules->count; i++)
        bytes += modules->nodes[i].own[PURPOSE_LIBRARY];
    for (size_t i = 0; i < modules->site_count; i++)
        bytes += modules->sites[i].held[PURPOSE_LIBRARY];
    if (!bytes)
        return true;
    struct holder *holder = add(choosing, MODULE_ROOT, nothing);
    if (!holder)
        return false;
    holder->bytes = holder->held[PURPOSE_LIBRARY] = bytes;
    holder->name = mem_copy(name, sizeof name - 1);
    return holder->name != NULL;
}

/* ---- modules that stand for too much ---- */

static bool has_children(const struct modules *modules, size_t node)
{
    for (size_t i = node + 1; i < modules->count; i++)
        if (modules->nodes[i].parent == node && bytes_of(modules->nodes[i].held))
            return true;
    return false;
}

/* The place of the largest module to be looked into; SIZE_MAX: none is. */
static size_t find_large(const struct choosing *choosing)
{
    const struct holders *out = choosing->out;
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < out->count; i++) {
        size_t node = choosing->of[i];
        bool larger = found == SIZE_MAX || out->holders[i].bytes > out->holders[found].bytes;
        if (node != MODULE_ROOT && larger && out->holders[i].bytes > out->bytes / SPLIT_ABOVE &&
            has_children(choosing->modules, node))
            found = i;
    }
    return found;
}

static void take_out(struct choosing *choosing, size_t at)
{
    struct holders *out = choosing->out;
    mem_free(out->holders[at].name);
    out->count--;
    out->holders[at] = out->holders[out->count];
    choosing->of[at] = choosing->of[out->count];
}

static bool split(struct choosing *choosing)
{
    const struct modules *modules = choosing->modules;
    bool full = true;
    for (size_t at; full && (at = find_large(choosing)) != SIZE_MAX;) {
        size_t node = choosing->of[at];
        take_out(choosing, at);
        full = add_itself(choosing, node);
        for (size_t i = node + 1; full && i < modules->count; i++)
            if (modules->nodes[i].parent == node)
                full = add_module(choosing, i);
    }
    return full;
}

/* ---- the largest ---- */

static int by_bytes(const void *a, const void *b)
{
    const struct holder *x = a, *y = b;
    if (x->bytes != y->bytes)
        return (x->bytes < y->bytes) - (x->bytes > y->bytes);
    if (x->name && y->name)
        return strcmp(x->name, y->name);
    return (x->site > y->site) - (x->site < y->site);
}

static void keep(struct holders *out, size_t most)
{
    if (out->count)
        qsort(out->holders, out->count, sizeof *out->holders, by_bytes);
    for (; out->count > most; out->rest++) {
        out->rest_bytes += out->holders[--out->count].bytes;
        mem_free(out->holders[out->count].name);
    }
}

static int name_sites(struct db *db, struct holders *out)
{
    struct site_row *rows = mem_alloc(out->count + 1, sizeof *rows);
    size_t count = 0;
    int err = rows ? 0 : ERR_NOMEM;
    for (size_t i = 0; i < out->count && err >= 0; i++) {
        struct holder *holder = &out->holders[i];
        char *whole = NULL;
        if (holder->site == GROUP_NONE)
            continue;
        err = site_names(db, holder->site, &whole, &holder->name);
        mem_free(whole);
        rows[count++] = (struct site_row){.site = holder->site, .shown = &holder->name};
    }
    if (err >= 0)
        err = sites_tell_apart(db, rows, count);
    mem_free(rows);
    return err;
}

/* ---- what most temporaries are of ---- */

static int64_t sum_of(const struct modules *modules, enum purpose purpose)
{
    int64_t sum = 0;
    for (size_t i = 0; i < modules->count; i++)
        sum += modules->nodes[i].own[purpose];
    return sum;
}

/* The deepest: those below a module stand behind it. SIZE_MAX: none has so much. */
static size_t find_deepest(const struct modules *modules, enum purpose purpose, int64_t least)
{
    size_t found = SIZE_MAX;
    for (size_t i = 1; i < modules->count; i++)
        if (modules->nodes[i].held[purpose] >= least)
            found = i;
    return found;
}

static int name_site(struct db *db, const struct module_site *site, struct holder *out)
{
    char *whole = NULL;
    *out = (struct holder){.site = site->site};
    int err = site->site == GROUP_NONE ? 0 : site_names(db, site->site, &whole, &out->name);
    mem_free(whole);
    return err;
}

static int find_temporary(struct db *db, const struct modules *modules, struct holder *out)
{
    const int64_t sum = sum_of(modules, PURPOSE_WORKSPACE), least = (sum + 1) / 2;
    size_t node = sum ? find_deepest(modules, PURPOSE_WORKSPACE, least) : SIZE_MAX;
    *out = (struct holder){.site = GROUP_NONE};
    if (node != SIZE_MAX) {
        const struct module_node *found = &modules->nodes[node];
        out->itself = found->own[PURPOSE_WORKSPACE] >= least && has_children(modules, node);
        return name_module(out, found) ? 0 : ERR_NOMEM;
    }
    for (size_t i = 0; i < modules->site_count && sum; i++)
        if (modules->sites[i].held[PURPOSE_WORKSPACE] >= least)
            return name_site(db, &modules->sites[i], out);
    return 0;
}

int holders_read(struct db *db, int64_t process, int64_t device, int64_t seq, size_t most,
                 struct holders *out)
{
    struct modules modules;
    struct choosing choosing = {.modules = &modules, .out = out};
    *out = (struct holders){0};
    int err = modules_read(db, process, device, seq, &modules);
    if (err >= 0 && !(add_roots_and_sites(&choosing) && add_library(&choosing)))
        err = ERR_NOMEM;
    for (size_t i = 0; i < out->count; i++)
        out->bytes += out->holders[i].bytes;
    if (err >= 0 && !split(&choosing))
        err = ERR_NOMEM;
    keep(out, most);
    if (err >= 0)
        err = name_sites(db, out);
    if (err >= 0)
        err = find_temporary(db, &modules, &out->temporary);
    mem_free(choosing.of);
    modules_clear(&modules);
    return err;
}

void holders_clear(struct holders *holders)
{
    for (size_t i = 0; i < holders->count; i++)
        mem_free(holders->holders[i].name);
    mem_free(holders->temporary.name);
    mem_free(holders->holders);
    *holders = (struct holders){0};
}

static bool is_alike(const struct holder *a, const struct holder *b)
{
    return a->module == b->module && a->itself == b->itself && a->site == b->site && a->name &&
           b->name && strcmp(a->name, b->name) == 0;
}

bool holders_are_valid(const struct holders *holders)
{
    int64_t bytes = holders->rest_bytes;
    for (size_t i = 0; i < holders->count; i++) {
        bytes += holders->holders[i].bytes;
        if (i && holders->holders[i].bytes > holders->holders[i - 1].bytes)
            return false;
        for (size_t other = 0; other < i; other++)
            if (is_alike(&holders->holders[other], &holders->holders[i]))
                return false;
    }
    return bytes == holders->bytes;
}
