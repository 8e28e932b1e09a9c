/* The driver above the heaps, without anything else: whose its memory is, and the source's total.
 */
#include "driver.h"
#include "mem.h"
#include "room.h"

struct world {
    struct room room;
    struct block_pool pool;
    struct heaps heaps;
    struct driver driver;
    struct heap *heap;
};

static bool comes(void *context, struct heap_device *device)
{
    (void)context;
    (void)device;
    return true;
}

static const struct arena_heap cuda = {.device_kind = DEVICE_CUDA};
enum { MEMORY = 0x100000, BYTES = 0x20000 };

/* Memory of the driver on the heap's device, number 1, and a total of the source's. */
static void begin(struct world *world)
{
    struct names_heap heap;
    *world = (struct world){.pool.free = BLOCK_END};
    room_begin(&world->room);
    world->heaps = (struct heaps){.account = &world->room.account,
                                  .ledger = &world->room.ledger,
                                  .defs = world->room.defs,
                                  .pool = &world->pool,
                                  .comes = comes};
    world->driver = (struct driver){.account = &world->room.account,
                                    .ledger = &world->room.ledger,
                                    .defs = world->room.defs,
                                    .heaps = &world->heaps};
    REQUIRE(room_define(&world->room, ARENA_HEAP, &cuda, sizeof cuda, &heap));
    world->heap = heap_make(&world->heaps, &heap);
    REQUIRE(world->heap != NULL);
    names_heap_made(world->room.defs, &heap, world->heap->number);
    const struct event alloc = {.heap = 1, .addr = MEMORY, .size = BYTES, .a = DRIVER_DEVICE};
    const struct event totals = {.b = BYTES, .flags = EVENT_F_TOTALS};
    CHECK(!driver_has(&world->driver, world->heap->device));
    world->room.ledger.seq++;
    driver_alloc(&world->driver, &alloc, 10);
    CHECK(driver_has(&world->driver, world->heap->device));
    heap_take_reserved(world->heap, &totals, 20);
}

static void end(struct world *world)
{
    CHECK(heap_is_valid(&world->heaps) && driver_is_valid(&world->driver));
    driver_forget(&world->driver);
    heap_forget(&world->heaps);
    mem_free(world->pool.blocks);
    room_end(&world->room);
}

TEST(a_block_makes_it_a_segment_of_its_heap)
{
    struct world world;
    begin(&world);
    driver_block(&world.driver, world.heap, MEMORY - 1, 1); /* beside it */
    CHECK_INT(world.heap->segment_bytes, 0);
    driver_block(&world.driver, world.heap, MEMORY + 4096, 512);
    CHECK_INT(world.heap->segment_bytes, BYTES);
    driver_totals(&world.driver, world.heap->device);
    driver_compare(&world.driver, world.heap->device);
    CHECK_INT(world.room.account.notes.counted[NOTE_RESERVED_DIFFERS], 0);
    CHECK_INT(driver_highest(&world.driver, world.heap->device), BYTES);
    end(&world);
}

static int64_t reserved_after_free(unsigned flags)
{
    struct world world;
    begin(&world);
    driver_block(&world.driver, world.heap, MEMORY, 512);
    const struct event gone = {
        .heap = 1, .addr = MEMORY, .a = DRIVER_DEVICE, .flags = flags & 0xff};
    world.room.ledger.seq++;
    driver_free(&world.driver, &gone, 30);
    CHECK_INT(world.heap->segment_bytes, 0);
    int64_t reserved = world.heap->device->source_reserved;
    end(&world);
    return reserved;
}

/* What is told late is in the source's total already. */
TEST(what_goes_is_taken_off_the_total_once)
{
    CHECK_INT(reserved_after_free(0), 0);
    CHECK_INT(reserved_after_free(EVENT_F_LATE), BYTES);
}

TEST_MAIN(TEST_CASE(a_block_makes_it_a_segment_of_its_heap),
          TEST_CASE(what_goes_is_taken_off_the_total_once))
