/*
 * From containers to records: every shape, whichever way its keys come; the memo; and sharing. The
 * structure is checked after each operation, also in random order.
 */
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "error.h"
#include "mem.h"
#include "test.h"

struct fixture {
    struct snapshot snapshot;
    struct build build;
    uint64_t memo; /* next number */
};

static void begin(struct fixture *f)
{
    *f = (struct fixture){0};
    f->snapshot.budget.limit = SIZE_MAX / 2;
    REQUIRE(build_start(&f->build, &f->snapshot) == BASE_OK);
}

static void end(struct fixture *f)
{
    CHECK(build_is_valid(&f->build));
    CHECK(snapshot_is_valid(&f->snapshot));
    build_clear(&f->build);
    CHECK(snapshot_is_valid(&f->snapshot));
    snapshot_clear(&f->snapshot);
}

static value text(struct fixture *f, const char *word)
{
    value v;
    REQUIRE(build_string(&f->build, word, strlen(word), &v) == BASE_OK);
    return v;
}

static value list(struct fixture *f)
{
    value v;
    REQUIRE(build_list(&f->build, &v) == BASE_OK);
    return v;
}

static value dict(struct fixture *f)
{
    value v;
    REQUIRE(build_dict(&f->build, &v) == BASE_OK);
    return v;
}

static void set(struct fixture *f, value *into, const char *key, value v)
{
    value pair[2] = {text(f, key), v};
    CHECK_INT(build_set(&f->build, into, pair, 1), BASE_OK);
    CHECK(build_is_valid(&f->build));
}

static void append(struct fixture *f, value into, value v)
{
    CHECK_INT(build_append(&f->build, into, &v, 1), BASE_OK);
    CHECK(build_is_valid(&f->build));
}

static value number(int64_t n)
{
    return value_of_int(n);
}

/* ---- values ---- */

TEST(numbers_keep_their_value)
{
    static const int64_t numbers[] = {
        0, 1, -1, 255, 1 << 30, -(1 << 30), (INT64_C(1) << 59) - 1, -(INT64_C(1) << 59)};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        CHECK_INT(value_kind(number(numbers[i])), VALUE_INT);
        CHECK_INT(value_int(number(numbers[i])), numbers[i]);
    }
    CHECK_INT(value_kind(number(INT64_C(1) << 59)), VALUE_HUGE);
    CHECK_INT(value_payload(number(INT64_MAX)), 0);
    CHECK_INT(value_kind(number(INT64_MIN)), VALUE_HUGE);
    CHECK_INT(value_payload(number(INT64_MIN)), 1);
    CHECK(value_real(value_of_real(0.75)) == 0.75);
    CHECK(value_real(value_of_real(-2.5)) == -2.5);
    CHECK(value_real(number(3)) == 3.0);
    CHECK(value_real(value_make(VALUE_NONE, 0)) == 0.0);
}

TEST(equal_texts_are_one)
{
    struct fixture f;
    begin(&f);
    CHECK(text(&f, "abc") == text(&f, "abc"));
    CHECK(text(&f, "abc") != text(&f, "abd"));
    CHECK(text(&f, "") != text(&f, "abc"));
    CHECK_INT(value_payload(text(&f, "segments")), KEY_SEGMENTS);
    CHECK_INT(value_payload(text(&f, "END")), KEY_IS_END);
    CHECK_STR(snapshot_text(&f.snapshot, KEY_ACTION), "action");
    CHECK_STR(snapshot_text(&f.snapshot, 0), "");
    end(&f);
}

TEST(only_pairs_of_numbers_are_pairs)
{
    struct fixture f;
    value v, two[3] = {number(0), number(7), number(1)}, again;
    begin(&f);
    CHECK_INT(build_tuple(&f.build, two, 2, &v), BASE_OK);
    CHECK_INT(build_tuple(&f.build, two, 2, &again), BASE_OK);
    CHECK_INT(value_kind(v), VALUE_PAIR);
    CHECK(v == again);
    struct snapshot_pair pair = snapshot_pair_at(&f.snapshot, (uint32_t)value_payload(v));
    CHECK_INT(pair.first, 0);
    CHECK_INT(pair.second, 7);
    CHECK_INT(build_tuple(&f.build, two, 3, &v), BASE_OK);
    CHECK_INT(value_kind(v), VALUE_OTHER);
    two[1] = text(&f, "x");
    CHECK_INT(build_tuple(&f.build, two, 2, &v), BASE_OK);
    CHECK_INT(value_kind(v), VALUE_OTHER);
    end(&f);
}

/* ---- records ---- */

/* An event, whose action comes as key number `turn`. */
static value event(struct fixture *f, int turn)
{
    static const char *const keys[] = {"addr", "size", "stream", "time_us", "pool_id"};
    value v = dict(f), pool[2] = {number(3), number(4)}, pair;
    CHECK_INT(build_tuple(&f->build, pool, 2, &pair), BASE_OK);
    value values[] = {number(4096), number(100), number(9), number(77), pair};
    for (int i = 0; i <= 5; i++) {
        if (i == turn)
            set(f, &v, "action", text(f, "alloc"));
        if (i < 5)
            set(f, &v, keys[i], values[i]);
    }
    return v;
}

TEST(an_event_whichever_key_comes_first)
{
    struct fixture f;
    begin(&f);
    for (int turn = 0; turn <= 5; turn++) {
        value v = event(&f, turn);
        CHECK_INT(value_kind(v), VALUE_ENTRY);
        const struct trace_entry *entry = &f.snapshot.entries[value_payload(v)];
        CHECK_INT(entry->action, TRACE_ALLOC);
        CHECK_INT(entry->addr, 4096);
        CHECK_INT(entry->size, 100);
        CHECK_INT(entry->time_us, 77);
        struct snapshot_place place = snapshot_place_at(&f.snapshot, entry->place);
        CHECK_INT(place.stream, 9);
        CHECK_INT(snapshot_pair_at(&f.snapshot, place.pool).second, 4);
    }
    CHECK_INT(f.snapshot.entry_count, 6);
    CHECK_INT(f.build.object_count, 1); /* one open dictionary at a time: one object */
    end(&f);
}

TEST(every_action)
{
    static const struct {
        const char *word;
        enum trace_action action;
    } actions[] = {{"alloc", TRACE_ALLOC},
                   {"free_requested", TRACE_FREE_REQUESTED},
                   {"free_completed", TRACE_FREE_COMPLETED},
                   {"segment_alloc", TRACE_SEGMENT_ALLOC},
                   {"segment_free", TRACE_SEGMENT_FREE},
                   {"segment_map", TRACE_SEGMENT_MAP},
                   {"segment_unmap", TRACE_SEGMENT_UNMAP},
                   {"snapshot", TRACE_SNAPSHOT},
                   {"oom", TRACE_OOM},
                   {"annotate", TRACE_ANNOTATE},
                   {"reserve", TRACE_NONE},
                   {"", TRACE_NONE}};
    struct fixture f;
    begin(&f);
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        value v = dict(&f);
        set(&f, &v, "action", text(&f, actions[i].word));
        CHECK_INT(f.snapshot.entries[value_payload(v)].action, actions[i].action);
    }
    end(&f);
}

TEST(states_of_blocks)
{
    static const struct {
        const char *word;
        enum block_life life;
    } states[] = {{"active_allocated", BLOCK_ACTIVE},
                  {"active_pending_free", BLOCK_PENDING},
                  {"active_awaiting_free", BLOCK_PENDING},
                  {"inactive", BLOCK_INACTIVE}};
    struct fixture f;
    begin(&f);
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        value v = dict(&f);
        set(&f, &v, "size", number(512));
        set(&f, &v, "state", text(&f, states[i].word));
        CHECK_INT(value_kind(v), VALUE_BLOCK);
        CHECK_INT(f.snapshot.blocks[value_payload(v)].life, states[i].life);
        CHECK_INT(f.snapshot.blocks[value_payload(v)].size, 512);
        CHECK(f.snapshot.blocks[value_payload(v)].requested == SNAPSHOT_NOT_KNOWN);
    }
    CHECK_INT(f.snapshot.odd_values, 0);
    value odd = dict(&f);
    set(&f, &odd, "state", text(&f, "melted"));
    CHECK_INT(f.snapshot.odd_values, 1);
    CHECK_INT(f.snapshot.blocks[value_payload(odd)].life, BLOCK_INACTIVE);
    end(&f);
}

static value block(struct fixture *f, int64_t size)
{
    value v = dict(f);
    set(f, &v, "state", text(f, "inactive"));
    set(f, &v, "size", number(size));
    return v;
}

TEST(blocks_of_a_segment_lie_in_a_row)
{
    struct fixture f;
    begin(&f);
    value blocks = list(&f), v = dict(&f);
    value first = block(&f, 1), second = block(&f, 2), third = block(&f, 3);
    append(&f, blocks, first);
    append(&f, blocks, second);
    append(&f, blocks, third);
    set(&f, &v, "blocks", blocks);
    CHECK_INT(value_kind(v), VALUE_SEGMENT);
    CHECK_INT(f.snapshot.segments[0].first_block, 0);
    CHECK_INT(f.snapshot.segments[0].block_count, 3);
    CHECK_INT(f.snapshot.block_count, 3); /* none was copied */
    /* Out of order they are copied. */
    blocks = list(&f);
    v = dict(&f);
    append(&f, blocks, third);
    append(&f, blocks, first);
    set(&f, &v, "blocks", blocks);
    CHECK_INT(f.snapshot.segments[1].first_block, 3);
    CHECK_INT(f.snapshot.segments[1].block_count, 2);
    CHECK_INT(f.snapshot.blocks[3].size, 3);
    CHECK_INT(f.snapshot.blocks[4].size, 1);
    end(&f);
}

static value frame(struct fixture *f, const char *name, int64_t line)
{
    value v = dict(f);
    set(f, &v, "name", text(f, name));
    set(f, &v, "filename", text(f, "a.py"));
    set(f, &v, "line", number(line));
    return v;
}

TEST(equal_stacks_are_one_site)
{
    struct fixture f;
    uint32_t sites[3];
    begin(&f);
    for (int i = 0; i < 3; i++) {
        value frames = list(&f), v = dict(&f);
        append(&f, frames, frame(&f, "inner", 1));
        append(&f, frames, frame(&f, "outer", i == 2 ? 3 : 2));
        set(&f, &v, "action", text(&f, "alloc"));
        set(&f, &v, "frames", frames);
        sites[i] = f.snapshot.entries[value_payload(v)].site;
        CHECK(sites[i] > 0);
    }
    CHECK_INT(sites[0], sites[1]);
    CHECK(sites[0] != sites[2]);
    CHECK_INT(f.snapshot.frames.item_count, 3);
    CHECK_INT(f.snapshot.sites.item_count, 2);
    end(&f);
}

TEST(what_nobody_asks_for_is_dropped)
{
    struct fixture f;
    begin(&f);
    for (int i = 0; i < 100; i++) {
        value v = dict(&f), deep = list(&f), deeper = dict(&f);
        set(&f, &deeper, "name", number(1));
        append(&f, deep, deeper);
        append(&f, deep, number(i));
        set(&f, &v, "action", text(&f, "alloc"));
        set(&f, &v, "tomorrow", text(&f, "word"));
        set(&f, &v, "compile_context", text(&f, "N/A"));
        append(&f, deep, v);
        value outer = list(&f);
        append(&f, outer, deep);
    }
    CHECK_INT(f.snapshot.unknown_keys, 100);
    CHECK(f.build.object_count < 110);
    end(&f);
}

/* ---- the memo ---- */

static value kept(struct fixture *f, value v)
{
    CHECK_INT(build_memo_put(&f->build, f->memo++, v), BASE_OK);
    CHECK(build_is_valid(&f->build));
    return v;
}

static value recalled(struct fixture *f, uint64_t at)
{
    value v;
    REQUIRE(build_memo_get(&f->build, at, &v) == BASE_OK);
    CHECK(build_is_valid(&f->build));
    return v;
}

TEST(the_memo_knows_what_a_container_became)
{
    struct fixture f;
    begin(&f);
    value v = kept(&f, dict(&f)), frames = kept(&f, list(&f)), one = kept(&f, frame(&f, "f", 1));
    append(&f, frames, one);
    CHECK_INT(value_kind(recalled(&f, 2)), VALUE_FRAME);
    set(&f, &v, "action", text(&f, "alloc"));
    set(&f, &v, "frames", frames);
    CHECK_INT(value_kind(recalled(&f, 1)), VALUE_SITE);
    CHECK(recalled(&f, 0) == v);
    CHECK_INT(value_kind(v), VALUE_ENTRY);
    value none;
    CHECK_INT(build_memo_get(&f.build, 3, &none), ERR_CORRUPT);
    end(&f);
}

TEST(a_container_with_two_names_is_one)
{
    struct fixture f;
    begin(&f);
    value v = kept(&f, dict(&f)), same = recalled(&f, 0);
    kept(&f, v); /* and a second number */
    set(&f, &v, "action", text(&f, "oom"));
    value other = build_resolve(&f.build, same);
    CHECK(other == v);
    CHECK(recalled(&f, 0) == v);
    CHECK(recalled(&f, 1) == v);
    set(&f, &same, "size", number(5));
    CHECK_INT(f.snapshot.entries[value_payload(v)].size, 5);
    end(&f);
}

TEST(a_memo_number_may_be_used_again)
{
    struct fixture f;
    begin(&f);
    value first = dict(&f), second = dict(&f);
    CHECK_INT(build_memo_put(&f.build, 0, first), BASE_OK);
    CHECK_INT(build_memo_put(&f.build, 0, second), BASE_OK);
    CHECK(build_is_valid(&f.build));
    set(&f, &first, "action", text(&f, "alloc"));
    CHECK_INT(value_kind(recalled(&f, 0)), VALUE_OBJECT);
    set(&f, &second, "state", text(&f, "inactive"));
    CHECK_INT(value_kind(recalled(&f, 0)), VALUE_BLOCK);
    end(&f);
}

TEST(what_was_used_cannot_be_filled)
{
    struct fixture f;
    begin(&f);
    value frames = kept(&f, list(&f)), v = dict(&f), more = frame(&f, "g", 2);
    append(&f, frames, frame(&f, "f", 1));
    set(&f, &v, "frames", frames);
    value site = recalled(&f, 0);
    CHECK_INT(build_append(&f.build, site, &more, 1), ERR_CORRUPT);
    CHECK(f.build.trouble != NULL);
    value pair[2] = {text(&f, "line"), number(1)};
    CHECK_INT(build_set(&f.build, &site, pair, 1), ERR_CORRUPT);
    end(&f);
}

/* ---- anything, in any order ---- */

TEST(any_order_of_operations)
{
    static const char *const keys[] = {"action",
                                       "state",
                                       "blocks",
                                       "stage",
                                       "frames",
                                       "name",
                                       "line",
                                       "size",
                                       "device_traces",
                                       "segments",
                                       "history",
                                       "1024",
                                       "x",
                                       "roundup_power2_divisions",
                                       "allocator_settings",
                                       "real_size",
                                       "pool_id",
                                       "device"};
    static const char *const words[] = {"alloc", "inactive", "START", "word"};
    uint64_t seed = 5;
    for (int round = 0; round < 60; round++) {
        struct fixture f;
        value stack[40];
        size_t count = 0;
        begin(&f);
        for (int i = 0; i < 400; i++) {
            uint64_t dice = test_random(&seed) % 16;
            value *top = count ? &stack[count - 1] : NULL;
            value pair[2];
            if (count < 3 || (dice < 4 && count < 40))
                stack[count++] = dice % 2 ? list(&f) : dict(&f);
            else if (dice < 6 && count < 40)
                stack[count++] = number((int64_t)(test_random(&seed) % 4));
            else if (dice < 7 && count < 40)
                stack[count++] = text(&f, words[test_random(&seed) % 4]);
            else if (dice < 9 && f.memo && count < 40)
                stack[count++] = recalled(&f, test_random(&seed) % f.memo);
            else if (dice < 11)
                kept(&f, *top);
            else if (dice < 13 && build_append(&f.build, stack[count - 2], top, 1) == BASE_OK)
                count--;
            else if (dice >= 13) {
                pair[0] = text(&f, keys[test_random(&seed) % (sizeof keys / sizeof *keys)]);
                pair[1] = *top;
                if (build_set(&f.build, &stack[count - 2], pair, 1) == BASE_OK)
                    count--;
                else
                    break; /* a pickle is over with the first mistake */
            }
            REQUIRE(build_is_valid(&f.build));
        }
        end(&f);
    }
}

TEST_MAIN(TEST_CASE(numbers_keep_their_value), TEST_CASE(equal_texts_are_one),
          TEST_CASE(only_pairs_of_numbers_are_pairs), TEST_CASE(an_event_whichever_key_comes_first),
          TEST_CASE(every_action), TEST_CASE(states_of_blocks),
          TEST_CASE(blocks_of_a_segment_lie_in_a_row), TEST_CASE(equal_stacks_are_one_site),
          TEST_CASE(what_nobody_asks_for_is_dropped),
          TEST_CASE(the_memo_knows_what_a_container_became),
          TEST_CASE(a_container_with_two_names_is_one), TEST_CASE(a_memo_number_may_be_used_again),
          TEST_CASE(what_was_used_cannot_be_filled), TEST_CASE(any_order_of_operations))
