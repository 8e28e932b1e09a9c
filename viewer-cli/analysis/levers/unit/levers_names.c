/*
 * Where in the model the modules of a unit stand, folded: model.layers[0-23]; where the program
 * calls them; the module whose output a call site is; and the last part of a name.
 */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "buf.h"
#include "error.h"
#include "group.h"
#include "levers_names.h"
#include "levers_units.h"
#include "mem.h"
#include "query.h"

enum { SHOWN = 5 };

static void add_name(struct buf *text, size_t *count, const char *folded)
{
    if (*count == SHOWN)
        buf_text(text, ", ...");
    else if (*count < SHOWN)
        buf_print(text, "%s%s", *count ? ", " : "", folded);
    *count += 1;
}

/* A model itself has no path. */
static bool has_whole_model(const struct levers_places *places, const struct levers_unit *unit)
{
    for (size_t i = 0; i < unit->count; i++)
        if (unit->calls[i].instance != SIZE_MAX && !places->places[unit->calls[i].instance].path[0])
            return true;
    return false;
}

/* Where one of them has no path the names of the others would be a part of what is counted. */
int levers_unit_name(const struct levers_places *places, struct levers_unit *unit)
{
    const char *seen[SHOWN + 1];
    struct buf text = {0};
    size_t count = 0;
    const bool whole = has_whole_model(places, unit);
    for (size_t i = 0; i < unit->count && count <= SHOWN; i++) {
        size_t at = unit->calls[i].instance, known = 0;
        if (at == SIZE_MAX || !places->places[at].path[0])
            continue;
        while (known < count && strcmp(seen[known], places->folded[at]) != 0)
            known++;
        if (known < count)
            continue;
        seen[count] = places->folded[at];
        add_name(&text, &count, places->folded[at]);
    }
    unit->scattered = count + whole > 1;
    if (text.count && !text.broken && !whole)
        unit->instances = mem_copy(buf_string(&text), text.count);
    int err = text.count && !whole && !unit->instances ? ERR_NOMEM : 0;
    buf_clear(&text);
    return err;
}

void levers_callers_add(struct levers_callers *callers, const struct frame *caller)
{
    for (size_t i = 0; i < callers->count; i++)
        if (callers->frames[i].file == caller->file && callers->frames[i].line == caller->line)
            return;
    if (callers->count == LEVERS_CALLERS)
        callers->more = true;
    else
        callers->frames[callers->count++] = *caller;
}

/* "unet.py:88, 91 and 99": a file's name stands once in a row of its lines. */
int levers_callers_text(const struct levers_callers *callers, char **out)
{
    struct buf text = {0};
    for (size_t i = 0; i < callers->count; i++) {
        const struct frame *frame = &callers->frames[i];
        const char *slash = strrchr(frame->path, '/');
        bool last = i + 1 == callers->count && !callers->more;
        buf_text(&text, !i ? "" : last ? " and " : ", ");
        if (!i || frame->file != callers->frames[i - 1].file)
            buf_print(&text, "%s:", slash ? slash + 1 : frame->path);
        buf_print(&text, "%" PRId64, frame->line);
    }
    if (callers->more)
        buf_text(&text, ", ...");
    *out = text.count && !text.broken ? mem_copy(buf_string(&text), text.count) : NULL;
    int err = text.count && !*out ? ERR_NOMEM : 0;
    buf_clear(&text);
    return err;
}

/* How much of "Decoder.forward (model.py:70) > Linear.forward (linear.py:134)" is the caller's,
 * where the last frame is the module's own forward; 0: it is not. */
static size_t bytes_of_caller(const char *shown, const char *name)
{
    static const char behind[] = " > ", forward[] = ".forward (";
    const char *last = NULL;
    for (const char *at = shown; (at = strstr(at, behind)); at++)
        last = at;
    if (!last || strncmp(last + sizeof behind - 1, name, strlen(name)) != 0 ||
        strncmp(last + sizeof behind - 1 + strlen(name), forward, sizeof forward - 1) != 0)
        return 0;
    return (size_t)(last - shown);
}

int levers_output_name(struct db *db, int64_t site, int64_t module, char **out)
{
    char *path = NULL, *class_name = NULL, *name = NULL, *shown = NULL;
    struct buf text = {0};
    *out = NULL;
    if (site == GROUP_NONE || module == GROUP_NONE)
        return 0;
    int err = query_read(db, "SELECT path, class AS class_name FROM module WHERE id = ?1",
                         Q_IN(module), Q_OUT(Q_COPY(path), Q_COPY(class_name)));
    if (err >= 0)
        err = site_names(db, site, &name, &shown);
    const char *last = class_name ? levers_place_last_name(class_name) : NULL;
    size_t bytes = err >= 0 && path && *path && last && shown ? bytes_of_caller(shown, last) : 0;
    if (bytes)
        buf_print(&text, "%s (%s), called in %.*s,", path, last, (int)bytes, shown);
    if (text.count && !text.broken)
        *out = mem_copy(buf_string(&text), text.count);
    if (err >= 0 && text.count && !*out)
        err = ERR_NOMEM;
    buf_clear(&text);
    mem_free(path);
    mem_free(class_name);
    mem_free(name);
    mem_free(shown);
    return err < 0 ? err : 0;
}

struct levers_last levers_last_of(const char *function)
{
    static const char forward[] = ".forward";
    size_t end = strcspn(function, " "), tail = sizeof forward - 1;
    if (end > tail && strncmp(function + end - tail, forward, tail) == 0)
        end -= tail;
    size_t begin = end;
    while (begin > 0 && function[begin - 1] != '.')
        begin--;
    return (struct levers_last){function + begin, end - begin};
}

bool levers_is_one_of(const char *function, const char *const *names, size_t count)
{
    struct levers_last last = levers_last_of(function);
    if (last.bytes > 3 && strncmp(last.begin, "op_", 3) == 0)
        last = (struct levers_last){last.begin + 3, last.bytes - 3};
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == last.bytes && strncasecmp(last.begin, names[i], last.bytes) == 0)
            return true;
    return false;
}
