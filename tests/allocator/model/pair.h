/*
 * pair.h - the allocator and the model, each on a device of its own, doing the same things. After
 * each operation everything that either of them says is compared.
 */
#ifndef TIDEMARK_TESTS_PAIR_H
#define TIDEMARK_TESTS_PAIR_H

#include "device_script.h"
#include "model.h"
#include "operation.h"

struct pair_log {
    struct alloc_event *events;
    size_t count, cap;
};

struct pair_slot {
    uint64_t address;
    bool given; /* a malloc gave this address */
};

struct pair {
    struct device_script device[2]; /* of the model, of the allocator */
    struct pair_log log[2];
    struct model model;
    struct alloc *alloc;
    struct alloc_config config;
    struct pair_slot *slots;
    size_t slot_count;
    char difference[400]; /* what differed first; "" = nothing */
};

bool pair_open(struct pair *pair, const struct setup *setup, size_t slots);
/* False: they differ. Operations that no caller may do are left out. */
bool pair_do(struct pair *pair, const struct operation *operation);
/* Compares every segment and block, and asks both whether they are valid. */
bool pair_walk(struct pair *pair);
bool pair_close(struct pair *pair);

#endif
