/*
 * window.h - which of the numbers of a channel this rank has not done with: what others brought,
 * and somebody may still read.
 */
#ifndef TIDEMARK_REHEARSAL_WINDOW_H
#define TIDEMARK_REHEARSAL_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeros: nothing was seen. Invariant: done <= seen, and seen - done <= cap. */
struct window {
    uint64_t seen, done; /* the last number that is used, and up to which none is held */
    uint8_t *held;       /* of those between, each at its number modulo `cap`, a power of two */
    size_t cap;
};

/* The next number, and how often it is held. Without memory nothing is held. */
void window_see(struct window *window, uint64_t number, unsigned holds);
/* One hold less; false: none was left. */
bool window_release(struct window *window, uint64_t number);
/* Up to which none is held. */
uint64_t window_done(struct window *window);
void window_free(struct window *window);

#endif
