/* window.c - see window.h. */
#include "window.h"

#include "mem.h"

static uint8_t *held_at(const struct window *window, uint64_t number)
{
    return &window->held[number & (window->cap - 1)];
}

/* A place for the number, which is the next or later. */
static bool make_place(struct window *window, uint64_t number)
{
    struct window grown = {.cap = window->cap};
    if (number - window->done <= window->cap)
        return true;
    while (number - window->done > grown.cap)
        grown.cap = grown.cap ? 2 * grown.cap : 64;
    grown.held = mem_alloc(grown.cap, 1);
    if (!grown.held)
        return false;
    for (uint64_t i = window->done + 1; i <= window->seen; i++)
        *held_at(&grown, i) = *held_at(window, i);
    mem_free(window->held);
    window->held = grown.held;
    window->cap = grown.cap;
    return true;
}

void window_see(struct window *window, uint64_t number, unsigned holds)
{
    if (make_place(window, number))
        *held_at(window, number) = (uint8_t)holds;
    else
        window->done = number; /* it is unknown then to who reads it */
    window->seen = number;
}

bool window_release(struct window *window, uint64_t number)
{
    if (number <= window->done || number > window->seen || !*held_at(window, number))
        return false;
    --*held_at(window, number);
    return true;
}

uint64_t window_done(struct window *window)
{
    while (window->done < window->seen && !*held_at(window, window->done + 1))
        window->done++;
    return window->done;
}

void window_free(struct window *window)
{
    mem_free(window->held);
    *window = (struct window){0};
}
