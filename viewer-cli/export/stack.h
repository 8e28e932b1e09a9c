/*
 * stack.h - call stacks by their numbers in the recording, and the names of their frames.
 */
#ifndef TIDEMARK_EXPORT_STACK_H
#define TIDEMARK_EXPORT_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "db.h"
#include "map.h"

#define STACK_NONE INT64_MIN
#define STACK_UNKNOWN "(call stack not known)" /* where blocks have none */

struct stack {       /* all zero is empty */
    int64_t *frames; /* frame.id, innermost first */
    size_t count, cap;
};

/* Of STACK_NONE and of what is not there: no frames. 0 or an error. */
int stack_read(struct db *db, int64_t site, struct stack *out);
void stack_clear(struct stack *stack);

struct frame_name {
    char *function, *file; /* NULL: not known */
    int64_t line;          /* STACK_NONE */
};

int frame_name_read(struct db *db, int64_t frame, struct frame_name *out);
void frame_name_clear(struct frame_name *name);
/* "forward (model.py:39)": the last part of the file's name; `whole`: all of it. */
void frame_name_put(struct buf *out, const struct frame_name *name, bool whole);

/*
 * Things of the recording in the order in which they first came up, numbered from 0.
 *
 * Invariant: index has for ids[i] the number i, for all of them.
 */
struct numbered { /* all zero is empty */
    struct map index;
    int64_t *ids;
    size_t count, cap;
};

/* False without memory. *is_new: it did not come up before. */
bool numbered_put(struct numbered *numbered, int64_t id, size_t *number, bool *is_new);
void numbered_clear(struct numbered *numbered);

#endif
