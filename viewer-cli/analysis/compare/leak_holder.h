/*
 * leak_holder.h - which Python variable holds what a call site left behind, and what to do.
 *
 * The program's helper looks once, as the program ends (python/tidemark/_holders.py): what
 * module-level names and an exception's local variables lead to. So a holder is known by address,
 * not guessed; what functions held that have returned is not known, and is said to be so. Blocks
 * that no variable leads to, of a site whose others are not held either, are in a graph of autograd
 * where a variable has one that is at least as long as the steps are many, or a collection has one
 * in each element.
 *
 * Invariants: holders come by address; kind HOLDER_UNKNOWN has an empty path.
 */
#ifndef TIDEMARK_ANALYSIS_LEAK_HOLDER_H
#define TIDEMARK_ANALYSIS_LEAK_HOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "purpose.h"

enum holder_kind {
    HOLDER_UNKNOWN,
    HOLDER_VARIABLE,
    HOLDER_ATTRIBUTE,
    HOLDER_LIST,
    HOLDER_DICT,
    HOLDER_SET,
    HOLDER_DEQUE,
    HOLDER_LRU_CACHE,
    HOLDER_BOUNDED,   /* a deque with maxlen */
    HOLDER_TRIMMED,   /* a list that the program also shortens */
    HOLDER_OPTIMIZER, /* its own state */
    HOLDER_GRAPH,     /* of autograd, of that variable */
};

enum holder_born { HOLDER_BORN_UNKNOWN, HOLDER_BORN_IN, HOLDER_BORN_BETWEEN }; /* steps */

enum { HOLDER_PATH = 104, HOLDER_LINE = 72 };

struct leak_holder { /* one mark */
    int64_t address, seq;
    int64_t nodes; /* of its graph */
    int64_t bytes; /* of the block that it leads into; 0 = not known */
    enum holder_kind kind;
    enum holder_kind around; /* of a graph: the collection whose elements have it; HOLDER_UNKNOWN */
    char path[HOLDER_PATH];
    char line[HOLDER_LINE]; /* "train.py:41", where something is put there; "": not known */
    enum holder_born born;  /* the block that it leads into */
    bool freed;             /* a backward freed what the graph kept, as far as was looked */
    bool carried;           /* of a variable: a step makes it of what the step before put there */
    bool several;           /* it is in a tuple that the variable is */
};

enum holder_look { HOLDER_LOOK_NONE, HOLDER_LOOK_ALL, HOLDER_LOOK_CUT }; /* out of time */

struct leak_holders {
    enum holder_look looked; /* at what the program held as it ended */
    struct leak_holder *holders;
    size_t count, cap;
};

int leak_holders_read(struct db *db, int64_t process, struct leak_holders *out);
void leak_holders_clear(struct leak_holders *holders);

/* The one that leads into these bytes, the last so far that is a collection; NULL: none. */
const struct leak_holder *leak_holders_find(const struct leak_holders *holders, int64_t address,
                                            int64_t size);
/* Those that lead into these bytes, of a block that was freed at `free_seq`, learn its size as it
 * was asked for, and its birth; INT64_MAX: it was not freed. */
void leak_holders_weigh(struct leak_holders *holders, int64_t address, int64_t size,
                        int64_t free_seq, int64_t asked, enum holder_born born);
/* Whose graph is long enough for so many steps, and was made in them or `between` them; false:
 * nobody's. A collection of which many elements have one, unless some variable's is much longer; of
 * variables with long ones that with the shortest: what is made in a step of what one step passes
 * to the next has its graph, too. */
bool leak_holders_graph(const struct leak_holders *holders, int64_t steps, bool between,
                        struct leak_holder *out);

/* "a list, `outputs`", "an autograd graph, of `total`", "a KV cache, `model.cache`". */
enum { HOLDER_TEXT = 280, HOLDER_ADVICE = 480 };
const char *holder_text(char text[HOLDER_TEXT], const struct leak_holder *holder,
                        enum purpose purpose, enum holder_look looked);
/* As code. On the CPU, `on_host`, .cpu() is no copy, and .item() is for single elements. */
const char *holder_advice(char text[HOLDER_ADVICE], const struct leak_holder *holder,
                          enum purpose purpose, bool on_host);
/* " (train.py:41)"; "": not known. */
const char *holder_line(char text[HOLDER_LINE + 4], const struct leak_holder *holder);
const char *holder_kind_text(enum holder_kind kind);

#endif
