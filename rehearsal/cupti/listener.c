/* listener.c - see listener.h: CUPTI's functions by which a tool subscribes. */
#include "listener.h"

#include <stddef.h>
#include <stdio.h>

#include "entry.h"

struct listener listeners[TOLD_LISTENERS];
static _Atomic uint32_t count, numbers;

const struct told_name told_names[TOLD_CALLS] = {
#define DRIVER(name, number) {TOLD_DRIVER, number, #name},
#define RUNTIME(name, number) {TOLD_RUNTIME, number, #name},
#include "told.def"
#undef DRIVER
#undef RUNTIME
};

bool listener_is_there(void)
{
    return atomic_load_explicit(&count, memory_order_relaxed) != 0;
}

/* ---- subscriptions ---- */

static struct listener *take_place(void)
{
    for (size_t i = 0; i < TOLD_LISTENERS; i++)
        if (!atomic_exchange(&listeners[i].taken, true))
            return &listeners[i];
    return NULL;
}

/* NULL: it is none, or no more. */
static struct listener *of_handle(const void *handle)
{
    for (size_t i = 0; i < TOLD_LISTENERS; i++)
        if (handle == &listeners[i] && atomic_load(&listeners[i].function))
            return &listeners[i];
    return NULL;
}

static int subscribe(void **subscriber, told_function function, void *own, const char *name)
{
    struct listener *place = subscriber && function ? take_place() : NULL;
    if (!place)
        return subscriber && function ? TOLD_HELD : TOLD_WRONG;
    snprintf(place->name, sizeof place->name, "%s", name ? name : "");
    atomic_store(&place->own, own);
    atomic_store(&place->number, atomic_fetch_add(&numbers, 1) + 1);
    atomic_store(&place->function, function);
    atomic_fetch_add(&count, 1);
    *subscriber = place;
    return TOLD_FINE;
}

API(int, cuptiSubscribe, void **subscriber, told_function function, void *own)
{
    return subscribe(subscriber, function, own, NULL);
}

API(int, cuptiSubscribe_v2, void **subscriber, told_function function, void *own,
    struct told_subscriber_params *params)
{
    int result = subscribe(subscriber, function, own, params ? params->name : NULL);
    if (params && result == TOLD_HELD && params->old_name && params->old_bytes)
        snprintf(params->old_name, params->old_bytes, "%s", listeners[0].name);
    return result;
}

static void end(struct listener *place)
{
    told_function function = atomic_load(&place->function);
    if (!function || !atomic_compare_exchange_strong(&place->function, &function, NULL))
        return;
    atomic_store(&place->number, 0);
    for (size_t i = 0; i < TOLD_CALLS; i++)
        atomic_store(&place->calls[i], false);
    for (size_t i = 0; i < TOLD_RESOURCES; i++)
        atomic_store(&place->resources[i], false);
    atomic_fetch_sub(&count, 1);
    atomic_store(&place->taken, false);
}

API(int, cuptiUnsubscribe, void *subscriber)
{
    struct listener *place = of_handle(subscriber);
    if (!place)
        return TOLD_WRONG;
    end(place);
    return TOLD_FINE;
}

/* ---- what is heard ---- */

/* Larger than any number of CUDA 13.5. */
static uint32_t numbers_of(uint32_t domain)
{
    switch (domain) {
    case TOLD_DRIVER:
        return 1000;
    case TOLD_RUNTIME:
        return 600;
    default:
        return TOLD_RESOURCES;
    }
}

static bool is_domain(uint32_t domain)
{
    return domain > 0 && domain < TOLD_DOMAINS;
}

static void hear(struct listener *place, uint32_t domain, uint32_t number, bool on)
{
    if (domain == TOLD_RESOURCE)
        atomic_store(&place->resources[number], on);
    for (size_t i = 0; i < TOLD_CALLS; i++)
        if (told_names[i].domain == domain && told_names[i].number == number)
            atomic_store(&place->calls[i], on);
}

/* A call that the stand-in never makes can be asked for all the same. */
API(int, cuptiEnableCallback, uint32_t on, void *subscriber, uint32_t domain, uint32_t number)
{
    struct listener *place = of_handle(subscriber);
    if (!place || !is_domain(domain) || number == 0 || number >= numbers_of(domain))
        return TOLD_WRONG;
    hear(place, domain, number, on != 0);
    return TOLD_FINE;
}

API(int, cuptiEnableDomain, uint32_t on, void *subscriber, uint32_t domain)
{
    struct listener *place = of_handle(subscriber);
    if (!place || !is_domain(domain))
        return TOLD_WRONG;
    for (uint32_t number = 1; number < numbers_of(domain); number++)
        hear(place, domain, number, on != 0);
    return TOLD_FINE;
}

API(int, cuptiGetCallbackName, uint32_t domain, uint32_t number, const char **name)
{
    for (size_t i = 0; name && i < TOLD_CALLS; i++) {
        if (told_names[i].domain != domain || told_names[i].number != number)
            continue;
        *name = told_names[i].name;
        return TOLD_FINE;
    }
    return TOLD_WRONG;
}
