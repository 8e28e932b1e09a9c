/*
 * Annotations that are paired and laid into lanes, and what goes into the heap state: names, sites,
 * pools, settings.
 */
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "feed.h"
#include "mem.h"
#include "test.h"

#define MAX_NOTES 400u

struct fixture {
    struct snapshot snapshot;
    struct snapshot_note notes[MAX_NOTES];
    struct feed_notes paired;
};

static void begin(struct fixture *f)
{
    *f = (struct fixture){.snapshot.budget.limit = SIZE_MAX / 2};
    f->snapshot.notes = f->notes;
}

static void put(struct fixture *f, const char *name, bool end)
{
    struct snapshot *s = &f->snapshot;
    uint32_t id = snapshot_intern(s, &s->strings, name, strlen(name) + 1);
    REQUIRE(id && s->note_count < MAX_NOTES);
    f->notes[s->note_count] = (struct snapshot_note){
        .time_us = (int64_t)s->note_count, .name = id, .end = end, .known = true};
    s->note_count++;
}

/* "a b B A": a letter begins, its capital ends. */
static void put_all(struct fixture *f, const char *letters)
{
    for (; *letters; letters++) {
        char name[2] = {(char)(*letters | 0x20), '\0'};
        put(f, name, *letters < 'a');
    }
    REQUIRE(feed_notes_pair(&f->paired, &f->snapshot) == BASE_OK);
}

static void end(struct fixture *f)
{
    feed_notes_clear(&f->paired);
    f->snapshot.notes = NULL; /* the fixture's own */
    f->snapshot.note_count = 0;
    snapshot_clear(&f->snapshot);
}

/* Lanes as digits, '-' for what is skipped. */
static const char *lanes(const struct fixture *f)
{
    static char text[MAX_NOTES + 1];
    for (size_t i = 0; i < f->paired.count; i++)
        text[i] = f->paired.at[i].skipped ? '-' : (char)('0' + f->paired.at[i].lane);
    text[f->paired.count] = '\0';
    return text;
}

static void lanes_are(const char *letters, const char *want)
{
    struct fixture f;
    begin(&f);
    put_all(&f, letters);
    CHECK_STR(lanes(&f), want);
    end(&f);
}

TEST(what_nests_is_in_one_lane)
{
    lanes_are("aA", "00");
    lanes_are("abBA", "0000");
    lanes_are("abBcCA", "000000");
    lanes_are("aAbB", "0000");
    lanes_are("aaAA", "0000");
}

TEST(what_crosses_is_in_two)
{
    lanes_are("abAB", "0101");
    lanes_are("abcABC", "012012");
    lanes_are("abAcBC", "010010"); /* the first lane is free again */
    lanes_are("abBcAC", "000101");
}

TEST(halves)
{
    lanes_are("A", "-");
    lanes_are("Aa", "-0");
    lanes_are("a", "0");
    lanes_are("abB", "000"); /* a goes on to the end: b is inside */
    lanes_are("abA", "010"); /* b goes on, a does not */
    lanes_are("aAA", "00-");
}

TEST(the_innermost_of_a_name_ends_first)
{
    struct fixture f;
    begin(&f);
    put_all(&f, "aabAA");
    CHECK_INT(f.paired.at[1].other, 3);
    CHECK_INT(f.paired.at[0].other, 4);
    CHECK_INT(f.paired.at[3].other, 1);
    CHECK(f.paired.at[2].other == FEED_NONE);
    CHECK_INT(f.paired.at[2].lane, 1);
    CHECK_INT(f.paired.unmatched, 0);
    end(&f);
}

TEST(a_stage_that_is_not_known)
{
    struct fixture f;
    begin(&f);
    put(&f, "a", false);
    put(&f, "a", true);
    f.notes[0].known = false;
    REQUIRE(feed_notes_pair(&f.paired, &f.snapshot) == BASE_OK);
    CHECK_STR(lanes(&f), "--");
    CHECK_INT(f.paired.unmatched, 2);
    end(&f);
}

TEST(there_are_only_so_many_lanes)
{
    struct fixture f;
    char letters[2];
    begin(&f);
    /* Each ends before the one that began after it: none nests. */
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < FEED_LANES + 6; i++) {
            snprintf(letters, sizeof letters, "%c", (char)(0x80 + i));
            put(&f, letters, round);
        }
    REQUIRE(feed_notes_pair(&f.paired, &f.snapshot) == BASE_OK);
    CHECK_INT(f.paired.unmatched, 6);
    size_t skipped = 0;
    for (size_t i = 0; i < f.paired.count; i++)
        skipped += f.paired.at[i].skipped;
    CHECK_INT(skipped, 12); /* both halves */
    end(&f);
}

/* Whatever comes: halves name each other, and inside a lane everything nests. */
static void check_nesting(const struct fixture *f)
{
    uint32_t stack[FEED_LANES][MAX_NOTES];
    size_t depth[FEED_LANES] = {0};
    for (uint32_t i = 0; i < f->paired.count; i++) {
        const struct feed_note *note = &f->paired.at[i];
        if (note->other != FEED_NONE) {
            CHECK_INT(f->paired.at[note->other].other, i);
            CHECK_INT(f->notes[note->other].name, f->notes[i].name);
            CHECK(f->notes[note->other].end != f->notes[i].end);
            CHECK_INT(f->paired.at[note->other].skipped, note->skipped);
        }
        if (note->skipped)
            continue;
        if (!f->notes[i].end) {
            stack[note->lane][depth[note->lane]++] = i;
            continue;
        }
        REQUIRE(depth[note->lane] > 0);
        CHECK_INT(stack[note->lane][--depth[note->lane]], note->other);
    }
}

TEST(any_order)
{
    uint64_t seed = 8;
    for (int round = 0; round < 300; round++) {
        struct fixture f;
        char letters[MAX_NOTES] = "";
        size_t count = 2 + test_random(&seed) % 60;
        begin(&f);
        for (size_t i = 0; i < count; i++) {
            letters[i] = (char)('a' + test_random(&seed) % 5);
            if (test_random(&seed) % 2)
                letters[i] = (char)(letters[i] & ~0x20);
        }
        put_all(&f, letters);
        check_nesting(&f);
        end(&f);
    }
}

TEST(steps_are_noticed)
{
    struct fixture f;
    begin(&f);
    put_all(&f, "aA");
    CHECK(!f.paired.steps);
    feed_notes_clear(&f.paired);
    put(&f, "ProfilerStep#4", false);
    REQUIRE(feed_notes_pair(&f.paired, &f.snapshot) == BASE_OK);
    CHECK(f.paired.steps);
    end(&f);
}

TEST(pairing_without_memory)
{
    struct fixture f;
    begin(&f);
    put(&f, "a", false);
    for (long n = 1; n <= 2; n++) {
        mem_fail_after(n);
        CHECK_INT(feed_notes_pair(&f.paired, &f.snapshot), ERR_NOMEM);
        mem_fail_after(0);
        feed_notes_clear(&f.paired);
    }
    REQUIRE(feed_notes_pair(&f.paired, &f.snapshot) == BASE_OK);
    end(&f);
}

/* ---- settings ---- */

static void conf_is(const struct snapshot *snapshot, const char *want)
{
    struct buf text = {0};
    feed_conf(snapshot, &text);
    CHECK_STR(buf_string(&text), want);
    buf_clear(&text);
}

TEST(settings_as_the_allocator_takes_them)
{
    struct snapshot s = {.budget.limit = SIZE_MAX / 2};
    alloc_config_default(&s.settings.config);
    conf_is(&s, "");
    s.settings.config.gc_threshold = 0.5;
    s.settings.config.large_segment_size = 64u << 20;
    conf_is(&s, ",garbage_collection_threshold:0.5,large_segment_size_mb:64");
    s.settings.config.expandable_segments = true;
    s.settings.config.max_split_size = 200u << 20;
    conf_is(&s, ",expandable_segments:True,max_split_size_mb:200,garbage_collection_threshold:0.5,"
                "large_segment_size_mb:64");
    s.settings.conf = snapshot_intern(&s, &s.strings, "max_split_size_mb:9", 20);
    conf_is(&s, ",max_split_size_mb:9,expandable_segments:True");
    s.settings.conf = snapshot_intern(&s, &s.strings, "expandable_segments:True", 25);
    conf_is(&s, ",expandable_segments:True");
    snapshot_clear(&s);
}

/* ---- time ---- */

TEST(time_begins_with_the_first_that_has_one)
{
    struct snapshot s = {0};
    struct trace_entry entries[] = {{.time_us = 0}, {.time_us = 50}, {.time_us = 40}};
    struct snapshot_trace traces[] = {{0, 1}, {1, 2}};
    struct snapshot_note note = {.time_us = 30};
    CHECK_INT(feed_base_us(&s), 0);
    s.entries = entries;
    s.traces = traces;
    s.trace_count = 1;
    CHECK_INT(feed_base_us(&s), 0);
    s.trace_count = 2;
    CHECK_INT(feed_base_us(&s), 40);
    s.notes = &note;
    s.note_count = 1;
    CHECK_INT(feed_base_us(&s), 30);
}

TEST_MAIN(TEST_CASE(what_nests_is_in_one_lane), TEST_CASE(what_crosses_is_in_two),
          TEST_CASE(halves), TEST_CASE(the_innermost_of_a_name_ends_first),
          TEST_CASE(a_stage_that_is_not_known), TEST_CASE(there_are_only_so_many_lanes),
          TEST_CASE(any_order), TEST_CASE(steps_are_noticed), TEST_CASE(pairing_without_memory),
          TEST_CASE(settings_as_the_allocator_takes_them),
          TEST_CASE(time_begins_with_the_first_that_has_one))
