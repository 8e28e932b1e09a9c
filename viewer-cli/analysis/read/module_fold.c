/*
 * module_fold.c - see module_fold.h.
 *
 * The numbers of a path are its axes. They are folded from the left: two modules are neighbours on
 * an axis if they differ in that number alone, by one, and lie in the same run on each axis before.
 */
#include "module_fold.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "mem.h"
#include "search.h"

enum { MOST_DIGITS = 9, MOST_AXES = 6 };

struct axis {
    size_t at, bytes; /* of the number in the path */
    int64_t number;
    int64_t first, last; /* of its run */
};

struct folded {
    struct module_name name;
    size_t given; /* its place among those that were given */
    size_t count;
    struct axis axes[MOST_AXES];
};

struct folding { /* in order of their paths, then classes */
    struct folded *all;
    size_t count;
    struct buf scratch, text;
    struct folded **members; /* of the run that is measured */
    size_t member_count, member_cap;
};

static int by_name(const void *a, const void *b)
{
    const struct folded *x = a, *y = b;
    int order = strcmp(x->name.path, y->name.path);
    return order ? order : strcmp(x->name.class_name, y->name.class_name);
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

static void find_axes(struct folded *folded)
{
    const char *path = folded->name.path;
    for (size_t at = 0; path[at] && folded->count < MOST_AXES;) {
        size_t bytes = strcspn(path + at, ".");
        int64_t number = number_of(path + at, bytes);
        if (number >= 0)
            folded->axes[folded->count++] = (struct axis){at, bytes, number, number, number};
        at += bytes + (path[at + bytes] == '.');
    }
}

/* The place of the first name that is not before this one. */
static size_t place_of(const struct folding *folding, const char *path, const char *class_name)
{
    struct folded wanted = {.name = {path, class_name}};
    size_t at;
    SEARCH_FIRST(at, 0, folding->count, by_name(&folding->all[at], &wanted) < 0);
    return at;
}

/* The module around it; NULL: there is none that is known. */
static const struct folded *around(struct folding *folding, const struct folded *one)
{
    const char *dot = strrchr(one->name.path, '.');
    folding->scratch.count = 0;
    buf_add(&folding->scratch, one->name.path, dot ? (size_t)(dot - one->name.path) : 0);
    const char *path = buf_string(&folding->scratch);
    const struct folded *found = &folding->all[place_of(folding, path, "")];
    bool is = dot && found < folding->all + folding->count && strcmp(found->name.path, path) == 0;
    return is ? found : NULL;
}

static bool same_run(const struct axis *one, const struct axis *other)
{
    return one->first == other->first && one->last == other->last;
}

/* Whether what is around two that differ in the number of this axis is in one run of it. */
static bool lie_alike(struct folding *folding, const struct folded *one, const struct folded *other,
                      size_t axis)
{
    for (size_t before = 0; before < axis; before++)
        if (!same_run(&one->axes[before], &other->axes[before]))
            return false;
    if (!strchr(one->name.path + one->axes[axis].at, '.'))
        return true;
    const struct folded *first = around(folding, one), *second = around(folding, other);
    return !first || !second ||
           (first->count > axis && second->count > axis &&
            same_run(&first->axes[axis], &second->axes[axis]));
}

static struct folded *neighbour(struct folding *folding, const struct folded *of, size_t axis,
                                int64_t number)
{
    const struct axis *at = &of->axes[axis];
    folding->text.count = 0;
    buf_add(&folding->text, of->name.path, at->at);
    buf_print(&folding->text, "%" PRId64, number);
    buf_text(&folding->text, of->name.path + at->at + at->bytes);
    const char *path = buf_string(&folding->text);
    struct folded *found = &folding->all[place_of(folding, path, of->name.class_name)];
    bool is = number >= 0 && found < folding->all + folding->count &&
              strcmp(found->name.path, path) == 0 &&
              strcmp(found->name.class_name, of->name.class_name) == 0;
    return is && lie_alike(folding, of, found, axis) ? found : NULL;
}

/* From the first of a run: all that belong to it learn its ends, once they are known. */
static bool measure_run(struct folding *folding, struct folded *head, size_t axis)
{
    struct folded *one = head;
    folding->member_count = 0;
    while (one && MEM_GROW(folding->members, folding->member_cap, folding->member_count + 1)) {
        folding->members[folding->member_count++] = one;
        one = neighbour(folding, one, axis, one->axes[axis].number + 1);
    }
    const struct folded *last =
        folding->member_count ? folding->members[folding->member_count - 1] : head;
    for (size_t i = 0; i < folding->member_count; i++) {
        folding->members[i]->axes[axis].first = head->axes[axis].number;
        folding->members[i]->axes[axis].last = last->axes[axis].number;
    }
    return !one;
}

static size_t parts_of(const char *path)
{
    size_t parts = 1;
    for (; *path; path++)
        parts += *path == '.';
    return parts;
}

/* What is around others first. */
static bool measure_axis(struct folding *folding, size_t axis, size_t deepest)
{
    for (size_t parts = 1; parts <= deepest; parts++)
        for (size_t i = 0; i < folding->count; i++) {
            struct folded *one = &folding->all[i];
            if (one->count <= axis || parts_of(one->name.path) != parts ||
                neighbour(folding, one, axis, one->axes[axis].number - 1))
                continue;
            if (!measure_run(folding, one, axis))
                return false;
        }
    return !folding->text.broken && !folding->scratch.broken;
}

static bool measure(struct folding *folding)
{
    size_t deepest = 0;
    bool full = true;
    for (size_t i = 0; i < folding->count; i++) {
        size_t parts = parts_of(folding->all[i].name.path);
        deepest = parts > deepest ? parts : deepest;
        find_axes(&folding->all[i]);
    }
    for (size_t axis = 0; full && axis < MOST_AXES; axis++)
        full = measure_axis(folding, axis, deepest);
    return full;
}

/* ---- texts ---- */

static char *text_of(struct buf *out, const struct folded *one)
{
    const char *path = one->name.path;
    size_t from = 0;
    out->count = 0;
    buf_text(out, "");
    for (size_t i = 0; i < one->count; i++) {
        const struct axis *axis = &one->axes[i];
        if (axis->first == axis->last)
            continue;
        size_t end = axis->at - (axis->at > from); /* without the dot before the number */
        buf_add(out, path + from, end > from ? end - from : 0);
        buf_print(out, "[%" PRId64 "-%" PRId64 "]", axis->first, axis->last);
        from = axis->at + axis->bytes;
    }
    buf_text(out, path + from);
    return out->broken ? NULL : mem_copy(buf_string(out), out->count);
}

int module_fold(const struct module_name *names, size_t count, char **out)
{
    struct folding folding = {.all = mem_alloc(count + 1, sizeof *folding.all), .count = count};
    bool full = folding.all != NULL;
    for (size_t i = 0; full && i < count; i++) {
        folding.all[i] = (struct folded){.name = names[i], .given = i};
        out[i] = NULL;
    }
    if (full)
        qsort(folding.all, count, sizeof *folding.all, by_name);
    full = full && measure(&folding);
    for (size_t i = 0; full && i < count; i++) {
        char **to = &out[folding.all[i].given];
        *to = text_of(&folding.text, &folding.all[i]);
        full = *to != NULL;
    }
    for (size_t i = 0; folding.all && !full && i < count; i++) {
        mem_free(out[i]);
        out[i] = NULL;
    }
    buf_clear(&folding.text);
    buf_clear(&folding.scratch);
    mem_free(folding.members);
    mem_free(folding.all);
    return full ? 0 : ERR_NOMEM;
}
