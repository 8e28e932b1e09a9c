/*
 * test_script.c - the scripted device: the same answers for the same holdings, and complaints.
 */
#include "test.h"

#include "device_script.h"
#include "error.h"

#define MIB (UINT64_C(1) << 20)

static uint64_t take(struct device_script *script, uint64_t bytes)
{
    uint64_t address = 0;
    CHECK_INT(script->seam.take(script, bytes, 0, &address), BASE_OK);
    CHECK(device_script_is_valid(script));
    return address;
}

TEST(addresses_follow_from_what_is_held)
{
    struct device_script script;
    device_script_open(&script, 100 * MIB, 100 * MIB);
    uint64_t a = take(&script, 20 * MIB);
    uint64_t b = take(&script, 2 * MIB);
    uint64_t c = take(&script, 20 * MIB);
    CHECK_INT(b, a + 20 * MIB); /* neighbours touch */
    CHECK_INT(c, b + 2 * MIB);
    script.seam.give(&script, a, 20 * MIB);
    CHECK_INT(take(&script, 12 * MIB), a); /* the lowest gap */
    script.downwards = true;
    CHECK(take(&script, 4 * MIB) > c);
    uint64_t address;
    CHECK_INT(script.seam.take(&script, 64 * MIB, 0, &address), ERR_NOMEM);
    CHECK_STR(device_script_close(&script), "segments never given back");
}

TEST(pages_are_mapped_once)
{
    struct device_script script;
    uint64_t range;
    device_script_open(&script, 100 * MIB, 100 * MIB);
    CHECK_INT(script.seam.reserve(&script, 112 * MIB, 0, &range), BASE_OK);
    CHECK_INT(script.used, 0);
    CHECK_INT(script.seam.map(&script, range, 40 * MIB), BASE_OK);
    CHECK_INT(script.seam.map(&script, range + 40 * MIB, 62 * MIB), ERR_NOMEM);
    CHECK_INT(script.seam.map(&script, range + 40 * MIB, 60 * MIB), BASE_OK);
    CHECK_INT(script.seam.unmap(&script, range + 20 * MIB, 40 * MIB), BASE_OK); /* across two */
    CHECK_INT(script.used, 60 * MIB);
    CHECK(device_script_is_valid(&script));
    CHECK(script.trouble == NULL);
    CHECK_INT(script.seam.map(&script, range, 2 * MIB), ERR_ARG);
    CHECK_STR(script.trouble,
              "map of what is not reserved, or mapped already, or not of whole pages");
    script.trouble = NULL;
    script.seam.pages(&script, range, 112 * MIB, 4 * MIB);
    CHECK(script.trouble == NULL);
    CHECK_INT(script.seam.unmap(&script, range, 2 * MIB), BASE_OK);
    CHECK_STR(script.trouble, "unmap of what is not whole pages of one range");
    device_script_close(&script);
}

TEST(events_are_reached_when_told)
{
    struct device_script script;
    uint64_t first, second, other;
    device_script_open(&script, MIB, MIB);
    struct alloc_device *device = &script.seam;
    device->event_record(&script, 5, &first);
    device->event_record(&script, 5, &second);
    device->event_record(&script, 6, &other);
    CHECK_INT(device->event_query(&script, first), ERR_BUSY);
    device_script_complete(&script, 5, 1);
    CHECK_INT(device->event_query(&script, first), BASE_OK);
    CHECK_INT(device->event_query(&script, second), ERR_BUSY);
    device->event_wait(&script, second);
    CHECK_INT(device->event_query(&script, second), BASE_OK);
    CHECK_INT(device->event_query(&script, other), ERR_BUSY);
    device->stream_wait(&script, 6);
    CHECK_INT(device->event_query(&script, other), BASE_OK);
    device->event_forget(&script, first);
    device->event_forget(&script, second);
    CHECK_STR(device_script_close(&script), "events never forgotten");
}

TEST(wrong_calls_are_noticed)
{
    struct device_script script;
    device_script_open(&script, 100 * MIB, 100 * MIB);
    uint64_t event, a = take(&script, 4 * MIB);
    CHECK_INT(script.seam.give(&script, a, 2 * MIB), ERR_ARG);
    CHECK_STR(script.trouble, "give of what was not taken");
    script.trouble = NULL;
    script.forbid_queries = true;
    script.seam.event_record(&script, 1, &event);
    CHECK_STR(script.trouble, "an event recorded while a pool is begun");
    script.trouble = NULL;
    script.seam.event_query(&script, event);
    CHECK_STR(script.trouble, "an event asked while a pool is begun");
    script.trouble = NULL;
    script.seam.event_query(&script, event + 1);
    CHECK(script.trouble != NULL);
    script.fail_next = ERR_IO;
    CHECK_INT(script.seam.take(&script, 2 * MIB, 0, &a), ERR_IO);
    take(&script, 2 * MIB);
    device_script_close(&script);
}

TEST_MAIN(TEST_CASE(addresses_follow_from_what_is_held), TEST_CASE(pages_are_mapped_once),
          TEST_CASE(events_are_reached_when_told), TEST_CASE(wrong_calls_are_noticed))
