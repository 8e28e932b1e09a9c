/*
 * module_index.h - the modules of a recording, with their instances folded (module_fold.h), and
 * which of them a block is of: the module whose parameter it is, or the gradient or the state of;
 * else the one that ran when it was asked for. Of gradients of many parameters in one block, as
 * FSDP2 reduces them, it is the one that ran, or the outermost one.
 *
 * Invariants: entries are in the order of their ids.
 */
#ifndef TIDEMARK_ANALYSIS_MODULE_INDEX_H
#define TIDEMARK_ANALYSIS_MODULE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "living.h"
#include "map.h"

struct module_entry {
    int64_t id; /* module.id */
    char *path, *class_name;
    char *folded; /* the path with its instances folded */
};

struct module_index {
    struct module_entry *entries;
    size_t count, cap;
    struct map tags;      /* tag.id -> module.id */
    struct map sent;      /* sites in which FSDP or a collective made memory */
    struct map gradients; /* tags of these, if there are such sites */
};

/* 0 or an error; module_index_clear in both cases. Without modules it has no entries. */
int module_index_read(struct db *db, struct module_index *out);
void module_index_clear(struct module_index *index);

/* NULL: there is none of that id. */
const struct module_entry *module_index_at(const struct module_index *index, int64_t id);
/* NULL: the block is of no module, or of none that is known. */
const struct module_entry *module_index_of(const struct module_index *index,
                                           const struct living_block *block);
/* Whether they share a folded name: instances of one class. */
bool module_entries_fold(const struct module_entry *one, const struct module_entry *other);
/* As people read it: the outermost module is called by its class. */
const char *module_entry_text(const struct module_entry *entry);

#endif
