/* told.c - see told.h. */
#include "told.h"

#include <stdatomic.h>
#include <stddef.h>

#include "listener.h"
#include "records.h"

static _Thread_local struct {
    uint32_t depth, outermost;
    bool inside; /* of a callback */
} mine;

static _Atomic uint32_t correlations;

uint32_t told_outermost(void)
{
    return mine.depth ? mine.outermost : 0;
}

static bool call(const struct listener *to, int domain, uint32_t number, const void *data)
{
    told_function function = atomic_load(&to->function);
    if (!function || mine.inside)
        return false;
    mine.inside = true;
    function(atomic_load(&to->own), domain, number, data);
    mine.inside = false;
    return true;
}

static bool tell(struct told *told, size_t i, struct told_place place, enum told_site site,
                 const int *result)
{
    const struct told_name *it = &told_names[told->call];
    struct told_data data = {.site = site,
                             .function = it->name,
                             .params = told->params,
                             .result = result,
                             .context = place.context,
                             .context_number = place.context ? (uint32_t)place.device + 1 : 0,
                             .own = &told->own[i],
                             .correlation = told->correlation};
    return call(&listeners[i], it->domain, it->number, &data);
}

/* Each listener that wants to hear of the call is told, and noted as the one who was. */
static void tell_all(struct told *told, struct told_place place)
{
    for (size_t i = 0; i < TOLD_LISTENERS; i++) {
        uint32_t number = atomic_load(&listeners[i].number);
        if (atomic_load_explicit(&listeners[i].calls[told->call], memory_order_relaxed) &&
            tell(told, i, place, TOLD_ENTER, NULL))
            told->listeners[i] = number;
    }
}

void told_begin(struct told *told, enum told_call which, const uint64_t *params,
                struct told_place place)
{
    *told = (struct told){.call = which, .params = params};
    if (!listener_is_there() && !records_are_on())
        return;
    told->correlation = atomic_fetch_add(&correlations, 1) + 1;
    if (mine.depth++ == 0)
        mine.outermost = told->correlation;
    tell_all(told, place);
}

int told_end(struct told *told, int result, struct told_place place)
{
    if (told->correlation == 0)
        return result;
    for (size_t i = 0; i < TOLD_LISTENERS; i++)
        if (told->listeners[i] && told->listeners[i] == atomic_load(&listeners[i].number))
            tell(told, i, place, TOLD_EXIT, &result);
    mine.depth--;
    return result;
}

void told_context(const void *context)
{
    const struct told_resource resource = {.context = context};
    for (size_t i = 0; i < TOLD_LISTENERS; i++)
        if (atomic_load(&listeners[i].resources[TOLD_CONTEXT_CREATED]))
            call(&listeners[i], TOLD_RESOURCE, TOLD_CONTEXT_CREATED, &resource);
}
