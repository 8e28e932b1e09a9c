/*
 * names.h - definitions of the processes and what they are in the database.
 *
 * Strings, frames, sites, tags and devices are interned across the processes of a run: equal ones
 * have one id. A process numbers its definitions 1, 2, 3, ...; `defs` translates a number. A forked
 * child goes on where its parent was: up to `first` its numbers are the parent's, in whose defs
 * they are looked up, and which live as long as any of the line does. A heap is a process's own and
 * is not made here: what was defined is handed out, and its number among the process's heaps is
 * told back. What the parent defined is looked up by names_heap, and made anew by who keeps heaps.
 *
 * Nothing of a definition is trusted: it comes out of memory that the program can write. It is
 * copied before it is looked at, sizes and kinds are checked, bytes that are no UTF-8 become '?',
 * and a number that names nothing is 0, "unknown", from then on.
 */
#ifndef TIDEMARK_RECORDER_NAMES_H
#define TIDEMARK_RECORDER_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "map.h"

struct account;
struct ledger;

/* Byte strings numbered 1, 2, 3, ... in the order of their coming.
 * Invariants: items[i] lies inside bytes[0, byte_count); no two items are equal. */
struct intern_item {
    uint64_t offset;
    uint64_t count;
};

struct intern {
    struct map by_hash; /* hash, moved on by one as long as another item has it -> id */
    struct intern_item *items;
    size_t item_count, item_cap;
    char *bytes;
    size_t byte_count, byte_cap;
};

void intern_clear(struct intern *intern);
bool intern_is_valid(const struct intern *intern);
uint32_t intern_find(const struct intern *intern, const void *bytes, size_t count); /* 0 = new */
/* The next id for bytes that intern_find did not find; 0 without memory: nothing changed. */
uint32_t intern_add(struct intern *intern, const void *bytes, size_t count);
const void *intern_at(const struct intern *intern, uint32_t id);

struct names { /* of a run */
    struct ledger *ledger;
    unsigned char *scratch; /* ARENA_MAX_PAYLOAD bytes, for the copy of a definition */
    struct intern strings;  /* text with its NUL */
    struct intern frames;   /* struct names_frame */
    struct intern sites;    /* ids of frames, uint32_t */
    struct intern tags;     /* struct names_tag */
    struct intern devices;  /* struct names_device */
    struct intern modules;  /* struct names_module */
    uint32_t numbered;      /* strings that were put together: see range.h */
};

struct names_frame {
    uint32_t function, file; /* string ids, 0 = unknown */
    uint32_t line;
};

struct names_module { /* string ids */
    uint32_t path, class_name;
};

struct names_tag {
    uint32_t category, name;
};

struct names_device {
    int32_t kind, ordinal;
};

struct names_def { /* what a number of a process means */
    uint16_t kind; /* enum arena_kind; 0 = a definition that could not be read */
    bool prepares; /* of a site: PyTorch prepares a backward there, see label_prepare */
    uint32_t id;   /* in the database; of a heap: its index in the process + 1 */
};

struct names_heap { /* what was defined, for children */
    uint32_t number;
    int32_t device_kind, device_index;
    uint64_t stream, pool;
    uint32_t name; /* string id */
};

/* No guest makes a longer line (ARENA_PARTS): names of one that does are not known. */
#define NAMES_MOST_DEPTH 256u

/* Invariants: count <= given; holders counts the process, while it lives, and each defs whose
 * `from` this is; depth is from's + 1, or 0; heaps are in order of their numbers. */
struct names_defs {
    struct names *names;
    struct account *account; /* the process's; NULL when it has ended */
    uint32_t holders, depth;
    struct names_defs *from; /* NULL: numbers up to `first` are not known */
    uint32_t first;
    struct names_def *at; /* number - first - 1 */
    size_t count, cap;
    uint64_t given; /* numbers given out by the process, behind `first` */
    uint64_t noted; /* bit k: an unknown number of kind k was noted */
    struct names_heap *heaps;
    size_t heap_count, heap_cap;
};

bool names_start(struct names *names, struct ledger *ledger); /* false without memory */
void names_clear(struct names *names);
bool names_are_valid(const struct names *names);
/* NULL without memory. */
struct names_defs *names_new_defs(struct names *names, struct account *account);
void names_let_go(struct names_defs *defs); /* the process has ended; may be NULL */
bool names_defs_are_valid(const struct names_defs *defs);
/* Of a process that has defined nothing yet. `from` NULL: nobody knows these numbers. */
void names_inherit(struct names_defs *defs, struct names_defs *from, uint32_t first);

/* The next definition. True: it is of a heap, which *heap says; names_heap_made must follow. */
bool names_define(struct names_defs *defs, const struct arena_record *record, const void *payload,
                  struct names_heap *heap);
/* `made` is the heap's number among those of the process; 0: there was no memory for it. */
void names_heap_made(struct names_defs *defs, const struct names_heap *heap, uint32_t made);
/* What an ancestor defined as a heap; NULL: nothing, which is noted. */
const struct names_heap *names_heap(struct names_defs *defs, uint32_t number);

/* Whether the number is of the process's own definitions of that kind: then the id behind it, which
 * is 0 if there was no memory for it. */
static inline bool names_own(const struct names_defs *defs, uint32_t number, enum arena_kind kind,
                             uint32_t *id)
{
    uint64_t at = (uint64_t)number - defs->first - 1u; /* of an older one: beyond any count */
    if (at >= defs->count || defs->at[at].kind != kind)
        return false;
    *id = defs->at[at].id;
    return true;
}

/* The id behind a number, 0 if there is none; of anything but a heap. */
uint32_t names_look_back(struct names_defs *defs, uint32_t number, enum arena_kind kind);
static inline uint32_t names_lookup(struct names_defs *defs, uint32_t number, enum arena_kind kind)
{
    uint32_t id;
    if (names_own(defs, number, kind, &id))
        return id;
    return number ? names_look_back(defs, number, kind) : 0;
}

/* Whether a number of the process is a site where PyTorch prepares a backward; a child knows its
 * parent's. */
static inline bool names_prepares(const struct names_defs *defs, uint32_t number)
{
    while (defs && number <= defs->first)
        defs = defs->from;
    uint32_t at = defs ? number - defs->first - 1u : 0;
    return defs && at < defs->count && defs->at[at].prepares;
}

const char *names_text(const struct names *names, uint32_t string); /* "?" for 0 */
/* 0 without memory. */
uint32_t names_string(struct names *names, const char *text);
uint32_t names_tag(struct names *names, uint32_t category, uint32_t string);
uint32_t names_device(struct names *names, int32_t kind, int32_t ordinal);
/* As schema/device_order.h: the lowest is shown first. */
int names_device_rank(const struct names *names, int64_t device);
/* "cpu", "cuda:0" */
void names_print_device(const struct names *names, int64_t device, char *out, size_t size);

#endif
