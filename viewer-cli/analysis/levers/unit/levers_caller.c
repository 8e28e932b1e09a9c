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

static struct levers_last class_at(const struct levers_caller *caller, size_t at)
{
    const struct levers_last last = levers_last_of(caller->frames[at].name);
    const bool forward = strcmp(last.begin + last.bytes, ".forward") == 0;
    return forward ? last : (struct levers_last){"", 0};
}

/* Of one that has another's `forward`, and of one without frames, nothing is known but what all of
 * its blocks have in common. */
void levers_caller_find(struct levers_caller *caller, const char *class_name)
{
    caller->called = caller->line = SIZE_MAX;
    for (size_t i = 0; i < caller->depth && caller->called == SIZE_MAX; i++) {
        const struct levers_last class = class_at(caller, i);
        if (class.bytes && (!class_name || (strlen(class_name) == class.bytes &&
                                            memcmp(class_name, class.begin, class.bytes) == 0)))
            caller->called = i;
    }
    const size_t end = caller->called < caller->count ? caller->called : caller->count;
    for (size_t i = end; i-- > 0 && caller->line == SIZE_MAX;)
        if (levers_is_programs(&caller->frames[i]))
            caller->line = i;
}

struct levers_last levers_caller_class(const struct levers_caller *caller)
{
    return caller->called == SIZE_MAX ? (struct levers_last){"", 0}
                                      : class_at(caller, caller->called);
}

struct look {
    const struct levers_caller *caller;
    size_t depth;
    bool same, called;
};

static int look_at(void *self, const struct frame *frame)
{
    struct look *look = self;
    const size_t at = look->depth++;
    if (at > look->caller->called)
        return 0;
    const struct frame *other = &look->caller->frames[at];
    const bool alike = other->function == frame->function && other->file == frame->file;
    if (at < look->caller->called)
        look->same = look->same && alike && other->line == frame->line;
    else
        look->called = alike;
    return 0;
}

int levers_caller_has(struct db *db, struct levers_caller *caller, int64_t site, bool *yes)
{
    struct look look = {.caller = caller, .same = true};
    *yes = true;
    if (caller->line == SIZE_MAX || caller->called == SIZE_MAX)
        return 0;
    int err = frames_read(db, &caller->read, site, look_at, &look);
    *yes = look.same && look.called;
    return err;
}

int levers_caller_text(const struct levers_caller *caller, char **out)
{
    struct levers_callers one = {0};
    if (caller->line != SIZE_MAX)
        levers_callers_add(&one, &caller->frames[caller->line]);
    return levers_callers_text(&one, out);
}

void levers_caller_clear(struct levers_caller *caller)
{
    frames_clear(&caller->read);
    map_clear(&caller->sites);
}
