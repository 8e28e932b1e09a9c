/* The heaps alone: what they ask of who listens, and what they tell who calls. */
#include "heap.h"
#include "keyframe.h"
#include "mem.h"
#include "room.h"

struct listener {
    bool refuses;
    int came;
};

static bool comes(void *context, struct heap_device *device)
{
    struct listener *listener = context;
    CHECK(device->heaps->devices[device->heaps->device_count] == device);
    listener->came++;
    return !listener->refuses;
}

struct world {
    struct room room;
    struct listener listener;
    struct block_pool pool;
    struct heaps heaps;
};

static void begin(struct world *world)
{
    *world = (struct world){.pool.free = BLOCK_END};
    room_begin(&world->room);
    world->heaps = (struct heaps){
        .account = &world->room.account,
        .ledger = &world->room.ledger,
        .defs = world->room.defs,
        .pool = &world->pool,
        .comes = comes,
        .context = &world->listener,
    };
}

static void end(struct world *world)
{
    CHECK(heap_is_valid(&world->heaps) && heap_pool_is_valid(&world->pool));
    heap_forget(&world->heaps);
    CHECK_INT(world->pool.living, 0);
    CHECK(heap_pool_is_valid(&world->pool));
    mem_free(world->pool.blocks);
    room_end(&world->room);
}

static const struct names_heap cuda = {.number = 1, .device_kind = DEVICE_CUDA};

static const struct block *alloc(struct world *world, struct heap *heap, uint64_t address)
{
    const struct event event = {.addr = address, .size = 512};
    world->room.ledger.seq++;
    return heap_block_alloc(heap, &event, 10 * world->room.ledger.seq);
}

TEST(a_device_that_is_refused_is_not_there)
{
    struct world world;
    begin(&world);
    world.listener.refuses = true;
    CHECK(heap_make(&world.heaps, &cuda) == NULL);
    CHECK_INT(world.heaps.device_count, 0);
    CHECK_INT(room_rows(&world.room, SCH_HEAP), 0);
    CHECK(heap_is_valid(&world.heaps));
    world.listener.refuses = false;
    CHECK(heap_make(&world.heaps, &cuda) != NULL);
    CHECK(heap_make(&world.heaps, &cuda) == world.heaps.all[0]);
    CHECK_INT(world.listener.came, 2);
    CHECK_INT(room_rows(&world.room, SCH_HEAP), 1);
    end(&world);
}

TEST(a_block_says_when_its_device_was_never_fuller)
{
    struct world world;
    struct heap *of = NULL;
    begin(&world);
    struct heap *heap = heap_make(&world.heaps, &cuda);
    REQUIRE(heap != NULL);
    int64_t first = alloc(&world, heap, 0x1000)->seq;
    CHECK_INT(heap->device->max_allocated_seq, first);
    const struct event gone = {.addr = 0x1000};
    world.room.ledger.seq++;
    CHECK_INT(heap_block_free(heap, &gone, 100, &of), first);
    CHECK(of == heap);
    int64_t second = alloc(&world, heap, 0x2000)->seq;
    CHECK_INT(heap->device->max_allocated_seq, first); /* as full, not fuller */
    CHECK(second > first);
    of = NULL;
    CHECK_INT(heap_block_free(heap, &gone, 200, &of), BATCH_NULL);
    CHECK(of == NULL);
    CHECK_INT(world.room.account.notes.counted[NOTE_FREE_WITHOUT_ALLOC], 1);
    end(&world);
}

TEST(a_keyframe_has_what_lives)
{
    struct world world;
    struct heap *of = NULL;
    struct keyframes keyframes = {.events = 3};
    begin(&world);
    struct heap *heap = heap_make(&world.heaps, &cuda);
    REQUIRE(heap != NULL);
    alloc(&world, heap, 0x1000);
    alloc(&world, heap, 0x2000);
    const struct event gone = {.addr = 0x1000};
    heap_block_free(heap, &gone, 100, &of);
    keyframe_flush(&keyframes, &world.room.ledger, &world.pool, KEYFRAME_RATIO - 1);
    CHECK_INT(room_rows(&world.room, SCH_KEYFRAME), 0);
    keyframe_flush(&keyframes, &world.room.ledger, &world.pool, KEYFRAME_RATIO);
    CHECK_INT(room_rows(&world.room, SCH_KEYFRAME), 1);
    CHECK_INT(keyframes.at, KEYFRAME_RATIO);
    end(&world);
}

TEST_MAIN(TEST_CASE(a_device_that_is_refused_is_not_there),
          TEST_CASE(a_block_says_when_its_device_was_never_fuller),
          TEST_CASE(a_keyframe_has_what_lives))
