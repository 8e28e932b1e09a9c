/* The phases above empty heaps: who listens hears of each end, after it began and before its rows.
 */
#include "heap.h"
#include "phase.h"
#include "room.h"

struct world {
    struct room room;
    struct heaps heaps;
    struct phases phases;
    int ended;
    size_t rows_at_end;
};

static void ends(void *context)
{
    struct world *world = context;
    world->ended++;
    world->rows_at_end = room_rows(&world->room, SCH_PHASE);
}

static void begin(struct world *world)
{
    *world = (struct world){0};
    room_begin(&world->room);
    world->heaps = (struct heaps){
        .account = &world->room.account, .ledger = &world->room.ledger, .defs = world->room.defs};
    world->phases = (struct phases){.account = &world->room.account,
                                    .ledger = &world->room.ledger,
                                    .names = &world->room.names,
                                    .defs = world->room.defs,
                                    .heaps = &world->heaps,
                                    .ends = ends,
                                    .context = world};
    REQUIRE(phase_start(&world->phases, 0));
}

static void event(struct world *world, enum event_kind kind, uint32_t name)
{
    const struct event event = {.kind = kind & 0xff, .thread = 7, .name = name};
    int64_t ns = 10 * ++world->room.ledger.seq;
    if (kind == EVENT_PHASE_BEGIN)
        phase_begin(&world->phases, &event, ns);
    else
        phase_end(&world->phases, &event, ns);
    CHECK(phase_is_valid(&world->phases));
}

TEST(each_end_is_told)
{
    struct world world;
    begin(&world);
    uint32_t name = room_string(&world.room, "forward");
    for (int i = 0; i < 3; i++)
        event(&world, EVENT_PHASE_BEGIN, name);
    CHECK_INT(world.ended, 0);
    event(&world, EVENT_PHASE_END, name);
    CHECK_INT(world.ended, 1);
    CHECK_INT(world.rows_at_end, 0);
    event(&world, EVENT_PHASE_END, name); /* what is behind the first end has a number now */
    CHECK_INT(world.ended, 2);
    CHECK_INT(world.rows_at_end, 0);
    CHECK_INT(room_rows(&world.room, SCH_PHASE), 1);
    phase_end_all(&world.phases, 100);
    CHECK(world.ended > 2);
    CHECK_INT(room_rows(&world.room, SCH_PHASE), 3);
    CHECK_INT(world.room.account.notes.counted[NOTE_PHASE_LEFT_OPEN], 1);
    phase_forget(&world.phases);
    heap_forget(&world.heaps);
    room_end(&world.room);
}

TEST_MAIN(TEST_CASE(each_end_is_told))
