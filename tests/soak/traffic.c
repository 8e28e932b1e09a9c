#include "traffic.h"

#include <stdio.h>
#include <time.h>

#define NS_PER_S 1000000000u

uint64_t traffic_now_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * NS_PER_S + (uint64_t)at.tv_nsec;
}

unsigned traffic_below(struct traffic *self, unsigned limit)
{
    self->seed = self->seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(self->seed >> 33) % limit;
}

void traffic_init(struct traffic *self, struct ledger_slot *slot, unsigned lane, uint64_t rate,
                  uint64_t seed)
{
    *self = (struct traffic){.slot = slot, .rate = rate, .seed = seed + lane * 977u};
    uint64_t number = ledger_number(slot);
    struct tidemark_heap_desc desc = {.size = sizeof desc,
                                      .device_kind = TIDEMARK_DEVICE_VIRTUAL,
                                      .pool = number + 1,
                                      .name = "soak"};
    self->heap = tidemark_heap_open_desc(&desc);
    self->base = (number % 32768) << 32 | (uint64_t)(lane + 1) << 24;
    self->start_ns = traffic_now_ns();
    atomic_fetch_add(&slot->threads, 1);
}

static void count(struct traffic *self)
{
    self->made++;
    atomic_fetch_add(&self->slot->events, 1);
}

/* Waits until the thread is no faster than its rate. */
static void throttle(struct traffic *self)
{
    if (!self->rate)
        return;
    uint64_t due = self->start_ns + self->made * NS_PER_S / self->rate;
    uint64_t now = traffic_now_ns();
    if (now + (uint64_t)TRAFFIC_TICK_MS * 1000000u > due)
        return; /* not a tick ahead yet */
    struct timespec pause = {.tv_sec = (time_t)((due - now) / NS_PER_S),
                             .tv_nsec = (long)((due - now) % NS_PER_S)};
    nanosleep(&pause, NULL);
}

/* One of those that there are by now: each is used for the first time one day. */
static unsigned some_name(struct traffic *self)
{
    uint64_t names = atomic_load(&ledger->names);
    return traffic_below(self, names > 0 ? (unsigned)names : 1);
}

/* Of what is said seldom, so few that a program has soon said each of them. */
static unsigned some_rare_name(struct traffic *self)
{
    return some_name(self) / 32;
}

static tidemark_site_t some_site(struct traffic *self)
{
    char function[32], file[32];
    unsigned number = some_name(self);
    snprintf(function, sizeof function, "make_%u", number);
    snprintf(file, sizeof file, "layer_%u.c", number / 16);
    return tidemark_site(function, file, number % 997 + 1);
}

static uint64_t some_size(struct traffic *self)
{
    unsigned bits = 6 + traffic_below(self, 18);
    return ((uint64_t)1 << bits) + (traffic_below(self, 8) * ((uint64_t)1 << bits) / 8);
}

void traffic_phase_begin(struct traffic *self, const char *name)
{
    tidemark_phase_begin(name);
    count(self);
}

void traffic_phase_end(struct traffic *self, const char *name)
{
    tidemark_phase_end(name);
    count(self);
}

void traffic_step_begin(struct traffic *self, uint64_t number)
{
    tidemark_step_begin(number);
    count(self);
}

static const void *address_of(const struct traffic *self, unsigned at)
{
    return (const void *)(uintptr_t)(self->base + (uint64_t)at * 256);
}

static void free_block(struct traffic *self, unsigned at)
{
    self->bytes[at] = 0;
    tidemark_free(self->heap, address_of(self, at));
    count(self);
    atomic_fetch_add(&self->slot->frees, 1);
}

static void tag_block(struct traffic *self, unsigned at)
{
    char name[32];
    enum tidemark_category category = (enum tidemark_category)(1 + traffic_below(self, 8));
    snprintf(name, sizeof name, "tensor.%u", some_rare_name(self));
    tidemark_tag(self->heap, address_of(self, at), 1, category, name);
    count(self);
}

static void alloc_block(struct traffic *self, unsigned at)
{
    uint64_t bytes = some_size(self);
    struct tidemark_block block = {.size = sizeof block,
                                   .heap = self->heap,
                                   .site = some_site(self),
                                   .has_requested = 1,
                                   .address = address_of(self, at),
                                   .bytes = bytes,
                                   .requested = bytes - traffic_below(self, 32)};
    self->bytes[at] = bytes;
    tidemark_block_alloc(&block);
    count(self);
    atomic_fetch_add(&self->slot->allocs, 1);
    atomic_fetch_add(&self->slot->bytes, bytes);
    if (traffic_below(self, 50) == 0)
        tag_block(self, at);
}

/* A quarter of the places are looked at seldom: their blocks live long. */
void traffic_block(struct traffic *self)
{
    unsigned seldom = traffic_below(self, 100) == 0;
    unsigned at =
        seldom ? traffic_below(self, TRAFFIC_LIVING) : traffic_below(self, TRAFFIC_LIVING * 3 / 4);
    if (self->bytes[at])
        free_block(self, at);
    else
        alloc_block(self, at);
}

static void mark(struct traffic *self)
{
    char name[32];
    snprintf(name, sizeof name, "mark.%u", some_rare_name(self));
    tidemark_mark(name, (int64_t)self->made);
    count(self);
}

/* A phase with a name of its own around some blocks. */
static void layer(struct traffic *self)
{
    char name[32];
    snprintf(name, sizeof name, "layer.%u", some_rare_name(self));
    traffic_phase_begin(self, name);
    for (int i = 0; i < 10; i++)
        traffic_block(self);
    traffic_phase_end(self, name);
}

void traffic_run(struct traffic *self, uint64_t events)
{
    uint64_t until = self->made + events;
    while (self->made < until) {
        unsigned what = traffic_below(self, 200);
        if (what == 0)
            mark(self);
        else if (what == 1)
            layer(self);
        else
            traffic_block(self);
        throttle(self);
    }
}

void traffic_free_all(struct traffic *self)
{
    for (unsigned at = 0; at < TRAFFIC_LIVING; at++)
        if (self->bytes[at])
            free_block(self, at);
}
