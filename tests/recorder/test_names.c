/* Definitions: interned across processes, translated, and never trusted. */
#include <string.h>

#include "feed.h"
#include "names.h"
#include "mem.h"
#include "utf8.h"
#include "test.h"

static struct rows rows;

static const struct row *table(enum sch_statement which, size_t nth)
{
    REQUIRE(rows.tables[which].count > nth);
    return &rows.tables[which].rows[nth];
}

static int64_t site_of(int64_t seq)
{
    const struct batch_alloc *row = rows_alloc(&rows, seq);
    REQUIRE(row != NULL);
    return row->site;
}

static int64_t alloc_at(struct feed *feed, uint32_t heap, uint64_t address, uint32_t site)
{
    return feed_event(feed, (struct event){.kind = EVENT_BLOCK_ALLOC,
                                           .heap = heap & 0xffffff,
                                           .addr = address,
                                           .size = 8,
                                           .site = site});
}

TEST(a_stack_becomes_rows)
{
    struct feed feed;
    feed_begin(&feed, NULL, &rows);
    uint32_t heap = feed_heap(&feed, DEVICE_CPU, 0, 0);
    struct arena_frame inner = {.function = feed_string(&feed, "inner"), .line = 7};
    struct arena_frame outer = {.function = feed_string(&feed, "outer")};
    outer.file = inner.file = feed_string(&feed, "a.c");
    uint32_t frames[2];
    frames[0] = feed_define(&feed, ARENA_FRAME, &inner, sizeof inner);
    frames[1] = feed_define(&feed, ARENA_FRAME, &outer, sizeof outer);
    uint32_t site = feed_define(&feed, ARENA_SITE, frames, sizeof frames);
    int64_t seq = alloc_at(&feed, heap, 0x1000, site);
    int64_t without = alloc_at(&feed, heap, 0x2000, 0);
    feed_end(&feed, true);
    CHECK_INT(site_of(without), BATCH_NOT_KNOWN);
    const struct row *depth0 = rows_find(&rows, SCH_SITE, 2, (int64_t[]){site_of(seq), 0});
    const struct row *depth1 = rows_find(&rows, SCH_SITE, 2, (int64_t[]){site_of(seq), 1});
    REQUIRE(depth0 && depth1 && rows.tables[SCH_SITE].count == 2);
    const struct row *frame = rows_find(&rows, SCH_FRAME, 1, &depth0->at[2]);
    CHECK_INT(frame->at[3], 7);
    CHECK_STR(rows_find(&rows, SCH_STRING, 1, &frame->at[1])->text[1], "inner");
    CHECK_STR(rows_find(&rows, SCH_STRING, 1, &frame->at[2])->text[1], "a.c");
    frame = rows_find(&rows, SCH_FRAME, 1, &depth1->at[2]);
    CHECK_INT(frame->at[3], ROW_NULL);
    CHECK_STR(rows_find(&rows, SCH_STRING, 1, &frame->at[1])->text[1], "outer");
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 0);
    rows_clear(&rows);
}

TEST(equal_definitions_of_two_processes_are_one)
{
    struct feed one, two;
    feed_begin(&one, NULL, &rows);
    feed_begin(&two, one.state, &rows);
    feed_string(&two, "only here, so that the numbers differ");
    uint32_t site1 = feed_site(&one, "f", 3), site2 = feed_site(&two, "f", 3);
    uint32_t again = feed_site(&one, "f", 3), other = feed_site(&two, "f", 4);
    uint32_t heap1 = feed_heap(&one, DEVICE_CUDA, 1, 5), heap2 = feed_heap(&two, DEVICE_CUDA, 1, 5);
    uint32_t same = feed_heap(&one, DEVICE_CUDA, 1, 5);
    int64_t seqs[] = {alloc_at(&one, heap1, 1, site1), alloc_at(&two, heap2, 1, site2),
                      alloc_at(&one, same, 2, again), alloc_at(&two, heap2, 2, other)};
    feed_end(&two, false);
    feed_end(&one, true);
    CHECK_INT(site_of(seqs[0]), site_of(seqs[1]));
    CHECK_INT(site_of(seqs[0]), site_of(seqs[2]));
    CHECK(site_of(seqs[0]) != site_of(seqs[3]));
    CHECK_INT(rows.tables[SCH_DEVICE].count, 1);
    CHECK_INT(rows.tables[SCH_FRAME].count, 2);
    CHECK_INT(rows.tables[SCH_STRING].count, 3);
    /* A heap belongs to a process. */
    CHECK_INT(rows.tables[SCH_HEAP].count, 2);
    CHECK_INT(rows_alloc(&rows, seqs[0])->heap, rows_alloc(&rows, seqs[2])->heap);
    CHECK(rows_alloc(&rows, seqs[0])->heap != rows_alloc(&rows, seqs[1])->heap);
    rows_clear(&rows);
}

/* A forked child of `parent`, which has as many definitions as that one has by now. */
static void fork_feed(struct feed *child, struct feed *parent)
{
    feed_begin(child, parent->state, parent->rows);
    state_process_inherit(child->process, parent->process, parent->definitions);
    child->definitions = parent->definitions;
}

/* Of a child of a child, when all before it have ended. */
TEST(a_line_of_children_means_what_its_parents_meant)
{
    struct feed parent, child, last;
    feed_begin(&parent, NULL, &rows);
    uint32_t heap = feed_heap(&parent, DEVICE_CUDA, 1, 5);
    uint32_t old = feed_site(&parent, "old", 3);
    int64_t first = alloc_at(&parent, heap, 1, old);
    fork_feed(&child, &parent);
    uint32_t late = feed_site(&parent, "behind the fork", 3);
    uint32_t newer = feed_site(&child, "new", 4);
    CHECK_INT(late, newer); /* one number, two meanings */
    int64_t of_late = alloc_at(&parent, heap, 2, late);
    feed_end(&parent, false);
    int64_t of_newer = alloc_at(&child, heap, 1, newer);
    fork_feed(&last, &child);
    feed_end(&child, false);
    uint32_t own_heap = feed_heap(&last, DEVICE_CUDA, 1, 6);
    int64_t seqs[] = {alloc_at(&last, heap, 1, old), alloc_at(&last, heap, 2, newer),
                      alloc_at(&last, own_heap, 3, old)};
    CHECK(state_is_valid(last.state));
    feed_end(&last, true);
    CHECK_INT(site_of(seqs[0]), site_of(first));
    CHECK_INT(site_of(seqs[1]), site_of(of_newer));
    CHECK_INT(site_of(seqs[2]), site_of(first));
    CHECK(site_of(of_late) != site_of(of_newer));
    CHECK_INT(rows.tables[SCH_HEAP].count, 4); /* each has its own, and the last one two */
    CHECK_INT(rows_alloc(&rows, seqs[0])->heap, rows_alloc(&rows, seqs[1])->heap);
    CHECK(rows_alloc(&rows, seqs[0])->heap != rows_alloc(&rows, first)->heap);
    CHECK(rows_alloc(&rows, seqs[0])->heap != rows_alloc(&rows, seqs[2])->heap);
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 0);
    rows_clear(&rows);
}

/* The parent was forgotten for want of memory, or says less than its child refers to. */
TEST(what_no_parent_defined_is_not_known)
{
    struct feed parent, child;
    feed_begin(&parent, NULL, &rows);
    uint32_t heap = feed_heap(&parent, DEVICE_CUDA, 1, 5);
    feed_begin(&child, parent.state, &rows);
    state_process_inherit(child.process, NULL, 100);
    child.definitions = 100;
    uint32_t site = feed_site(&child, "its own", 3);
    int64_t unknown = alloc_at(&child, heap, 1, 7);
    int64_t known = alloc_at(&child, heap, 2, site);
    feed_end(&child, false);
    feed_begin(&child, parent.state, &rows);
    state_process_inherit(child.process, parent.process, UINT32_MAX);
    int64_t behind = alloc_at(&child, heap, 3, 5000);
    feed_end(&child, false);
    feed_end(&parent, true);
    CHECK_INT(site_of(unknown), BATCH_NOT_KNOWN);
    CHECK_INT(site_of(behind), BATCH_NOT_KNOWN);
    CHECK(site_of(known) != BATCH_NOT_KNOWN);
    CHECK_INT(rows_anomalies(&rows, "unknown name"), 4); /* heap, no heap, site; site */
    rows_clear(&rows);
}

TEST(a_line_without_an_end_is_cut)
{
    struct feed feeds[2];
    feed_begin(&feeds[0], NULL, &rows);
    uint32_t site = feed_site(&feeds[0], "old", 3), heap = feed_heap(&feeds[0], DEVICE_CPU, 0, 0);
    for (uint32_t i = 1; i <= NAMES_MOST_DEPTH + 1; i++) {
        struct feed *parent = &feeds[(i - 1) % 2], *child = &feeds[i % 2];
        fork_feed(child, parent);
        int64_t seq = alloc_at(child, heap, 1, site);
        feed_end(parent, false);
        feed_flush(child);
        CHECK((site_of(seq) == BATCH_NOT_KNOWN) == (i > NAMES_MOST_DEPTH));
    }
    feed_end(&feeds[(NAMES_MOST_DEPTH + 1) % 2], true);
    rows_clear(&rows);
}

TEST(a_heap_has_its_values)
{
    struct feed feed;
    feed_begin(&feed, NULL, &rows);
    uint32_t name = feed_string(&feed, "pool");
    struct arena_heap heap = {DEVICE_VIRTUAL, -5, UINT64_MAX, 12, name, 0};
    feed_define(&feed, ARENA_HEAP, &heap, sizeof heap);
    feed_heap(&feed, DEVICE_CUDA, 3, 0);
    feed_end(&feed, true);
    const struct row *row = table(SCH_HEAP, 0);
    CHECK_INT(row->at[1], 1);
    CHECK_INT(row->at[3], -1); /* 64 bits, as they are */
    CHECK_INT(row->at[4], 12);
    CHECK_STR(row->text[5], "pool");
    CHECK_STR(table(SCH_DEVICE, 0)->text[1], "virtual");
    CHECK_INT(table(SCH_DEVICE, 0)->at[2], -1);
    CHECK_STR(table(SCH_DEVICE, 1)->text[1], "cuda");
    CHECK_INT(table(SCH_DEVICE, 1)->at[2], 3);
    CHECK(table(SCH_HEAP, 1)->text[5] == NULL);
    rows_clear(&rows);
}

TEST(what_does_not_exist_is_unknown_and_noted_once)
{
    struct feed feed;
    feed_begin(&feed, NULL, &rows);
    uint32_t string = feed_string(&feed, "text");
    uint32_t heap = feed_heap(&feed, DEVICE_CPU, 0, 0);
    int64_t far = alloc_at(&feed, heap, 1, 4000000000u);
    int64_t wrong_kind = alloc_at(&feed, heap, 2, string);
    int64_t lost_heap = alloc_at(&feed, 999, 3, 0);
    int64_t no_heap = alloc_at(&feed, 0, 4, 0);
    feed_free(&feed, 0, 3); /* the same unknown heap */
    feed_end(&feed, true);
    CHECK_INT(site_of(far), BATCH_NOT_KNOWN);
    CHECK_INT(site_of(wrong_kind), BATCH_NOT_KNOWN);
    CHECK_INT(rows_alloc(&rows, lost_heap)->heap, rows_alloc(&rows, no_heap)->heap);
    CHECK(rows_alloc(&rows, lost_heap)->free_seq > 0);
    CHECK_STR(table(SCH_DEVICE, 1)->text[1], "other");
    CHECK_INT(rows_anomalies(&rows, "unknown name"), 3);
    CHECK_STR(rows_anomaly(&rows, "unknown name", 0)->text[ANOMALY_DETAIL], "site 4000000000");
    CHECK_STR(rows_anomaly(&rows, "unknown name", 1)->text[ANOMALY_DETAIL], "heap 999");
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 3);
    rows_clear(&rows);
}

TEST(bad_definitions_keep_the_numbers_right)
{
    struct feed feed;
    feed_begin(&feed, NULL, &rows);
    static const char zeros[ARENA_MAX_PAYLOAD + 8];
    feed_define(&feed, 0, zeros, 4);
    feed_define(&feed, 77, zeros, 4);
    feed_define(&feed, ARENA_FRAME, zeros, sizeof(struct arena_frame) - 1);
    feed_define(&feed, ARENA_HEAP, zeros, sizeof(struct arena_heap) + 8);
    feed_define(&feed, ARENA_SITE, zeros, 6);
    feed_define(&feed, ARENA_SITE, zeros, 0);
    feed_define(&feed, ARENA_SITE, zeros, (ARENA_MAX_DEPTH + 1) * 4);
    feed_define(&feed, ARENA_STRING, zeros, ARENA_MAX_PAYLOAD + 1);
    struct arena_heap odd = {.device_kind = DEVICE_KINDS, .device_index = 0};
    feed_define(&feed, ARENA_HEAP, &odd, sizeof odd);
    uint32_t heap = feed_heap(&feed, DEVICE_CPU, 0, 0);
    uint32_t unknown_frame = 5000;
    uint32_t site = feed_define(&feed, ARENA_SITE, &unknown_frame, sizeof unknown_frame);
    int64_t seq = alloc_at(&feed, heap, 1, site);
    feed_end(&feed, true);
    CHECK_INT(rows_anomalies(&rows, "bad definition"), 9);
    const struct row *of = rows_find(&rows, SCH_SITE, 1, (int64_t[]){site_of(seq)});
    REQUIRE(of != NULL);
    const struct row *frame = rows_find(&rows, SCH_FRAME, 1, &of->at[2]);
    REQUIRE(frame != NULL);
    CHECK_INT(frame->at[1], ROW_NULL);
    CHECK_STR(table(SCH_DEVICE, 0)->text[1], "other");
    rows_clear(&rows);
}

TEST(a_definition_without_memory_takes_its_number_along)
{
    struct feed feed;
    uint32_t numbers[16], lost[2], after;
    char text[8] = "name a";
    feed_begin(&feed, NULL, &rows);
    for (size_t i = 0; i < 16; i++, text[5]++)
        numbers[i] = feed_string(&feed, text);
    mem_fail_after(1);
    lost[0] = feed_string(&feed, "name a"); /* is there, but the list of numbers is full */
    lost[1] = feed_string(&feed, "name b");
    mem_fail_after(0);
    after = feed_string(&feed, "after");
    feed_phase(&feed, numbers[3]);
    feed_phase(&feed, lost[1]);
    feed_phase(&feed, after);
    feed_end(&feed, true);
    CHECK(rows_phase(&rows, "name d", 0) != NULL);
    CHECK(rows_phase(&rows, "?", 0) != NULL);
    CHECK(rows_phase(&rows, "after", 0) != NULL);
    CHECK_INT(rows_lost(&rows, "definition"), 2);
    CHECK_INT(rows_anomalies(&rows, "unknown name"), 1);
    rows_clear(&rows);
}

TEST(the_largest_definitions_fit)
{
    struct feed feed;
    static char text[ARENA_MAX_PAYLOAD + 1];
    uint32_t frames[ARENA_MAX_DEPTH] = {0};
    memset(text, 'y', ARENA_MAX_PAYLOAD);
    feed_begin(&feed, NULL, &rows);
    feed_define(&feed, ARENA_STRING, text, ARENA_MAX_PAYLOAD);
    feed_define(&feed, ARENA_STRING, "", 0);
    feed_define(&feed, ARENA_SITE, frames, sizeof frames);
    feed_end(&feed, true);
    CHECK_STR(table(SCH_STRING, 0)->text[1], text);
    CHECK_STR(table(SCH_STRING, 1)->text[1], "");
    CHECK_INT(rows.tables[SCH_SITE].count, ARENA_MAX_DEPTH);
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 0);
    rows_clear(&rows);
}

TEST(more_devices_than_can_be_share_one)
{
    struct feed feed;
    uint32_t heaps[400];
    feed_begin(&feed, NULL, &rows);
    feed_phase(&feed, feed_string(&feed, "forward"));
    for (int i = 0; i < 400; i++)
        heaps[i] = feed_heap(&feed, DEVICE_VIRTUAL, i, 0);
    for (uint64_t i = 0; i < 400; i++)
        feed_alloc(&feed, heaps[i], 0x1000 + i, 100);
    feed_flush(&feed);
    feed_alloc(&feed, feed_heap(&feed, DEVICE_VIRTUAL, 7, 99), 0x1, 11); /* one that is there */
    feed_end(&feed, true);
    CHECK_INT(
        rows_phase_device(&rows, rows_phase(&rows, "forward", 0)->at[0], 8)->at[PART_ALLOCATED],
        111);
    CHECK_INT(rows.tables[SCH_DEVICE].count, 256);
    CHECK_INT(rows_anomalies(&rows, "too many devices"), 400 - 255);
    const struct row *phase = rows_phase(&rows, "forward", 0);
    const struct row *shared =
        rows_find(&rows, SCH_PHASE_DEVICE, 2, (int64_t[]){phase->at[0], 256});
    REQUIRE(shared != NULL);
    CHECK_INT(shared->at[PART_ALLOCATED], (400 - 255) * 100);
    rows_clear(&rows);
}

static const char *cleaned(const char *text)
{
    static char copy[64];
    size_t count = strlen(text);
    memcpy(copy, text, count + 1);
    utf8_clean((unsigned char *)copy, count);
    return copy;
}

TEST(bytes_that_are_no_utf8_become_question_marks)
{
    CHECK_STR(cleaned("plain"), "plain");
    CHECK_STR(cleaned("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
              "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
    CHECK_STR(cleaned("a\xff"
                      "b\x80"),
              "a?b?");
    CHECK_STR(cleaned("\xc0\x80"), "??");           /* too long for what it says */
    CHECK_STR(cleaned("\xe0\x9f\xbf"), "???");      /* the same in three bytes */
    CHECK_STR(cleaned("\xf0\x8f\xbf\xbf"), "????"); /* and in four */
    CHECK_STR(cleaned("\xed\xa0\x80"), "???");      /* half a surrogate pair */
    CHECK_STR(cleaned("\xed\x9f\xbf"), "\xed\x9f\xbf");
    CHECK_STR(cleaned("\xf4\x90\x80\x80"), "????"); /* beyond the last character */
    CHECK_STR(cleaned("\xf5\x80\x80\x80"), "????");
    CHECK_STR(cleaned("\xe2(\x82"), "?(?");
    CHECK_STR(cleaned("\xe2\x82"), "??"); /* cut off */
    char nul[] = {'a', '\0', 'b'};
    utf8_clean((unsigned char *)nul, sizeof nul);
    CHECK(memcmp(nul, "a?b", 3) == 0);
    CHECK_INT(utf8_cut("\xe2\x82\xac\xe2\x82\xac", 5), 3);
    CHECK_INT(utf8_cut("\xe2\x82\xac\xe2\x82\xac", 6), 6);
    CHECK_INT(utf8_cut("\xe2\x82\xac", 2), 0);
}

TEST(a_name_with_bad_bytes_is_stored_clean)
{
    struct feed feed;
    feed_begin(&feed, NULL, &rows);
    uint32_t bad = feed_define(&feed, ARENA_STRING, "for\0ward\xff", 9);
    feed_phase(&feed, bad);
    feed_end(&feed, true);
    CHECK(rows_phase(&rows, "for?ward?", 0) != NULL);
    rows_clear(&rows);
}

TEST_MAIN(TEST_CASE(a_stack_becomes_rows), TEST_CASE(equal_definitions_of_two_processes_are_one),
          TEST_CASE(a_line_of_children_means_what_its_parents_meant),
          TEST_CASE(what_no_parent_defined_is_not_known), TEST_CASE(a_line_without_an_end_is_cut),
          TEST_CASE(a_heap_has_its_values),
          TEST_CASE(what_does_not_exist_is_unknown_and_noted_once),
          TEST_CASE(bad_definitions_keep_the_numbers_right),
          TEST_CASE(a_definition_without_memory_takes_its_number_along),
          TEST_CASE(the_largest_definitions_fit), TEST_CASE(more_devices_than_can_be_share_one),
          TEST_CASE(bytes_that_are_no_utf8_become_question_marks),
          TEST_CASE(a_name_with_bad_bytes_is_stored_clean))
