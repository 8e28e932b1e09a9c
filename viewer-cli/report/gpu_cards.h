/*
 * gpu_cards.h - the GPUs that a question is about, as --gpu names them: one by its name or its
 * parts, several with commas between them, or all that are known; and what each leaves to an
 * allocator.
 *
 * Invariants: cards stand by memory, the smallest first, then by name; no two have the same name.
 */
#ifndef TIDEMARK_VIEWER_GPU_CARDS_H
#define TIDEMARK_VIEWER_GPU_CARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile.h"

#define GPU_CARDS_MOST 128
#define GPU_CARD_NAME 64
#define GPU_ALL "all"
#define GPU_LIST "list"

struct gpu_card {
    struct profile profile;
    char gpu[GPU_CARD_NAME]; /* as --gpu takes it */
};

struct gpu_cards {
    struct gpu_card list[GPU_CARDS_MOST];
    size_t count;
    bool several; /* all or a list was asked for, even if that has one card */
};

/* ERR_ARG: `why` says what is wrong, for a user. */
int gpu_cards_read(const char *text, struct gpu_cards *out, char *why, size_t room);
/* What is left of the memory for the allocator, without the context and what is set aside. */
int64_t gpu_card_room(const struct profile *profile, int64_t reserve);
/* --gpu list, before any argument of another kind. */
bool gpu_cards_is_list(int argc, char *const *argv);
/* Prints the list; an exit code. */
int gpu_cards_print(const char *command);

#endif
