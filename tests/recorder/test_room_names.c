/* The names alone: definitions of a process and of its child, and heaps that somebody else makes.
 */
#include "room.h"

static const struct arena_heap cuda = {.device_kind = DEVICE_CUDA, .device_index = 1, .stream = 7};

TEST(a_heap_is_handed_out_and_its_number_told_back)
{
    struct room room;
    struct names_heap heap = {0};
    uint32_t own = 0;
    room_begin(&room);
    REQUIRE(room_define(&room, ARENA_HEAP, &cuda, sizeof cuda, &heap));
    CHECK_INT(heap.device_kind, DEVICE_CUDA);
    CHECK_INT(heap.device_index, 1);
    CHECK_INT(heap.stream, 7);
    names_heap_made(room.defs, &heap, 4711);
    CHECK(names_own(room.defs, 1, ARENA_HEAP, &own));
    CHECK_INT(own, 4711);
    CHECK(names_defs_are_valid(room.defs));
    CHECK_INT(room_rows(&room, SCH_DEVICE), 0); /* nobody made one */
    room_end(&room);
}

TEST(a_heap_that_could_not_be_made_is_owed_and_keeps_its_number)
{
    struct room room;
    struct names_heap heap;
    uint32_t own = 1;
    room_begin(&room);
    REQUIRE(room_define(&room, ARENA_HEAP, &cuda, sizeof cuda, &heap));
    names_heap_made(room.defs, &heap, 0);
    CHECK(names_own(room.defs, 1, ARENA_HEAP, &own));
    CHECK_INT(own, 0);
    CHECK_INT(room.account.notes.owed[OWED_DEFINITION], 1);
    uint32_t text = room_string(&room, "behind it");
    CHECK_INT(text, 2);
    CHECK_STR(names_text(&room.names, names_lookup(room.defs, text, ARENA_STRING)), "behind it");
    room_end(&room);
}

TEST(a_child_asks_for_what_its_parent_defined)
{
    struct room room;
    struct names_heap heap;
    room_begin(&room);
    room_string(&room, "text");
    REQUIRE(room_define(&room, ARENA_HEAP, &cuda, sizeof cuda, &heap));
    names_heap_made(room.defs, &heap, 1);
    struct account account = {.ledger = &room.ledger, .id = 2};
    struct names_defs *child = names_new_defs(&room.names, &account);
    REQUIRE(child != NULL);
    names_inherit(child, room.defs, 2);
    names_let_go(room.defs); /* it lives as long as the child */
    uint32_t own;
    CHECK(!names_own(child, 2, ARENA_HEAP, &own));
    const struct names_heap *defined = names_heap(child, 2);
    REQUIRE(defined != NULL);
    CHECK_INT(defined->device_index, 1);
    CHECK_STR(names_text(&room.names, names_lookup(child, 1, ARENA_STRING)), "text");
    CHECK(names_heap(child, 1) == NULL); /* a string */
    CHECK(names_heap(child, 9) == NULL);
    CHECK_INT(account.notes.counted[NOTE_UNKNOWN_NAME], 1); /* once of each kind */
    room.defs = child;
    room_end(&room);
}

TEST_MAIN(TEST_CASE(a_heap_is_handed_out_and_its_number_told_back),
          TEST_CASE(a_heap_that_could_not_be_made_is_owed_and_keeps_its_number),
          TEST_CASE(a_child_asks_for_what_its_parent_defined))
