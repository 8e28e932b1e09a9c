/* check_rehearsed.c - what a rehearsal does not know, as far as it can move a measure: check.h. */
#include "check.h"

#include <string.h>

#include "query.h"
#include "rehearsed.h"

static const char *const reasons[REHEARSED_KINDS] = {
    "sizes that a rehearsal does not compute were taken as 0",
    "sizes of libraries' memory are not known in a rehearsal, taken as 0",
    "buffers of libraries are not known in a rehearsal, taken as 0",
    "numbers that a rehearsal does not compute were read, as 0",
};

/* What a library takes is memory of a GPU; beside the allocator it is in no figure, but less is
 * left. */
static bool can_move(enum rehearsed_kind kind, enum check_moved moved, bool host)
{
    switch (kind) {
    case REHEARSED_LIBRARY:
        return !host;
    case REHEARSED_OUTSIDE:
        return moved == CHECK_BY_ALL;
    default:
        return true;
    }
}

static int is_host(const struct check_scope *scope, bool *out)
{
    bool host = false;
    int err = query_read(scope->db, "SELECT kind = 'cpu' AS host FROM device WHERE id = ?1",
                         Q_IN(scope->device), Q_OUT(Q_INT(host)));
    *out = host;
    return err;
}

int check_rehearsed(const struct check_scope *scope, enum check_moved moved, const char **why)
{
    int64_t counts[REHEARSED_KINDS];
    bool host = false;
    int err = rehearsed_count(scope->db, scope->process, counts);
    if (err >= 0 && moved == CHECK_BY_ALLOCATOR)
        err = is_host(scope, &host);
    for (int kind = 0; kind < REHEARSED_KINDS && err >= 0 && !*why; kind++)
        if (counts[kind] && can_move((enum rehearsed_kind)kind, moved, host))
            *why = reasons[kind];
    return err;
}
