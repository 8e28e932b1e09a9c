/*
 * tag_list.h - lists of tagged ranges, which hold for the blocks that live when they are said to.
 *
 * A list is an array of places; a place is a range with its tag, or empty. A program says once what
 * is at a place and then, each step, only that the list holds.
 *
 * Invariants (tag_lists_are_valid): places of all lists together == places <= TAG_MAX_PLACES.
 */
#ifndef TIDEMARK_RECORDER_TAG_LIST_H
#define TIDEMARK_RECORDER_TAG_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map.h"

struct heap_device;

#define TAG_MAX_PLACES ((size_t)1 << 20) /* of a process */

struct tag_place {
    uint64_t address;
    uint64_t size;
    struct heap_device *device; /* NULL = the place is empty */
    int32_t tag;
};

struct tag_list {
    struct tag_place *places;
    size_t count, cap;
};

struct tag_lists { /* all zero is none */
    struct map by_number;
    struct tag_list *lists;
    size_t count, cap;
    size_t places;
};

enum tag_result { TAG_SET, TAG_TOO_MANY, TAG_NO_MEMORY };

enum tag_result tag_list_set(struct tag_lists *lists, uint32_t list, uint32_t place,
                             const struct tag_place *value);
const struct tag_list *tag_list_get(const struct tag_lists *lists, uint64_t list); /* or NULL */
void tag_lists_clear(struct tag_lists *lists);
bool tag_lists_are_valid(const struct tag_lists *lists);

#endif
