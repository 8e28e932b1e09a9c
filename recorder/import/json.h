/*
 * json.h - JSON, one token after the other, from bytes that are read once. It keeps the text of one
 * string or number and which containers are open, and nothing else: a file of gigabytes takes no
 * more than a file of bytes.
 *
 * It is forgiving where profilers' files are known to be wrong: an escape that is none stands for
 * its character, control characters may stand in strings, NaN and Infinity are null.
 *
 * Invariant: depth <= JSON_DEPTH; text[count] is 0 and count < JSON_TEXT_BYTES.
 */
#ifndef TIDEMARK_IMPORT_JSON_H
#define TIDEMARK_IMPORT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pickle_input.h"

#define JSON_TEXT_BYTES ((size_t)4096) /* a longer string is cut */
#define JSON_DEPTH 256u                /* containers in containers */

enum json_token {
    JSON_WRONG, /* from here on, always; `trouble` says why */
    JSON_END,   /* the whole value was read */
    JSON_OBJECT,
    JSON_OBJECT_END,
    JSON_ARRAY,
    JSON_ARRAY_END,
    JSON_KEY, /* with its text, likewise the next two */
    JSON_STRING,
    JSON_NUMBER, /* as it stands in the file */
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL
};

struct json {
    struct pickle_input *input;
    char text[JSON_TEXT_BYTES];
    size_t count;
    bool cut;
    const char *trouble; /* a constant, or NULL */
    bool ended;          /* and it was that there are no more bytes */
    size_t depth;
    bool in_object[JSON_DEPTH];
    int expect; /* json.c */
    int ahead;  /* a byte that was read too much, or -1 */
};

void json_start(struct json *json, struct pickle_input *input);
enum json_token json_next(struct json *json);
/* The rest of the value whose first token was this one; false: it is wrong. */
bool json_skip(struct json *json, enum json_token first);

#endif
