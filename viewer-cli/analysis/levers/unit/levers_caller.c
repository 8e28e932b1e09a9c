/* levers_caller.c - see levers_caller.h. */
#include "levers_caller.h"

#include <string.h>

#include "error.h"

struct stack { /* one of them, on its way */
    struct levers_caller *caller;
    size_t depth;
    bool same; /* so far */
};

static int take_frame(void *self, const struct frame *frame)
{
    struct stack *stack = self;
    struct levers_caller *caller = stack->caller;
    const size_t at = stack->depth++;
    if (!caller->seen && at < LEVERS_CALLER_DEPTH) {
        caller->frames[caller->count++] = *frame;
        caller->depth = caller->count;
    } else if (stack->same && at < caller->count) {
        const struct frame *other = &caller->frames[at];
        stack->same = other->function == frame->function && other->file == frame->file &&
                      other->line == frame->line;
        caller->count = stack->same ? caller->count : at;
    }
    return 0;
}

int levers_caller_add(struct db *db, struct levers_caller *caller, int64_t site)
{
    struct stack stack = {.caller = caller, .same = true};
    if (map_get(&caller->sites, (uint64_t)site) != MAP_NONE)
        return 0;
    if (!map_put(&caller->sites, (uint64_t)site, 1, NULL))
        return ERR_NOMEM;
    int err = frames_read(db, &caller->read, site, take_frame, &stack);
    if (stack.depth < caller->count)
        caller->count = stack.depth;
    caller->seen++;
    return err;
}

/* Of the line that calls, in `frames`; SIZE_MAX: not known. */
static size_t place_of_line(const struct levers_caller *caller)
{
    for (size_t i = caller->count; i-- > 0;)
        if (levers_is_programs(&caller->frames[i]))
            return i;
    return SIZE_MAX;
}

struct look {
    const struct levers_caller *caller;
    size_t depth, line;
    bool same, called;
};

static int look_at(void *self, const struct frame *frame)
{
    struct look *look = self;
    const size_t at = look->depth++;
    if (at > look->line + 1)
        return 0;
    const struct frame *other = &look->caller->frames[at];
    const bool alike = other->function == frame->function && other->file == frame->file;
    if (at <= look->line)
        look->same = look->same && alike && other->line == frame->line;
    else
        look->called = alike;
    return 0;
}

int levers_caller_has(struct db *db, struct levers_caller *caller, int64_t site, bool *yes)
{
    struct look look = {.caller = caller, .line = place_of_line(caller), .same = true};
    *yes = true;
    if (look.line == SIZE_MAX || look.line + 1 >= caller->depth)
        return 0;
    int err = frames_read(db, &caller->read, site, look_at, &look);
    *yes = look.same && look.depth > look.line && look.called;
    return err;
}

struct levers_last levers_caller_class(const struct levers_caller *caller)
{
    const size_t line = place_of_line(caller);
    for (size_t i = line + 1; line != SIZE_MAX && i < caller->depth; i++) {
        const struct levers_last last = levers_last_of(caller->frames[i].name);
        if (strcmp(last.begin + last.bytes, ".forward") == 0)
            return last;
    }
    return (struct levers_last){"", 0};
}

int levers_caller_text(const struct levers_caller *caller, char **out)
{
    struct levers_callers one = {0};
    const size_t line = place_of_line(caller);
    if (line != SIZE_MAX)
        levers_callers_add(&one, &caller->frames[line]);
    return levers_callers_text(&one, out);
}

void levers_caller_clear(struct levers_caller *caller)
{
    frames_clear(&caller->read);
    map_clear(&caller->sites);
}
