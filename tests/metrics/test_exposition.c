/* The text, byte for byte, and the rules of both forms. */
#include <string.h>

#include "exposition.h"
#include "pace.h"
#include "scan.h"
#include "test.h"

#define GIB (INT64_C(1) << 30)
#define S UINT64_C(1000000000)

static void put(struct buf *out, const struct meters *meters, const char *run, enum exposition form)
{
    exposition_put(out, meters, run, "0.1.0", form);
    const char *bad = scan_check(buf_string(out), form == EXPOSITION_OPENMETRICS);
    CHECK_STR(bad ? bad : "", "");
}

static struct meters small(void)
{
    struct meters meters = {0};
    meters.run[METER_RUN_UP] = 1;
    meters.run[METER_RUN_START] = INT64_C(1795485494394999999);
    meters.run[METER_RUN_UPDATED] = INT64_C(1795485495000000000);
    meters.run[METER_RUN_CPU] = 7000000;
    meters.run[METER_RUN_EVENTS] = 12;
    meter_rank_take(meters_rank(&meters, 1), METER_RANK_STEPS, 3, false);
    meter_rank_take(meters_rank(&meters, 1), METER_RANK_PACE, 61500, false);
    meter_device_take(meters_device(&meters, 1, "cuda:0"), METER_DEVICE_ALLOCATED, 2 * GIB, false);
    meters_phase(&meters, &(struct meter_phase){1, "cuda:0", "backward", 3 * GIB});
    return meters;
}

TEST(openmetrics_byte_for_byte)
{
    struct meters meters = small();
    struct buf text = {0};
    put(&text, &meters, "a.db", EXPOSITION_OPENMETRICS);
    CHECK_STR(
        buf_string(&text),
        "# HELP tidemark_recorder_info The recorder, by its version; always 1\n"
        "# TYPE tidemark_recorder_info gauge\n"
        "tidemark_recorder_info{run=\"a.db\",version=\"0.1.0\"} 1\n"
        "# HELP tidemark_up 1 while the recording goes on, 0 in what is written at its end\n"
        "# TYPE tidemark_up gauge\n"
        "tidemark_up{run=\"a.db\"} 1\n"
        "# HELP tidemark_start_time_seconds When the recording began, in seconds since 1970\n"
        "# TYPE tidemark_start_time_seconds gauge\n"
        "# UNIT tidemark_start_time_seconds seconds\n"
        "tidemark_start_time_seconds{run=\"a.db\"} 1795485494.394\n"
        "# HELP tidemark_updated_time_seconds When these values were taken, in seconds since 1970\n"
        "# TYPE tidemark_updated_time_seconds gauge\n"
        "# UNIT tidemark_updated_time_seconds seconds\n"
        "tidemark_updated_time_seconds{run=\"a.db\"} 1795485495.000\n"
        "# HELP tidemark_recorder_cpu_seconds CPU time of the recorder itself\n"
        "# TYPE tidemark_recorder_cpu_seconds counter\n"
        "# UNIT tidemark_recorder_cpu_seconds seconds\n"
        "tidemark_recorder_cpu_seconds_total{run=\"a.db\"} 0.007\n"
        "# HELP tidemark_events Events that were recorded\n"
        "# TYPE tidemark_events counter\n"
        "tidemark_events_total{run=\"a.db\"} 12\n"
        "# HELP tidemark_left_out Ranks, devices and phases that found no place in these metrics\n"
        "# TYPE tidemark_left_out gauge\n"
        "tidemark_left_out{run=\"a.db\"} 0\n"
        "# HELP tidemark_steps Training steps that have ended\n"
        "# TYPE tidemark_steps counter\n"
        "tidemark_steps_total{run=\"a.db\",rank=\"1\"} 3\n"
        "# HELP tidemark_steps_per_minute Training steps in a minute, by the last minute\n"
        "# TYPE tidemark_steps_per_minute gauge\n"
        "tidemark_steps_per_minute{run=\"a.db\",rank=\"1\"} 61.500\n"
        "# HELP tidemark_allocated_bytes Bytes of live blocks\n"
        "# TYPE tidemark_allocated_bytes gauge\n"
        "# UNIT tidemark_allocated_bytes bytes\n"
        "tidemark_allocated_bytes{run=\"a.db\",rank=\"1\",device=\"cuda:0\"} 2147483648\n"
        "# HELP tidemark_phase_peak_bytes The highest allocated of one process inside a phase "
        "since the recording began\n"
        "# TYPE tidemark_phase_peak_bytes gauge\n"
        "# UNIT tidemark_phase_peak_bytes bytes\n"
        "tidemark_phase_peak_bytes{run=\"a.db\",rank=\"1\",device=\"cuda:0\",phase=\"backward\"} "
        "3221225472\n"
        "# EOF\n");
    buf_clear(&text);
    meters_clear(&meters);
}

TEST(the_older_form_names_counters_whole)
{
    struct meters meters = small();
    struct buf text = {0};
    put(&text, &meters, "a.db", EXPOSITION_TEXT);
    CHECK(strstr(buf_string(&text), "\n# TYPE tidemark_steps_total counter\n") != NULL);
    CHECK(strstr(buf_string(&text), "# UNIT") == NULL && strstr(buf_string(&text), "EOF") == NULL);
    buf_clear(&text);
    meters_clear(&meters);
}

/* What a program calls a phase, and a user a file. */
TEST(label_values_are_escaped)
{
    struct meters meters = {0};
    struct buf text = {0};
    struct meter_phase phase = {METER_NO_RANK, "cpu", "say \"hi\"\n\\ f\xC3\xA9\xFF{,}", 5};
    meters_phase(&meters, &phase);
    put(&text, &meters, "a\\b\"c", EXPOSITION_OPENMETRICS);
    CHECK(strstr(buf_string(&text),
                 "{run=\"a\\\\b\\\"c\",device=\"cpu\",phase=\"say \\\"hi\\\"\\n\\\\ f\xC3\xA9"
                 "\xEF\xBF\xBD{,}\"} 5\n") != NULL);
    CHECK(strstr(buf_string(&text), "rank=") == NULL);
    buf_clear(&text);
    meters_clear(&meters);
}

/* Every family, of several ranks and devices, is together and told once. */
TEST(all_families_of_many_rows)
{
    struct meters meters = {0};
    struct buf text = {0};
    for (int64_t rank = -1; rank < 4; rank++) {
        for (size_t i = 0; i < METER_RANK_VALUES; i++)
            meter_rank_take(meters_rank(&meters, rank), i, (int64_t)i, false);
        for (size_t i = 0; i < METER_DEVICE_VALUES; i++) {
            meter_device_take(meters_device(&meters, rank, "cpu"), i, (int64_t)i, false);
            meter_device_take(meters_device(&meters, rank, "cuda:1"), i, INT64_MAX, false);
        }
    }
    for (enum exposition form = 0; form < EXPOSITION_COUNT; form++) {
        buf_clear(&text);
        put(&text, &meters, "", form);
        CHECK_INT(scan_count(buf_string(&text), "tidemark_oom_total"), 10);
        CHECK_INT(scan_count(buf_string(&text), "tidemark_processes"), 5);
    }
    CHECK(strstr(buf_string(&text), " 9223372036854775807\n") != NULL);
    buf_clear(&text);
    meters_clear(&meters);
}

TEST(processes_of_a_rank_add_up)
{
    struct meters meters = {0};
    for (int i = 1; i <= 2; i++) {
        struct meter_device *row = meters_device(&meters, 0, "cuda:0");
        meter_device_take(row, METER_DEVICE_ALLOCATED, 10 * i, false);
        meter_device_take(row, METER_DEVICE_MAX_ALLOCATED, 100 * i, false);
        meter_device_take(row, METER_DEVICE_USED, 1000 * i, false);
        meter_device_take(row, METER_DEVICE_RESERVED, METER_UNKNOWN, false);
        meter_device_take(row, METER_DEVICE_OOM, i, false);
    }
    struct meter_device *row = meters_device(&meters, 0, "cuda:0");
    for (size_t i = 0; i < METER_DEVICE_VALUES; i++) /* one that has ended */
        meter_device_take(row, i, 7, true);
    CHECK_INT(row->values[METER_DEVICE_ALLOCATED], 30);
    CHECK_INT(row->values[METER_DEVICE_MAX_ALLOCATED], 200);
    CHECK_INT(row->values[METER_DEVICE_USED], 2000);
    CHECK(row->values[METER_DEVICE_RESERVED] == METER_UNKNOWN);
    CHECK_INT(row->values[METER_DEVICE_OOM], 10);
    CHECK_INT(meters.device_count, 1);
    CHECK(meters_are_valid(&meters));
    meters_clear(&meters);
}

TEST(rows_without_room_are_counted)
{
    struct meters meters = {0};
    for (int64_t rank = 0; rank < METER_DEVICES_MAX + 3; rank++)
        meters_device(&meters, rank, "cuda:0");
    CHECK_INT(meters.device_count, METER_DEVICES_MAX);
    CHECK_INT(meters.run[METER_RUN_LEFT_OUT], 3);
    CHECK(meters_are_valid(&meters));
    meters_clear(&meters);
}

TEST(rows_are_sorted)
{
    struct meters meters = {0};
    meters_rank(&meters, 2);
    meters_rank(&meters, METER_NO_RANK);
    meters_device(&meters, 2, "cuda:0");
    meters_device(&meters, 0, "cuda:1");
    meters_device(&meters, 0, "cpu");
    meters_sort(&meters);
    CHECK_INT(meters.ranks[0].rank, METER_NO_RANK);
    CHECK_STR(meters.devices[0].device, "cpu");
    CHECK_INT(meters.devices[2].rank, 2);
    meters_clear(&meters);
}

TEST(steps_in_the_last_minute)
{
    struct pace pace = {0};
    CHECK(pace_per_minute(&pace, 0, 0) == METER_UNKNOWN);
    for (uint64_t s = 0; s <= 100; s++) /* one a second, and from 40 on two */
        pace_count(&pace, s * S, (int64_t)(s < 40 ? s : 40 + 2 * (s - 40)));
    CHECK_INT(pace_per_minute(&pace, 100 * S, 160), 120000);
    pace_count(&pace, 101 * S, 3); /* another program of that rank */
    CHECK(pace_per_minute(&pace, 102 * S, 4) == METER_UNKNOWN);
    CHECK_INT(pace_per_minute(&pace, 111 * S, 8), 30000);
}

/* The reader itself stumbles over what is wrong. */
TEST(the_reader_can_fail)
{
    static const char *const bad[] = {
        "tidemark_a 1\n# EOF\n",
        "# HELP a b\n# TYPE a gauge\na 1\na 1\n# EOF\n",
        "# HELP a b\n# TYPE a counter\na 1\n# EOF\n",
        "# HELP a b\n# TYPE a gauge\na{b=\"c\nd\"} 1\n# EOF\n",
        "# HELP a b\n# TYPE a gauge\na{b=\"\xFF\"} 1\n# EOF\n",
        "# HELP a b\n# TYPE a gauge\na x\n# EOF\n",
        "# HELP a b\n# TYPE a gauge\na 1\n",
        "# HELP a_bytes b\n# TYPE a_bytes gauge\n# UNIT a_bytes seconds\na_bytes 1\n# EOF\n",
        "# HELP a b\n# TYPE a gauge\na 1\n# EOF\n\n",
    };
    CHECK(scan_check("# HELP a b\n# TYPE a gauge\na 1\n# EOF\n", true) == NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(scan_check(bad[i], true) != NULL);
}

TEST_MAIN(TEST_CASE(openmetrics_byte_for_byte), TEST_CASE(the_older_form_names_counters_whole),
          TEST_CASE(label_values_are_escaped), TEST_CASE(all_families_of_many_rows),
          TEST_CASE(processes_of_a_rank_add_up), TEST_CASE(rows_without_room_are_counted),
          TEST_CASE(rows_are_sorted), TEST_CASE(steps_in_the_last_minute),
          TEST_CASE(the_reader_can_fail))
