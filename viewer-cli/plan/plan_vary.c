/* plan_vary.c - see plan_vary.h. */
#include "plan_vary.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "options.h"

#define SAY(...) (snprintf(why, room, __VA_ARGS__), ERR_ARG)
#define MOST_VALUES (INT64_C(1) << 32)

/* ---- reading ---- */

static bool is_name(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_')
            return false;
    return length > 0;
}

/* "A..B" or "A..B:STEP". False: it is no range. */
static bool read_range(const char *text, struct option_range *range, int64_t *step)
{
    char pair[64];
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    *step = 1;
    if (!strstr(text, "..") || length >= sizeof pair)
        return false;
    memcpy(pair, text, length);
    pair[length] = '\0';
    return option_read_range(pair, range) && range->first != INT64_MIN &&
           range->last != INT64_MAX && (!colon || option_read_int(colon + 1, step)) && *step > 0;
}

static int add_range(struct vary_name *name, const char *text, char *why, size_t room)
{
    struct option_range range;
    if (!read_range(text, &range, &name->step))
        return SAY("'%.60s' is not A..B or A..B:STEP, with A <= B", text);
    if (range.first < -MOST_VALUES || range.last > MOST_VALUES * 1024)
        return SAY("'%.60s' is too large", text);
    name->first = range.first;
    name->count = (size_t)((range.last - range.first) / name->step) + 1;
    name->range = name->numbers = true;
    return 0;
}

static int add_text(struct vary_name *name, size_t *cap, const char *text, size_t length)
{
    if (!MEM_GROW(name->texts, *cap, name->count + 1))
        return ERR_NOMEM;
    name->texts[name->count] = mem_copy(text, length);
    if (!name->texts[name->count])
        return ERR_NOMEM;
    name->count++;
    return 0;
}

/* Numbers ascend, each once. */
static void sort_numbers(struct vary_name *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < name->count; i++) {
        int64_t number = name->list[i];
        char *text = name->texts[i];
        size_t at = kept;
        while (at && name->list[at - 1] > number)
            at--;
        if (at && name->list[at - 1] == number) {
            mem_free(text);
            continue;
        }
        memmove(&name->list[at + 1], &name->list[at], (kept - at) * sizeof *name->list);
        memmove(&name->texts[at + 1], &name->texts[at], (kept - at) * sizeof *name->texts);
        name->list[at] = number;
        name->texts[at] = text;
        kept++;
    }
    name->count = kept;
}

static int read_numbers(struct vary_name *name)
{
    name->list = mem_alloc(name->count, sizeof *name->list);
    if (!name->list)
        return ERR_NOMEM;
    for (size_t i = 0; i < name->count; i++)
        if (!option_read_int(name->texts[i], &name->list[i]))
            return 0;
    name->numbers = true;
    sort_numbers(name);
    return 0;
}

static int add_list(struct vary_name *name, const char *text, char *why, size_t room)
{
    size_t cap = 0;
    int err = 0;
    for (const char *at = text; err == 0; at++) {
        size_t length = strcspn(at, ",");
        if (!length)
            return SAY("an empty value in '%.60s'", text);
        err = add_text(name, &cap, at, length);
        at += length;
        if (!*at)
            break;
    }
    return err ? err : read_numbers(name);
}

int vary_add(struct vary *vary, const char *text, char *why, size_t room)
{
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : 0;
    if (!is_name(text, length))
        return SAY("'%.60s' is not NAME=A..B or NAME=VALUE,VALUE", text);
    if (vary->count == VARY_NAMES)
        return SAY("at most %d names can vary", VARY_NAMES);
    for (size_t i = 0; i < vary->count; i++)
        if (strlen(vary->names[i].name) == length && memcmp(vary->names[i].name, text, length) == 0)
            return SAY("%s is passed twice", vary->names[i].name);
    struct vary_name *name = &vary->names[vary->count++];
    *name = (struct vary_name){.name = mem_copy(text, length)};
    if (!name->name)
        return ERR_NOMEM;
    return strstr(equals, "..") && !strchr(equals, ',') ? add_range(name, equals + 1, why, room)
                                                        : add_list(name, equals + 1, why, room);
}

int vary_settle(struct vary *vary, char *why, size_t room)
{
    vary->searched = VARY_NONE;
    for (size_t i = 0; i < vary->count; i++) {
        const struct vary_name *name = &vary->names[i], *best;
        if (vary->searched == VARY_NONE) {
            vary->searched = name->numbers ? i : VARY_NONE;
            continue;
        }
        best = &vary->names[vary->searched];
        if (name->range && best->range)
            return SAY("%s and %s are both ranges; give one of them as a list of values",
                       best->name, name->name);
        if (name->range || (name->numbers && !best->range && name->count > best->count))
            vary->searched = i;
    }
    vary->combinations = 1;
    for (size_t i = 0; i < vary->count; i++) {
        if (i != vary->searched)
            vary->combinations *= vary->names[i].count;
        if (vary->combinations > VARY_COMBINATIONS)
            return SAY("more than %d combinations", VARY_COMBINATIONS);
    }
    return 0;
}

void vary_clear(struct vary *vary)
{
    for (size_t i = 0; i < vary->count; i++) {
        struct vary_name *name = &vary->names[i];
        for (size_t at = 0; at < name->count && name->texts; at++)
            mem_free(name->texts[at]);
        mem_free(name->texts);
        mem_free(name->list);
        mem_free(name->name);
    }
    *vary = (struct vary){0};
}

bool vary_is_valid(const struct vary *vary)
{
    for (size_t i = 0; i < vary->count; i++) {
        const struct vary_name *name = &vary->names[i];
        if (!name->count || !name->name || !*name->name || name->range == (name->texts != NULL) ||
            (name->range && vary->searched != i))
            return false;
        for (size_t at = 1; name->list && name->numbers && at < name->count; at++)
            if (name->list[at] <= name->list[at - 1])
                return false;
    }
    return true;
}

/* ---- combinations ---- */

struct vary_at vary_combination(const struct vary *vary, size_t index)
{
    struct vary_at at = {{0}};
    for (size_t i = vary->count; i-- > 0;) {
        if (i == vary->searched)
            continue;
        at.of[i] = index % vary->names[i].count;
        index /= vary->names[i].count;
    }
    return at;
}

bool vary_is_less(const struct vary *vary, const struct vary_at *less, const struct vary_at *more)
{
    for (size_t i = 0; i < vary->count; i++) {
        if (i == vary->searched)
            continue;
        if (vary->names[i].numbers ? less->of[i] > more->of[i] : less->of[i] != more->of[i])
            return false;
    }
    return true;
}

/* ---- values ---- */

int64_t vary_number(const struct vary_name *name, size_t at)
{
    return name->range ? name->first + (int64_t)at * name->step : name->list[at];
}

void vary_put_value(const struct vary_name *name, size_t at, struct buf *out)
{
    if (name->range)
        buf_print(out, "%" PRId64, vary_number(name, at));
    else
        buf_text(out, name->texts[at]);
}

void vary_put_text(const struct vary *vary, const struct vary_at *at, size_t without,
                   const char *between, struct buf *out)
{
    bool first = true;
    for (size_t i = 0; i < vary->count; i++) {
        if (i == without)
            continue;
        buf_print(out, "%s%s=", first ? "" : between, vary->names[i].name);
        vary_put_value(&vary->names[i], at->of[i], out);
        first = false;
    }
}

/* The length of "{NAME}" at the text's beginning, 0: it is not there. */
static size_t placeholder(const struct vary_name *name, const char *text)
{
    size_t length = strlen(name->name);
    bool is =
        text[0] == '{' && strncmp(text + 1, name->name, length) == 0 && text[1 + length] == '}';
    return is ? length + 2 : 0;
}

void vary_fill(const struct vary *vary, const struct vary_at *at, const char *text, struct buf *out)
{
    while (*text) {
        size_t taken = 0;
        for (size_t i = 0; i < vary->count && !taken; i++) {
            taken = placeholder(&vary->names[i], text);
            if (taken)
                vary_put_value(&vary->names[i], at->of[i], out);
        }
        if (!taken) {
            buf_add(out, text, 1);
            taken = 1;
        }
        text += taken;
    }
}

bool vary_is_in(const struct vary_name *name, const char *text)
{
    for (; *text; text++)
        if (placeholder(name, text))
            return true;
    return false;
}
