/* module_fold.c - see module_fold.h. */
#include "module_fold.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "mem.h"

enum { MOST_DIGITS = 9 };

struct index { /* in order of their paths */
    const struct module_name **names;
    size_t count;
};

static int by_path(const void *a, const void *b)
{
    const struct module_name *const *x = a, *const *y = b;
    return strcmp((*x)->path, (*y)->path);
}

static const char *class_at(const struct index *index, const char *path)
{
    struct module_name wanted = {path, NULL};
    const struct module_name *key = &wanted;
    const struct module_name **found =
        bsearch(&key, index->names, index->count, sizeof *index->names, by_path);
    return found ? (*found)->class_name : NULL;
}

/* The number that a part of a path is, without zeroes before it; -1: it is none. */
static int64_t number_of(const char *part, size_t bytes)
{
    int64_t number = 0;
    if (bytes == 0 || bytes > MOST_DIGITS || (part[0] == '0' && bytes > 1))
        return -1;
    for (size_t i = 0; i < bytes; i++) {
        if (part[i] < '0' || part[i] > '9')
            return -1;
        number = number * 10 + (part[i] - '0');
    }
    return number;
}

/* The class of the instance with that number behind the first `bytes` of the path; NULL: none. */
static const char *class_of_instance(const struct index *index, const char *path, size_t bytes,
                                     int64_t number, struct buf *scratch)
{
    scratch->count = 0;
    buf_add(scratch, path, bytes);
    buf_print(scratch, "%" PRId64, number);
    return number < 0 || scratch->broken ? NULL : class_at(index, scratch->data);
}

/* As far as instances of one class go on from `number` in steps of 1 or -1. */
static int64_t last_alike(const struct index *index, const char *path, size_t bytes, int64_t number,
                          int64_t step, struct buf *scratch)
{
    const char *own = class_of_instance(index, path, bytes, number, scratch), *next = own;
    while (own && next && strcmp(own, next) == 0) {
        number += step;
        next = class_of_instance(index, path, bytes, number, scratch);
    }
    return own ? number - step : number;
}

static void fold_one(const struct index *index, const char *path, struct buf *out,
                     struct buf *scratch)
{
    out->count = 0;
    buf_text(out, "");
    for (size_t at = 0; path[at];) {
        size_t bytes = strcspn(path + at, ".");
        int64_t number = number_of(path + at, bytes);
        int64_t first = number, last = number;
        if (number >= 0) {
            first = last_alike(index, path, at, number, -1, scratch);
            last = last_alike(index, path, at, number, 1, scratch);
        }
        if (first < last)
            buf_print(out, "[%" PRId64 "-%" PRId64 "]", first, last);
        else
            buf_print(out, "%s%.*s", at ? "." : "", (int)bytes, path + at);
        at += bytes + (path[at + bytes] == '.');
    }
}

int module_fold(const struct module_name *names, size_t count, char **out)
{
    struct index index = {mem_alloc(count ? count : 1, sizeof *index.names), count};
    struct buf text = {0}, scratch = {0};
    size_t made = 0;
    bool full = index.names != NULL;
    for (size_t i = 0; full && i < count; i++)
        index.names[i] = &names[i];
    if (full)
        qsort(index.names, count, sizeof *index.names, by_path);
    for (; full && made < count; made++) {
        fold_one(&index, names[made].path, &text, &scratch);
        full = !text.broken && !scratch.broken;
        out[made] = full ? mem_copy(buf_string(&text), text.count) : NULL;
        full = out[made] != NULL;
    }
    while (!full && made > 0)
        mem_free(out[--made]);
    buf_clear(&text);
    buf_clear(&scratch);
    mem_free(index.names);
    return full ? 0 : ERR_NOMEM;
}
