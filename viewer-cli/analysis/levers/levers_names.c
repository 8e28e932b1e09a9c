/*
 * Where in the model the modules of a unit stand, folded: model.layers[0-23].
 */
#include <string.h>

#include "buf.h"
#include "error.h"
#include "levers_units.h"
#include "mem.h"

enum { SHOWN = 2 };

static void add_name(struct buf *text, size_t *count, const char *folded)
{
    if (*count == SHOWN)
        buf_text(text, ", ...");
    else if (*count < SHOWN)
        buf_print(text, "%s%s", *count ? ", " : "", folded);
    *count += 1;
}

int levers_unit_name(const struct levers_places *places, struct levers_unit *unit)
{
    const char *seen[SHOWN + 1];
    struct buf text = {0};
    size_t count = 0;
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
    unit->scattered = count > 1;
    if (text.count && !text.broken)
        unit->instances = mem_copy(buf_string(&text), text.count);
    int err = text.count && !unit->instances ? ERR_NOMEM : 0;
    buf_clear(&text);
    return err;
}
