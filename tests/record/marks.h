/* marks.h - rings for tests of the drain, and producers of marks. */
#ifndef TIDEMARK_TESTS_MARKS_H
#define TIDEMARK_TESTS_MARKS_H

#include "ring_fast.h"

#define ARENA_BYTES 65536u

struct ring_shared *new_ring(unsigned bits);
enum ring_push push_mark(struct ring_shared *ring);
void push_marks(struct ring_shared *ring, int count);
/* What a producer leaves that dies between taking a ticket and publishing. */
void leave_hole(struct ring_shared *ring);

#endif
