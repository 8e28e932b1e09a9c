/* life_support.h - the source between a CUPTI and a driver of our own, in the test's process. */
#ifndef TIDEMARK_TESTS_LIFE_SUPPORT_H
#define TIDEMARK_TESTS_LIFE_SUPPORT_H

#include <dlfcn.h>
#include <stdlib.h>

#include "cupti_support.h"
#include "fake_cupti.h"
#include "fake_driver.h"

struct life {
    struct own_recorder own;
    struct event events[SEEN];
    size_t count;
    struct fake_cupti *cupti;
    void *driver;
};

/* The call of a function of the driver, by its declared type. */
#define DRIVER(life, name) (*(__typeof__(name) **)&(void *){dlsym((life)->driver, #name)})

static inline struct life begin(void)
{
    struct life life = {.own = begin_recording(12, 1 << 20)};
    REQUIRE(setenv("TIDEMARK_CUPTI", FAKE_CUPTI, 1) == 0);
    REQUIRE(unsetenv("CUDA_INJECTION64_PATH") == 0); /* the test injects by itself */
    void *library = dlopen(FAKE_CUPTI, RTLD_NOW | RTLD_LOCAL);
    life.driver = dlopen(FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library && life.driver);
    life.cupti = dlsym(library, "fake_cupti");
    CHECK_INT(DRIVER(&life, cuInit)(0), 0);
    REQUIRE(life.cupti != NULL);
    return life;
}

static inline size_t take(struct life *life)
{
    life->count = drain(&life->own, life->events, SEEN);
    return life->count;
}

static inline const char *text_of(const struct life *life, const struct event *event)
{
    return string_of(life->own.ring, event->name);
}

/* How many events of a kind came, and the last of them. */
static inline int seen(const struct life *life, int kind, const struct event **last)
{
    int n = 0;
    for (size_t i = 0; i < life->count; i++)
        if (life->events[i].kind == kind) {
            n++;
            if (last)
                *last = &life->events[i];
        }
    return n;
}

static inline void check_note(struct life *life, const char *want, int why_not)
{
    const struct event *note = NULL;
    take(life);
    if (!seen(life, EVENT_MARK, &note) || !(note->flags & EVENT_F_SOURCE)) {
        CHECK_STR("no note", want);
        return;
    }
    CHECK_STR(text_of(life, note), want);
    CHECK_INT(note->a, why_not);
}

static inline void *start_with_context(struct life *life)
{
    void *context = NULL;
    CHECK_INT(InitializeInjection(), 1);
    DRIVER(life, cuCtxCreate_v2)(&context, 0, 0);
    return context;
}

#endif
