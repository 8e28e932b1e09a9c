/* The run: processes, time, losses, keyframes, totals. */
#include <string.h>

#include "feed.h"
#include "state_types.h"
#include "test.h"

static struct rows rows;

static const struct row *process_row(int64_t id)
{
    const struct row *row = rows_find(&rows, SCH_PROCESS, 1, &id);
    REQUIRE(row != NULL);
    return row;
}

TEST(a_process_row_is_completed)
{
    struct state *state = feed_state(0);
    struct state_hello hello = {.pid = 17,
                                .parent = 3,
                                .origin = "fork",
                                .at_ns = FEED_START + 50,
                                .rank = 1,
                                .local_rank = 0,
                                .world_size = BATCH_NULL,
                                .host = "node",
                                .argv = "python \xff.py",
                                .why_not = "cupti: no driver"};
    struct state_process *process = state_process_begin(state, &hello);
    REQUIRE(process != NULL);
    CHECK_INT(state_process_id(process), 1);
    struct feed feed = {state, process, &rows, FEED_START + 90, 0, 1};
    feed_flush(&feed);
    CHECK_INT(process_row(1)->at[PROCESS_END], ROW_NULL);
    CHECK(process_row(1)->text[PROCESS_ENDED] == NULL);
    int64_t first = feed_event(&feed, (struct event){.kind = EVENT_MARK, .a = 5});
    feed_flush(&feed); /* a recorder that is killed leaves what was known */
    CHECK_INT(process_row(1)->at[PROCESS_EVENTS], 1);
    state_process_live(process, "torch", NULL);
    int64_t last = feed_event(&feed, (struct event){.kind = 200});
    feed_end(&feed, false);
    const struct row *row = process_row(1);
    CHECK_INT(row->at[1], 17);
    CHECK_INT(row->at[2], 3);
    CHECK_STR(row->text[3], "fork");
    CHECK_INT(row->at[PROCESS_START], 50);
    CHECK_INT(row->at[PROCESS_END], 110);
    CHECK_INT(row->at[6], 1);
    CHECK_INT(row->at[8], ROW_NULL);
    CHECK_STR(row->text[9], "node");
    CHECK_STR(row->text[10], "python ?.py");
    CHECK_STR(row->text[11], "torch");
    CHECK(row->text[12] == NULL);
    CHECK_STR(row->text[PROCESS_ENDED], "exit");
    CHECK_INT(row->at[PROCESS_EXIT], 0);
    CHECK_INT(row->at[PROCESS_FIRST], first);
    CHECK_INT(row->at[PROCESS_LAST], last);
    CHECK_INT(row->at[PROCESS_EVENTS], 2);
    CHECK_STR(rows_anomaly(&rows, "unknown event", 0)->text[ANOMALY_DETAIL], "kind 200");
    state_free(state);
}

TEST(a_process_without_events)
{
    struct feed feed;
    feed_begin(&feed, NULL, &rows);
    feed_end(&feed, true);
    CHECK_INT(process_row(1)->at[PROCESS_FIRST], ROW_NULL);
    CHECK_INT(process_row(1)->at[PROCESS_EVENTS], 0);
    CHECK_INT(rows.tables[SCH_PHASE].count, 0); /* no time, no event */
}

static int64_t mark_at(struct feed *feed, uint64_t time_ns)
{
    struct event event = {.kind = EVENT_MARK, .time_ns = time_ns, .thread = 9, .a = UINT64_MAX};
    return state_event(feed->process, &event);
}

TEST(time_never_runs_backwards)
{
    struct feed feed;
    feed_begin(&feed, NULL, &rows);
    feed.now = FEED_START;
    int64_t seqs[] = {mark_at(&feed, FEED_START + 100), mark_at(&feed, FEED_START + 90),
                      mark_at(&feed, 0), mark_at(&feed, UINT64_MAX), mark_at(&feed, 7)};
    static const int64_t wanted[] = {100, 100, 100, LEDGER_LONGEST_NS, LEDGER_LONGEST_NS};
    feed_end(&feed, true);
    for (size_t i = 0; i < 5; i++) {
        const struct row *row = rows_find(&rows, SCH_MARK, 1, &seqs[i]);
        REQUIRE(row != NULL);
        CHECK_INT(row->at[3], wanted[i]);
        CHECK_INT(row->at[5], -1);
        CHECK_STR(row->text[4], "?");
    }
    CHECK_INT(process_row(1)->at[PROCESS_END], LEDGER_LONGEST_NS);
}

TEST(an_event_before_the_hello_moves_the_beginning)
{
    struct state *state = feed_state(0);
    struct state_hello hello = {.parent = BATCH_NULL,
                                .at_ns = FEED_START + 1000,
                                .rank = BATCH_NULL,
                                .local_rank = BATCH_NULL,
                                .world_size = BATCH_NULL};
    struct feed feed = {state, state_process_begin(state, &hello), &rows, FEED_START + 2000, 0, 1};
    REQUIRE(feed.process != NULL);
    mark_at(&feed, FEED_START + 400);
    mark_at(&feed, FEED_START + 300);
    feed_end(&feed, true);
    CHECK_INT(process_row(1)->at[PROCESS_START], 400);
    CHECK_STR(process_row(1)->text[3], "spawn");
    CHECK_INT(rows_phase(&rows, "other", 0)->at[PHASE_BEGIN_NS], 400);
    CHECK_INT(rows_phase(&rows, "other", 0)->at[PHASE_END_NS], 2000);
}

TEST(losses_and_torn_events_are_facts)
{
    struct feed feed;
    feed_begin(&feed, NULL, &rows);
    int64_t last = feed_event(&feed, (struct event){.kind = EVENT_MARK});
    struct state_loss loss = {
        .first_seq = 1, .first_ns = FEED_START + 3, .last_ns = FEED_START + 8, .late = 2};
    loss.by_kind[EVENT_BLOCK_FREE] = 5;
    loss.by_kind[EVENT_MARK] = 6;
    state_lost(feed.process, &loss);
    state_torn(feed.process, 77, FEED_START + 12, "dead");
    struct state_totals totals;
    state_totals(feed.state, &totals);
    CHECK_INT(totals.lost, 11);
    CHECK_INT(totals.torn, 1);
    feed_end(&feed, true);
    CHECK_INT(rows_lost(&rows, "block_free"), 5);
    CHECK_INT(rows_lost(&rows, "mark"), 6);
    CHECK_INT(rows_lost(&rows, "late"), 2);
    CHECK_INT(rows.tables[SCH_LOST].count, 3);
    const struct row *row = &rows.tables[SCH_LOST].rows[0];
    CHECK_INT(row->at[1], 1);
    CHECK_INT(row->at[2], last);
    CHECK_INT(row->at[3], 3);
    CHECK_INT(row->at[4], 8);
    row = &rows.tables[SCH_TORN].rows[0];
    CHECK_INT(row->at[1], last + 1);
    CHECK_INT(row->at[2], 77);
    CHECK_INT(row->at[3], 12);
    CHECK_STR(row->text[4], "dead");
}

static void setting(struct feed *feed, uint32_t heap, const char *text)
{
    uint32_t name = feed_string(feed, text);
    feed_event(feed, (struct event){.kind = EVENT_MARK,
                                    .flags = EVENT_F_SETTING,
                                    .heap = heap & 0xffffff,
                                    .name = name});
}

TEST(settings_are_not_marks)
{
    struct feed feed;
    feed_begin(&feed, NULL, &rows);
    uint32_t heap = feed_heap(&feed, DEVICE_CUDA, 3, 0);
    setting(&feed, 0, "allocator=pytorch");
    setting(&feed, heap, "alloc_conf=a:b=c,d:1");
    setting(&feed, 0, "limit=");
    setting(&feed, 0, "no value");
    setting(&feed, 0, "=no key");
    feed_end(&feed, true);
    const struct row_table *table = &rows.tables[SCH_SETTING];
    REQUIRE(table->count == 3);
    CHECK_INT(table->rows[0].at[0], 1);
    CHECK_INT(table->rows[0].at[1], ROW_NULL);
    CHECK_STR(table->rows[0].text[2], "allocator");
    CHECK_STR(table->rows[0].text[3], "pytorch");
    CHECK_INT(table->rows[1].at[1], 1); /* device.id */
    CHECK_STR(table->rows[1].text[2], "alloc_conf");
    CHECK_STR(table->rows[1].text[3], "a:b=c,d:1");
    CHECK_STR(table->rows[2].text[3], "");
    CHECK_INT(rows.tables[SCH_MARK].count, 0);
    CHECK_INT(rows_anomalies(&rows, "unknown name"), 2);
}

/* Two sources start at once: whichever is first, the row is the same. */
TEST(sources_stand_in_one_order)
{
    struct feed feed;
    feed_begin(&feed, NULL, &rows);
    state_process_live(feed.process, NULL, NULL);
    static const char *const said[] = {"nvtx",      "torch", "api",  "phases",
                                       "torch-cpu", "ap",    "torch"};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        state_process_source(feed.process, said[i]);
    feed_end(&feed, true);
    const struct row *row = rows_find(&rows, SCH_PROCESS, 1, (const int64_t[]){1});
    REQUIRE(row != NULL);
    CHECK_STR(row->text[11], "ap, api, nvtx, phases, torch, torch-cpu");
}

TEST(a_rank_may_come_later)
{
    struct feed feed;
    feed_begin(&feed, NULL, &rows);
    setting(&feed, 0, "rank=3");
    setting(&feed, 0, "rank=5"); /* the first is right */
    setting(&feed, 0, "world_size=8");
    setting(&feed, 0, "rank=-1");
    setting(&feed, 0, "rank=");
    setting(&feed, 0, "rank=4x");
    feed_end(&feed, true);
    const struct row *row = rows_find(&rows, SCH_PROCESS, 1, (const int64_t[]){1});
    REQUIRE(row != NULL);
    CHECK_INT(row->at[6], 3);
    CHECK_INT(row->at[7], ROW_NULL);
    CHECK_INT(row->at[8], 8);
    CHECK_INT(rows.tables[SCH_SETTING].count, 3); /* what is no rank is a setting like others */
}

TEST(keyframes_wait_for_a_multiple_of_what_lives)
{
    struct feed feed;
    feed_begin(&feed, feed_state(100), &rows);
    uint32_t heap = feed_heap(&feed, DEVICE_CPU, 0, 0);
    for (uint64_t i = 0; i < 30; i++)
        feed_alloc(&feed, heap, 1 + i, 1);
    for (int i = 0; i < KEYFRAME_RATIO * 30 - 31; i++)
        feed_event(&feed, (struct event){.kind = EVENT_MARK});
    feed_flush(&feed);
    CHECK_INT(rows.tables[SCH_KEYFRAME].count, 0); /* one event short */
    feed_free(&feed, heap, 1);
    feed_flush(&feed);
    CHECK_INT(rows.tables[SCH_KEYFRAME].count, 29);
    CHECK_INT(rows.tables[SCH_KEYFRAME].rows[0].at[0], state_seq(feed.state));
    feed_flush(&feed);
    CHECK_INT(rows.tables[SCH_KEYFRAME].count, 29);
    feed_end(&feed, true);
}

static void count_beat(void *context)
{
    ++*(int *)context;
}

TEST(a_long_keyframe_beats)
{
    enum { MANY = 3 * KEYFRAME_BEAT_ROWS };
    struct feed feed;
    int beats = 0;
    feed_begin(&feed, feed_state(100), &rows);
    state_beat(feed.state, count_beat, &beats);
    uint32_t heap = feed_heap(&feed, DEVICE_CPU, 0, 0);
    for (uint64_t i = 0; i < MANY; i++)
        feed_alloc(&feed, heap, 1 + i, 1);
    for (int i = 0; i < KEYFRAME_RATIO * MANY; i++)
        feed_event(&feed, (struct event){.kind = EVENT_MARK});
    CHECK_INT(beats, 0);
    feed_flush(&feed);
    CHECK_INT(rows.tables[SCH_KEYFRAME].count, MANY);
    CHECK_INT(beats, 3);
    feed_end(&feed, true);
}

TEST(a_full_batch_wants_to_be_flushed)
{
    struct state *state;
    struct state_options options = {.start_ns = FEED_START, .flush_allocs = 5};
    REQUIRE(state_new(&state, &options) == 0);
    struct feed feed;
    feed_begin(&feed, state, &rows);
    uint32_t heap = feed_heap(&feed, DEVICE_CPU, 0, 0);
    for (uint64_t i = 0; i < 5; i++) {
        CHECK(!state_wants_flush(state));
        feed_alloc(&feed, heap, 1 + i, 1);
    }
    CHECK(state_wants_flush(state));
    feed_flush(&feed);
    CHECK(!state_wants_flush(state));
    for (uint64_t i = 0; i < 5; i++)
        feed_free(&feed, heap, 1 + i);
    CHECK(state_wants_flush(state));
    feed_end(&feed, true);
}

TEST(an_allocator_that_reports_nothing_is_known)
{
    struct feed feed;
    struct state_totals totals;
    feed_begin(&feed, NULL, &rows);
    setting(&feed, 0, "allocator=pytorch");
    state_totals(feed.state, &totals);
    CHECK(!totals.unseen);
    setting(&feed, 0, "allocator=cudaMallocAsync");
    state_totals(feed.state, &totals);
    CHECK(totals.unseen);
    feed_end(&feed, true);
}

/* The host's heap of a run on a GPU is no peak that anybody asks for, however large it is; of the
 * GPUs it is the fullest. */
TEST(the_peak_is_of_a_gpu_if_there_is_one)
{
    struct feed one, two;
    struct state_totals totals;
    feed_begin(&one, NULL, &rows);
    feed_begin(&two, one.state, &rows);
    uint32_t host = feed_heap(&one, DEVICE_CPU, 0, 0), other = feed_heap(&two, DEVICE_CPU, 0, 0);
    uint32_t gpu = feed_heap(&one, DEVICE_CUDA, 0, 0), more = feed_heap(&two, DEVICE_CUDA, 1, 0);
    feed_alloc(&one, host, 1, 5000);
    state_totals(one.state, &totals);
    CHECK_STR(totals.peak_device_name, "cpu");
    feed_alloc(&one, gpu, 2, 100);
    feed_alloc(&two, other, 1, 9000);
    state_totals(one.state, &totals);
    CHECK_STR(totals.peak_device_name, "cuda:0");
    CHECK_INT(totals.peak_allocated, 100);
    feed_alloc(&two, more, 2, 300);
    feed_end(&two, false);
    state_totals(one.state, &totals);
    CHECK_STR(totals.peak_device_name, "cuda:1");
    CHECK_INT(totals.peak_allocated, 300);
    CHECK_INT(totals.peak_process, 2);
    feed_end(&one, true);
}

TEST(the_peak_is_of_one_process_on_one_device)
{
    struct feed one, two;
    feed_begin(&one, NULL, &rows);
    feed_begin(&two, one.state, &rows);
    struct state_totals totals;
    state_totals(one.state, &totals);
    CHECK_INT(totals.peak_allocated, 0);
    CHECK_INT(totals.peak_process, BATCH_NULL);
    CHECK(!totals.has_source);
    state_process_source(two.process, "api");
    state_totals(one.state, &totals);
    CHECK(totals.has_source);
    uint32_t heap1 = feed_heap(&one, DEVICE_CUDA, 1, 0), heap2 = feed_heap(&two, DEVICE_CUDA, 0, 0);
    feed_alloc(&one, heap1, 1, 60);
    feed_step(&two, 4);
    char name[100];
    memset(name, 'n', sizeof name - 1);
    name[62] = '\xc3'; /* a character across the end of the field */
    name[63] = '\xa9';
    name[99] = '\0';
    feed_phase(&two, feed_string(&two, name));
    feed_alloc(&two, heap2, 1, 50);
    int64_t peak = feed_alloc(&two, heap2, 2, 50);
    feed_free(&two, heap2, 1);
    state_totals(one.state, &totals);
    CHECK_INT(totals.allocated, 110);
    CHECK_INT(totals.living, 2);
    CHECK_INT(totals.peak_process, 2);
    CHECK_STR(totals.peak_device_name, "cuda:0");
    feed_end(&two, false);
    feed_free(&one, heap1, 1);
    state_totals(one.state, &totals);
    CHECK_INT(totals.peak_allocated, 100);
    CHECK_INT(totals.peak_process, 2);
    CHECK_INT(totals.peak_device, 2);
    CHECK_INT(totals.peak_seq, peak);
    CHECK_INT(totals.peak_step, 4);
    CHECK_INT(strlen(totals.peak_phase), 62);
    CHECK_INT(totals.allocated, 0);
    CHECK_INT(totals.living, 1); /* nobody gave it back */
    CHECK_INT(totals.events, 7);
    feed_alloc(&one, heap1, 1, 300);
    state_totals(one.state, &totals);
    CHECK_STR(totals.peak_phase, "other");
    CHECK_STR(totals.peak_device_name, "cuda:1");
    CHECK_INT(totals.peak_step, BATCH_NULL);
    feed_end(&one, true);
}

TEST(processes_come_and_go_in_any_order)
{
    struct state *state = feed_state(0);
    struct feed feeds[20];
    uint64_t seed = 8;
    for (int i = 0; i < 20; i++) {
        feed_begin(&feeds[i], state, &rows);
        feed_alloc(&feeds[i], feed_heap(&feeds[i], DEVICE_CPU, 0, 0), 1, 1);
        feed_phase(&feeds[i], 0);
    }
    for (int left = 20; left > 10; left--) {
        int i = (int)(test_random(&seed) % (uint64_t)left);
        feed_end(&feeds[i], false);
        feeds[i] = feeds[left - 1];
    }
    CHECK_INT(rows.tables[SCH_PROCESS].count, 20);
    CHECK_INT(rows.tables[SCH_HEAP].count, 20);
    CHECK_INT(rows.tables[SCH_DEVICE].count, 1);
    state_free(state); /* with ten that still run */
}

/* Each change alone must be seen. */
#define SEES(field, change)                                                                        \
    do {                                                                                           \
        field += change;                                                                           \
        CHECK(!state_is_valid(feed.state));                                                        \
        field -= change;                                                                           \
        REQUIRE(state_is_valid(feed.state));                                                       \
    } while (0)

TEST(is_valid_sees_what_is_broken)
{
    struct feed feed;
    feed_begin(&feed, NULL, &rows);
    uint32_t heap = feed_heap(&feed, DEVICE_CUDA, 0, 0);
    struct event event = {.kind = EVENT_SEGMENT_ALLOC, .addr = 0x1000, .size = 0x1000};
    event.heap = heap & 0xffffff;
    feed_event(&feed, event);
    feed_phase(&feed, 0);
    for (uint64_t i = 0; i < 5; i++)
        feed_alloc(&feed, heap, 0x1000 + i * 0x10, 0x10);
    event = (struct event){.kind = EVENT_BLOCK_FREE, .flags = EVENT_F_WAITS, .addr = 0x1000};
    event.heap = heap & 0xffffff;
    feed_event(&feed, event);
    event = (struct event){.kind = EVENT_TAG, .addr = 0x1000, .size = 0x30, .a = 1};
    event.heap = heap & 0xffffff;
    feed_event(&feed, event);
    REQUIRE(state_is_valid(feed.state));
    struct state_process *process = feed.process;
    struct heap_device *device = process->heaps.devices[0];
    SEES(device->allocated, 1);
    SEES(device->requested, 1);
    SEES(device->requested_unknown, 1);
    SEES(device->waiting_bytes, 1);
    SEES(device->segment_bytes, 1);
    SEES(device->split, 1);
    SEES(device->last_segment->held, 1);
    SEES(device->last_segment->used, 1);
    SEES(device->window.peak, -0x20);
    SEES(device->max_allocated, -0x20);
    SEES(device->index, 1);
    SEES(process->heaps.all[0]->allocated, 1);
    SEES(process->heaps.all[0]->segment_bytes, 1);
    SEES(device->mapped_bytes, 1);
    SEES(process->heaps.all[0]->allocated_curve->levels[0].open.max, -0x100);
    SEES(process->phases.open, 1);
    SEES(process->phases.thread_scope_open, 1);
    SEES(process->phases.stacks[0].thread, 1);
    SEES(process->phases.stacks[0].top->parts[0].begin_allocated, 0x1000);
    SEES(process->last_seq, 100);
    SEES(process->account.last_ns, -1000000);
    SEES(process->account.notes.stored[0], 1);
    SEES(process->account.notes.owed[0], 1);
    SEES(process->defs->count, 5);
    SEES(feed.state->pool.living, 1);
    SEES(feed.state->pool.blocks[1].state, 1);
    SEES(feed.state->pool.blocks[1].size, 1);
    SEES(feed.state->ledger.batch->allocs[1].seq, 1);
    SEES(feed.state->ledger.batch->allocs[1].life_ns, 1);
    SEES(feed.state->names.devices.items[0].count, 1);
    order_remove(&device->order, 0x1010);
    CHECK(!state_is_valid(feed.state));
    state_free(feed.state);
}

TEST_MAIN(TEST_CASE(a_process_row_is_completed), TEST_CASE(a_process_without_events),
          TEST_CASE(time_never_runs_backwards),
          TEST_CASE(an_event_before_the_hello_moves_the_beginning),
          TEST_CASE(losses_and_torn_events_are_facts), TEST_CASE(settings_are_not_marks),
          TEST_CASE(a_rank_may_come_later), TEST_CASE(sources_stand_in_one_order),
          TEST_CASE(keyframes_wait_for_a_multiple_of_what_lives), TEST_CASE(a_long_keyframe_beats),
          TEST_CASE(a_full_batch_wants_to_be_flushed),
          TEST_CASE(an_allocator_that_reports_nothing_is_known),
          TEST_CASE(the_peak_is_of_a_gpu_if_there_is_one),
          TEST_CASE(the_peak_is_of_one_process_on_one_device),
          TEST_CASE(processes_come_and_go_in_any_order), TEST_CASE(is_valid_sees_what_is_broken))
