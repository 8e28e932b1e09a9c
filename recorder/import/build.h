/*
 * build.h - from the containers of a pickle to the records of a snapshot, while they are made.
 *
 * A value is 64 bits: a kind and a payload. Containers that are being filled are objects; as soon
 * as a dictionary shows by a key what it is (`action`: an event; `state`: a block; `blocks`: a
 * segment; `stage`: half an annotation), it becomes a record of the snapshot, and keys that come
 * later are set there. A list of frames becomes a site, and a dictionary of a frame a frame, when
 * it is put into another container. What nobody asks for shrinks to VALUE_OTHER.
 *
 * The memo names values by number. An object knows the one memo number that has it, so that what it
 * becomes replaces it there, and its room is used again: the memory for objects is that of the
 * containers that are open, however long the pickle is. An object that was named twice (`shared`)
 * keeps its room, with what it became in it.
 *
 * Invariants (build_is_valid):
 *   an object with memo m > 0 and not shared: memo[m - 1] is the value that names it
 *   free objects form a list; a list's items and a dictionary's pairs number at most their room
 */
#ifndef TIDEMARK_IMPORT_BUILD_H
#define TIDEMARK_IMPORT_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot.h"

typedef uint64_t value;

enum value_kind {
    VALUE_NONE = 0,
    VALUE_BOOL,
    VALUE_INT,  /* 60 bits with sign */
    VALUE_HUGE, /* an integer that has more; payload: 1 = negative */
    VALUE_REAL, /* a double without its last four bits */
    VALUE_STRING,
    VALUE_OBJECT, /* a list or dictionary that is open */
    VALUE_FRAME,
    VALUE_SITE,
    VALUE_ENTRY,
    VALUE_BLOCK,
    VALUE_SEGMENT,
    VALUE_NOTE,
    VALUE_PAIR,
    VALUE_TOP,
    VALUE_OTHER
};

static inline value value_make(enum value_kind kind, uint64_t payload)
{
    return payload << 4 | (value)kind;
}
static inline enum value_kind value_kind(value v)
{
    return (enum value_kind)(v & 15);
}
static inline uint64_t value_payload(value v)
{
    return v >> 4;
}
static inline int64_t value_int(value v)
{
    return (int64_t)v >> 4;
}
value value_of_int(int64_t number);
value value_of_real(double number);
double value_real(value v); /* of VALUE_REAL or VALUE_INT; else 0 */

/* Keys that mean something; their strings have these numbers. */
enum key {
    KEY_NONE = 0,
#define KEY(name, text) KEY_##name,
#include "keys.def"
#undef KEY
    KEY_COUNT
};

struct item { /* of a list: n values, each a record behind the one before */
    value first;
    uint32_t n;
};

struct pair {
    uint32_t key; /* enum key */
    value value;
};

enum object_kind { OBJECT_FREE = 0, OBJECT_LIST, OBJECT_DICT, OBJECT_DONE };

struct object {
    union {
        struct item *items;
        struct pair *pairs;
        value became;       /* OBJECT_DONE */
        uint64_t next_free; /* OBJECT_FREE: index + 1 */
    } as;
    size_t count, cap;
    uint32_t memo; /* number + 1; 0 = none */
    uint8_t kind;
    bool shared;
    bool other_than_frames;  /* of a list: it has an item that is none */
    bool other_than_records; /* likewise, and no list either */
};

struct build {
    struct snapshot *snapshot;
    struct object *objects;
    size_t object_count, object_cap;
    uint64_t free; /* index + 1 */
    value *memo;
    size_t memo_count, memo_cap;
    uint32_t *scratch; /* frames of the site being made */
    size_t scratch_cap;
    uint32_t *lists;     /* objects: lists of events that device_traces has, in order */
    const char *trouble; /* after ERR_CORRUPT: what is wrong, a constant */
};

int build_start(struct build *build, struct snapshot *snapshot);
void build_clear(struct build *build);
bool build_is_valid(const struct build *build);

/* Each returns a base_err; values come back in *out. */
int build_string(struct build *build, const void *bytes, size_t count, value *out);
int build_list(struct build *build, value *out);
int build_dict(struct build *build, value *out);
int build_tuple(struct build *build, const value *values, size_t count, value *out);
int build_append(struct build *build, value list, value *values, size_t count);
/* Keys and values by turns; *dict changes when it becomes a record. */
int build_set(struct build *build, value *dict, value *pairs, size_t count);
int build_memo_put(struct build *build, uint64_t number, value v);
int build_memo_get(struct build *build, uint64_t number, value *out);
void build_named_again(struct build *build, value v); /* the stack has it twice */
int build_finish(struct build *build, value top);

/* ---- between build.c, build_set.c and build_top.c ---- */

/* One more in an array of the snapshot; false: no memory. */
#define BUILD_ADD(snapshot, array, count, cap, ...)                                                \
    (BUDGET_GROW(&(snapshot)->budget, (snapshot)->array, (snapshot)->cap, (snapshot)->count + 1)   \
         ? ((snapshot)->array[(snapshot)->count++] = __VA_ARGS__, true)                            \
         : false)

struct object *build_object(struct build *build, value v); /* NULL: it is none (any more) */
value build_resolve(const struct build *build, value v);
/* The object is no more: it is `becomes` from now on. */
void build_done(struct build *build, value v, value becomes);
/* A value that is put into a container under this key (KEY_NONE: a list). */
int build_seal(struct build *build, value v, enum key key, value *out);

/* A value of another type than its key has. */
static inline void build_odd(struct build *build)
{
    build->snapshot->odd_values++;
}

/* build_set.c: what a dictionary is, by its keys so far: VALUE_OBJECT = not settled. */
enum value_kind build_shape(const struct pair *pairs, size_t count);
int build_new_record(struct build *build, enum value_kind kind, value *out);
int build_set_field(struct build *build, value record, enum key key, value v);
void build_settings(struct build *build, const struct pair *pairs, size_t count);
void build_roundup(struct build *build, const struct object *dict);
bool build_number(struct build *build, value v, uint64_t *out); /* of no sign; false counts */
int build_set_top(struct build *build, enum key key, value v);  /* build_top.c */

#endif
