/*
 * owner.h - how a program learns that its recorder died: the kernel's list of robust futexes.
 *
 * Each ring holds a word with the recorder thread's id and a link behind it. The thread registers
 * the list of these links with the kernel, which at the thread's death, however it comes, sets
 * FUTEX_OWNER_DIED in every word of the list.
 *
 * glibc's robust mutexes are not used: their links are followed by the owner itself, and these lie
 * in memory that the recorded program can write. Here the links are only ever written by us, from a
 * private array; the kernel follows them once, with care. The price: the thread that owns rings
 * must not use glibc's robust mutexes.
 */
#ifndef TIDEMARK_RING_OWNER_H
#define TIDEMARK_RING_OWNER_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct owner_word {          /* in shared memory */
    _Atomic uint32_t thread; /* of the owner; FUTEX_OWNER_DIED when it is gone */
    uint32_t unused;
    struct robust_list link;
};

/* The calling thread becomes the owner; the same thread gives it up. Returns a base_err. */
int owner_take(struct owner_word *word);
void owner_give_up(struct owner_word *word);

#endif
