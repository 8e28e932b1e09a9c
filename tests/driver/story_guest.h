/* story_guest.h - what the guest of this folder has besides: found by dlsym. */
#ifndef TIDEMARK_TESTS_STORY_GUEST_H
#define TIDEMARK_TESTS_STORY_GUEST_H

#include <stdint.h>

#include "event.h"

int story_event(const struct event *event); /* 0: nobody records */
uint32_t story_string(const char *text);
uint32_t story_heap(int32_t kind, int32_t index, const char *name);

#endif
