/* marks.c - see marks.h. */
#include "marks.h"

#include "clock.h"
#include "error.h"
#include "test.h"

struct ring_shared *new_ring(unsigned bits)
{
    struct ring_shared *ring = NULL;
    REQUIRE(ring_create(&ring, bits, ARENA_BYTES, RING_NO_FD) == BASE_OK);
    return ring;
}

enum ring_push push_mark(struct ring_shared *ring)
{
    struct event event = {.kind = EVENT_MARK, .time_ns = clock_now_ns(), .thread = 1};
    struct ring writer;
    ring_use(&writer, ring);
    return ring_push(&writer, &event);
}

void push_marks(struct ring_shared *ring, int count)
{
    for (int i = 0; i < count; i++)
        CHECK_INT(push_mark(ring), RING_PUSHED);
}

void leave_hole(struct ring_shared *ring)
{
    atomic_fetch_add(&ring->head, 1);
}
