/* A log's names, places and stacks as definitions, and the ranges that are open on each thread:
 * what a block's call site is. */
#include <stdlib.h>
#include <string.h>

#include "block_log_telling.h"
#include "error.h"
#include "mem.h"

#define OPEN_MOST ((size_t)512) /* ranges of a stack that are looked at, from the innermost on */

/* ---- definitions ---- */

uint32_t telling_define(struct telling *telling, enum arena_kind kind, const void *payload,
                        size_t bytes)
{
    struct arena_record record = {.bytes = (uint32_t)bytes, .kind = (uint32_t)kind};
    state_define(telling->process, &record, payload);
    return ++telling->defined;
}

uint32_t telling_text(struct telling *telling, const char *text, size_t bytes)
{
    return bytes ? telling_define(telling, ARENA_STRING, text, bytes) : 0;
}

uint32_t telling_string(struct telling *telling, uint32_t name)
{
    if (!name)
        return 0;
    const char *text = intern_at(&telling->feed->log->names, name);
    if (!telling->strings[name])
        telling->strings[name] = telling_text(telling, text, strlen(text));
    return telling->strings[name];
}

/* "train.py(12): forward" is a frame of Python, as torch.profiler names it. */
static bool split_frame(const char *text, size_t *file, uint32_t *line, const char **function)
{
    const char *open = strstr(text, ".py(");
    char *end;
    if (!open || open[4] < '0' || open[4] > '9')
        return false;
    unsigned long number = strtoul(open + 4, &end, 10);
    if (strncmp(end, "): ", 3) != 0 || !end[3] || number > INT32_MAX)
        return false;
    *file = (size_t)(open + 3 - text);
    *line = (uint32_t)number;
    *function = end + 3;
    return true;
}

static uint32_t frame_of(struct telling *telling, uint32_t name)
{
    const char *text = intern_at(&telling->feed->log->names, name), *function;
    struct arena_frame frame = {0};
    size_t file;
    if (telling->frames[name])
        return telling->frames[name];
    if (split_frame(text, &file, &frame.line, &function)) {
        frame.function = telling_text(telling, function, strlen(function));
        frame.file = telling_text(telling, text, file);
        telling->has_line[name] = true;
    } else {
        frame.function = telling_string(telling, name);
    }
    return telling->frames[name] = telling_define(telling, ARENA_FRAME, &frame, sizeof frame);
}

uint32_t telling_place(struct telling *telling, uint32_t place)
{
    struct arena_heap heap;
    if (!place || telling->places[place])
        return place ? telling->places[place] : 0;
    memcpy(&heap, intern_at(&telling->feed->log->places, place), sizeof heap);
    return telling->places[place] = telling_define(telling, ARENA_HEAP, &heap, sizeof heap);
}

static uint32_t own_frame(struct telling *telling, uint32_t number)
{
    struct block_log_frame from;
    if (telling->own_frames[number])
        return telling->own_frames[number];
    memcpy(&from, intern_at(&telling->feed->log->frames, number), sizeof from);
    struct arena_frame frame = {.function = telling_string(telling, from.function),
                                .file = telling_string(telling, from.file),
                                .line = from.line};
    return telling->own_frames[number] = telling_define(telling, ARENA_FRAME, &frame, sizeof frame);
}

uint32_t telling_stack(struct telling *telling, uint32_t stack)
{
    uint32_t frames[BLOCK_LOG_DEPTH];
    const struct intern *stacks = &telling->feed->log->stacks;
    if (!stack || telling->stacks[stack])
        return stack ? telling->stacks[stack] : 0;
    size_t depth = (size_t)stacks->items[stack - 1].count / sizeof *frames;
    memcpy(frames, intern_at(stacks, stack), depth * sizeof *frames);
    for (size_t i = 0; i < depth; i++)
        frames[i] = own_frame(telling, frames[i]);
    return telling->stacks[stack] =
               telling_define(telling, ARENA_SITE, frames, depth * sizeof *frames);
}

/* ---- ranges that are open ---- */

int telling_open(struct telling *telling, uint32_t thread, uint32_t name)
{
    uint64_t top = map_get(&telling->tops, thread);
    uint32_t at = telling->open_free;
    if (at) {
        telling->open_free = telling->open[at - 1].below;
    } else {
        if (!MEM_GROW(telling->open, telling->open_cap, telling->open_count + 1))
            return ERR_NOMEM;
        at = (uint32_t)++telling->open_count;
    }
    telling->open[at - 1] = (struct open_range){name, top == MAP_NONE ? 0 : (uint32_t)top};
    return map_put(&telling->tops, thread, at, NULL) ? BASE_OK : ERR_NOMEM;
}

/* Every begin has its end behind it, so the stack has one; ranges that do not nest end each other.
 */
void telling_close(struct telling *telling, uint32_t thread)
{
    uint64_t top = map_get(&telling->tops, thread);
    if (top == MAP_NONE || !top)
        return;
    struct open_range *range = &telling->open[top - 1];
    map_put(&telling->tops, thread, range->below, NULL);
    range->below = telling->open_free;
    telling->open_free = (uint32_t)top;
}

/* Operators that do nothing but ask for memory: who called them is the site. */
static bool only_allocates(const struct telling *telling, uint32_t name)
{
    static const char *const operators[] = {"aten::empty",      "aten::empty_strided",
                                            "aten::empty_like", "aten::new_empty",
                                            "aten::resize_",    "aten::new_empty_strided"};
    const char *text = intern_at(&telling->feed->log->names, name);
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strcmp(text, operators[i]) == 0)
            return true;
    return false;
}

/* The names of what is open on the thread, innermost first. */
static size_t names_open(const struct telling *telling, uint32_t thread, uint32_t *names,
                         size_t most)
{
    uint64_t top = map_get(&telling->tops, thread);
    size_t count = 0;
    for (uint32_t at = top == MAP_NONE ? 0 : (uint32_t)top; at && count < most;
         at = telling->open[at - 1].below)
        if (telling->open[at - 1].name)
            names[count++] = telling->open[at - 1].name;
    return count;
}

/* As in a recording: where frames of sources are among them, those alone; else all, from the first
 * operator on that does more than ask for memory. */
static size_t choose_frames(struct telling *telling, const uint32_t *names, size_t count,
                            uint32_t *frames)
{
    size_t first = 0, depth = 0;
    bool sources = false;
    for (size_t i = 0; i < count; i++) {
        frame_of(telling, names[i]);
        sources = sources || telling->has_line[names[i]];
    }
    sources = sources && !telling->feed->all_frames;
    while (!sources && !telling->feed->all_frames && first + 1 < count &&
           only_allocates(telling, names[first]))
        first++;
    for (size_t i = first; i < count && depth < BLOCK_LOG_DEPTH; i++)
        if (!sources || telling->has_line[names[i]])
            frames[depth++] = frame_of(telling, names[i]);
    return depth;
}

uint32_t telling_site(struct telling *telling, uint32_t thread)
{
    uint32_t names[OPEN_MOST], frames[BLOCK_LOG_DEPTH];
    size_t count = names_open(telling, thread, names, OPEN_MOST);
    size_t depth = choose_frames(telling, names, count, frames);
    if (!depth)
        return 0;
    uint32_t site =
        budget_intern(&telling->feed->log->budget, &telling->sites, frames, depth * sizeof *frames);
    if (!site || !MEM_GROW(telling->site_numbers, telling->site_cap, site)) {
        telling->no_memory = site || !telling->feed->log->budget.refused;
        return 0;
    }
    if (site > telling->sites_defined) {
        telling->site_numbers[site - 1] =
            telling_define(telling, ARENA_SITE, frames, depth * sizeof *frames);
        telling->sites_defined = site;
    }
    return telling->site_numbers[site - 1];
}
