/*
 * The virtual device by itself, through its seam: addresses, capacity, pages, events.
 */
#include "bed.h"
#include "mem.h"

static struct virtual_device *device;
static const struct alloc_device *seam;

static void begin(const struct virtual_options *options)
{
    REQUIRE(virtual_new(&device, options) == BASE_OK);
    seam = virtual_seam(device);
}

static uint64_t take(uint64_t bytes)
{
    uint64_t address = 0;
    CHECK_INT(seam->take(seam->self, bytes, 0, &address), BASE_OK);
    REQUIRE(virtual_is_valid(device));
    return address;
}

TEST(addresses)
{
    begin(&(struct virtual_options){.capacity = GIB, .base = 64 * MIB});
    uint64_t a = take(2 * MIB), b = take(3 * MIB), c = take(10 * MIB);
    CHECK_INT(a, 64 * MIB);
    CHECK_INT(b, 66 * MIB);
    CHECK_INT(c, 70 * MIB); /* aligned */
    CHECK_INT(seam->give(seam->self, b, 3 * MIB), BASE_OK);
    CHECK_INT(take(6 * MIB), 80 * MIB); /* the gap is 4 */
    CHECK_INT(take(4 * MIB), b);
    CHECK_INT(seam->give(seam->self, a, 2 * MIB), BASE_OK);
    CHECK_INT(take(MIB), a);
    CHECK_INT(seam->give(seam->self, a, 2 * MIB), ERR_NOTFOUND);
    CHECK_INT(seam->give(seam->self, a + 512, MIB), ERR_NOTFOUND);
    CHECK_INT(seam->unreserve(seam->self, a, MIB), ERR_NOTFOUND);
    virtual_delete(device);
    CHECK_INT(virtual_new(&device, &(struct virtual_options){.base = 12345}), ERR_ARG);
    virtual_delete(NULL);
}

TEST(capacity)
{
    uint64_t address, free_bytes, total;
    begin(&(struct virtual_options){.capacity = 10 * MIB});
    take(6 * MIB);
    CHECK_INT(seam->take(seam->self, 5 * MIB, 0, &address), ERR_NOMEM);
    CHECK_INT(seam->take(seam->self, 0, 0, &address), ERR_ARG);
    uint64_t b = take(4 * MIB);
    CHECK_INT(seam->memory(seam->self, &free_bytes, &total), BASE_OK);
    CHECK_INT(free_bytes, 0);
    CHECK_INT(total, 10 * MIB);
    virtual_capacity(device, 8 * MIB);
    CHECK_INT(seam->memory(seam->self, &free_bytes, &total), BASE_OK);
    CHECK_INT(free_bytes, 0);
    CHECK_INT(seam->give(seam->self, b, 4 * MIB), BASE_OK);
    CHECK_INT(seam->take(seam->self, 3 * MIB, 0, &address), ERR_NOMEM);
    take(2 * MIB);
    virtual_delete(device);
}

TEST(pages)
{
    uint64_t at;
    struct virtual_counts counts;
    begin(&(struct virtual_options){.capacity = 20 * MIB});
    CHECK_INT(seam->reserve(seam->self, 40 * MIB, 0, &at), BASE_OK);
    CHECK_INT(seam->map(seam->self, at + 10 * MIB, 10 * MIB), BASE_OK);
    CHECK_INT(seam->map(seam->self, at + 18 * MIB, 4 * MIB), ERR_ARG);
    CHECK_INT(seam->map(seam->self, at + 38 * MIB, 4 * MIB), ERR_ARG);
    CHECK_INT(seam->map(seam->self, at, 12 * MIB), ERR_ARG);
    CHECK_INT(seam->map(seam->self, at - 2 * MIB, 2 * MIB), ERR_ARG);
    CHECK_INT(seam->map(seam->self, at + 20 * MIB, 12 * MIB), ERR_NOMEM);
    CHECK_INT(seam->map(seam->self, at + 20 * MIB, 4 * MIB), BASE_OK);
    CHECK_INT(seam->map(seam->self, at + 8 * MIB, 2 * MIB), BASE_OK);
    CHECK(virtual_is_valid(device));
    virtual_counts(device, &counts);
    CHECK_INT(counts.mapped, 1); /* joined: 8 to 24 */
    CHECK_INT(counts.taken, 16 * MIB);
    CHECK_INT(seam->unmap(seam->self, at + 12 * MIB, 4 * MIB), BASE_OK);
    CHECK(virtual_is_valid(device));
    CHECK_INT(seam->unmap(seam->self, at + 10 * MIB, 4 * MIB), ERR_ARG);
    CHECK_INT(seam->unmap(seam->self, at + 13 * MIB, MIB), ERR_ARG);
    CHECK_INT(seam->unreserve(seam->self, at, 40 * MIB), ERR_BUSY);
    CHECK_INT(seam->unmap(seam->self, at + 8 * MIB, 2 * MIB), BASE_OK);
    CHECK_INT(seam->unmap(seam->self, at + 22 * MIB, 2 * MIB), BASE_OK);
    CHECK_INT(seam->unmap(seam->self, at + 10 * MIB, 2 * MIB), BASE_OK);
    CHECK_INT(seam->unmap(seam->self, at + 16 * MIB, 6 * MIB), BASE_OK);
    CHECK(virtual_is_valid(device));
    virtual_counts(device, &counts);
    CHECK_INT(counts.mapped, 0);
    CHECK_INT(counts.taken, 0);
    CHECK_INT(seam->unreserve(seam->self, at, 40 * MIB), BASE_OK);
    virtual_delete(device);
}

TEST(events_by_hand)
{
    uint64_t event[5];
    begin(&(struct virtual_options){.capacity = MIB, .manual = true});
    for (int i = 0; i < 4; i++)
        CHECK_INT(seam->event_record(seam->self, 3, &event[i]), BASE_OK);
    CHECK_INT(seam->event_record(seam->self, 4, &event[4]), BASE_OK);
    CHECK_INT(seam->event_query(seam->self, event[0]), ERR_BUSY);
    virtual_reach(device, 3, 2);
    CHECK_INT(seam->event_query(seam->self, event[1]), BASE_OK);
    CHECK_INT(seam->event_query(seam->self, event[2]), ERR_BUSY);
    CHECK_INT(seam->event_wait(seam->self, event[2]), BASE_OK);
    CHECK_INT(seam->event_query(seam->self, event[2]), BASE_OK);
    CHECK_INT(seam->event_query(seam->self, event[3]), ERR_BUSY);
    CHECK_INT(seam->stream_wait(seam->self, 3), BASE_OK);
    CHECK_INT(seam->event_query(seam->self, event[3]), BASE_OK);
    CHECK_INT(seam->event_query(seam->self, event[4]), ERR_BUSY);
    virtual_reach(device, 5, 1); /* a stream that it has never seen */
    virtual_reach(device, 4, 100);
    CHECK_INT(seam->event_query(seam->self, event[4]), BASE_OK);
    for (int i = 0; i < 5; i++)
        seam->event_forget(seam->self, event[i]);
    CHECK(virtual_is_valid(device));
    virtual_delete(device);
    begin(&(struct virtual_options){.capacity = MIB});
    CHECK_INT(seam->event_record(seam->self, 3, &event[0]), BASE_OK);
    CHECK_INT(seam->event_query(seam->self, event[0]), BASE_OK);
    virtual_delete(device);
}

static uint64_t wish;

static bool place(void *self, uint64_t bytes, uint64_t stream, uint64_t *address)
{
    (void)bytes;
    (void)stream;
    ++*(int *)self;
    *address = wish;
    return wish != 0;
}

TEST(addresses_by_name)
{
    int asked = 0;
    struct virtual_counts counts;
    begin(&(struct virtual_options){.capacity = GIB, .place = place, .place_self = &asked});
    wish = 0x7f0000200200; /* any, even if no driver would */
    CHECK_INT(take(2 * MIB), wish);
    CHECK_INT(take(2 * MIB), VIRTUAL_BASE);
    virtual_counts(device, &counts);
    CHECK_INT(counts.misplaced, 1);
    wish = 0;
    CHECK_INT(take(2 * MIB), VIRTUAL_BASE + 6 * MIB);
    wish = 4096; /* below the base */
    CHECK_INT(take(2 * MIB), 4096);
    CHECK_INT(asked, 4);
    wish = 0;
    CHECK_INT(virtual_hold(device, VIRTUAL_BASE + 10 * MIB, 2 * MIB, false), BASE_OK);
    CHECK_INT(virtual_hold(device, VIRTUAL_BASE + 11 * MIB, 2 * MIB, false), ERR_ARG);
    CHECK_INT(virtual_hold(device, VIRTUAL_BASE + 20 * MIB, 0, false), ERR_ARG);
    CHECK_INT(take(4 * MIB), VIRTUAL_BASE + 12 * MIB);
    CHECK_INT(seam->give(seam->self, VIRTUAL_BASE + 10 * MIB, 2 * MIB), BASE_OK);
    CHECK(virtual_is_valid(device));
    virtual_delete(device);
}

TEST(without_memory)
{
    uint64_t at, event;
    mem_fail_after(1);
    CHECK_INT(virtual_new(&device, &(struct virtual_options){.capacity = GIB}), ERR_NOMEM);
    CHECK(device == NULL);
    mem_fail_after(0);
    begin(&(struct virtual_options){.capacity = GIB});
    mem_fail_after(1);
    CHECK_INT(seam->take(seam->self, MIB, 0, &at), ERR_NOMEM);
    CHECK_INT(seam->reserve(seam->self, MIB, 0, &at), ERR_NOMEM);
    CHECK_INT(seam->event_record(seam->self, 0, &event), ERR_NOMEM);
    CHECK_INT(virtual_hold(device, VIRTUAL_BASE, MIB, false), ERR_NOMEM);
    mem_fail_after(0);
    CHECK_INT(seam->reserve(seam->self, 64 * MIB, 0, &at), BASE_OK);
    mem_fail_after(1);
    CHECK_INT(seam->map(seam->self, at, 2 * MIB), ERR_NOMEM);
    mem_fail_after(0);
    for (uint64_t i = 0; i < 16; i++) /* as many stretches as there is room for */
        CHECK_INT(seam->map(seam->self, at + 4 * i * MIB, i ? 2 * MIB : 3 * MIB), BASE_OK);
    mem_fail_after(1);
    CHECK_INT(seam->unmap(seam->self, at + MIB, MIB), ERR_NOMEM);
    mem_fail_after(0);
    CHECK(virtual_is_valid(device));
    CHECK_INT(seam->unmap(seam->self, at + MIB, MIB), BASE_OK);
    CHECK(virtual_is_valid(device));
    virtual_delete(device);
}

TEST_MAIN(TEST_CASE(addresses), TEST_CASE(capacity), TEST_CASE(pages), TEST_CASE(events_by_hand),
          TEST_CASE(addresses_by_name), TEST_CASE(without_memory))
