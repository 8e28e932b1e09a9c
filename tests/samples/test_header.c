/* The header's way to a recorder, with fake_attach in the place of one, in this program itself. */
#include "fake_attach.h"
#include "header_calls.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Each round asks for a site of its own, and tidemark_alloc for one in the first round only. */
static void check_calls(unsigned times)
{
    CHECK_INT(fake_counts.sites, times + 1);
    const unsigned counts[] = {
        fake_counts.heaps,          fake_counts.allocs / 2,    fake_counts.frees,
        fake_counts.segment_allocs, fake_counts.segment_frees, fake_counts.phase_begins,
        fake_counts.phase_ends,     fake_counts.step_begins,   fake_counts.step_ends,
        fake_counts.marks,          fake_counts.tags,          fake_counts.ooms,
        fake_counts.waits,          fake_counts.idles,         fake_counts.maps,
        fake_counts.unmaps,         fake_counts.settings,      fake_counts.python_sites,
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        CHECK_INT(counts[i], times);
    CHECK_INT(fake_counts.errors, 0);
    CHECK_INT(fake_counts.allocated, 0);
    CHECK_INT(fake_counts.max_allocated, 128);
    CHECK_INT(fake_counts.max_reserved, 256);
}

TEST(each_call_arrives_from_c)
{
    struct call_results results = calls_from_c99();
    CHECK_INT(results.recording, 1);
    CHECK_INT(results.heap, 1);
    CHECK_INT(results.site, 1);
    CHECK_INT(results.python_site, 777);
    check_calls(1);
    CHECK_INT(fake_counts.version, TIDEMARK_API_VERSION);
    CHECK_INT(fake_counts.heap.device_kind, TIDEMARK_DEVICE_OTHER);
    CHECK_INT(fake_counts.heap.device_index, -1);
    CHECK_STR(fake_counts.heap.name, "c99");
    CHECK_INT(fake_counts.block.bytes, 64);
    CHECK_INT(fake_counts.block.has_requested, 0);
    CHECK_INT(fake_counts.block.site, results.site);
    CHECK_STR(fake_counts.setting, "limit=64");
    CHECK_INT(fake_counts.setting_heap, results.heap);
    CHECK_INT(fake_counts.value, -3);
    CHECK_INT(fake_counts.category, TIDEMARK_ACTIVATION);
    CHECK_STR(fake_counts.text, "(null)");
}

TEST(a_site_is_the_line_that_asks)
{
    tidemark_site_t site = TIDEMARK_SITE();
    CHECK_INT(fake_counts.number, __LINE__ - 1);
    CHECK_STR(fake_counts.text, "a_site_is_the_line_that_asks");
    CHECK_INT(site, 1);
    CHECK_INT(calls_from_c99().site, 2);
}

TEST(nobody_records_when_attach_says_no)
{
    /* The header has looked before main: this program anew, with a recorder that refuses. */
    if (!getenv("FAKE_REFUSE")) {
        setenv("FAKE_REFUSE", "1", 1);
        execl("/proc/self/exe", "test_header", "--no-fork", __func__, (char *)NULL);
        REQUIRE(false);
    }
    struct call_results results = calls_from_c99();
    CHECK_INT(results.recording, 0);
    CHECK_INT(results.heap, 0);
    CHECK_INT(results.site, 0);
    CHECK_INT(fake_counts.attached, 2); /* asked in the words of each version */
    unsetenv("FAKE_REFUSE");
    calls_from_c99();
    CHECK_INT(fake_counts.attached, 2);
    CHECK_INT(fake_counts.heaps + fake_counts.allocs + fake_counts.phase_begins, 0);
}

/* An installation of the first version: what it knows arrives, the rest is left away, and a free
 * that waits is a free. */
TEST(an_older_library_is_told_what_it_knows)
{
    if (!getenv("FAKE_FIRST")) {
        setenv("FAKE_FIRST", "1", 1);
        execl("/proc/self/exe", "test_header", "--no-fork", __func__, (char *)NULL);
        REQUIRE(false);
    }
    struct call_results results = calls_from_c99();
    CHECK_INT(results.recording, 1);
    CHECK_INT(fake_counts.attached, 2);
    CHECK_INT(fake_counts.version, 1);
    CHECK_INT(results.python_site, 0);
    CHECK_INT(fake_counts.allocs, 2);
    CHECK_INT(fake_counts.frees, 2);
    CHECK_INT(fake_counts.ooms, 1);
    CHECK_INT(fake_counts.errors, 0);
    CHECK_INT(fake_counts.waits + fake_counts.idles + fake_counts.maps + fake_counts.settings, 0);
}

TEST(the_header_looks_once_for_all_files)
{
    calls_from_c99();
    calls_from_c99();
    CHECK(tidemark_recording());
    CHECK_INT(fake_counts.attached, 1);
    CHECK(client_of_c99() == (const void *)&tidemark_client_);
    check_calls(2);
}

#if HAVE_CXX
TEST(each_call_arrives_from_cxx)
{
    struct call_results results = calls_from_cxx();
    CHECK_INT(results.recording, 1);
    CHECK_INT(results.heap, 1);
    CHECK_STR(fake_counts.heap.name, "cxx");
    check_calls(1);
}

TEST(both_languages_share_one_client)
{
    calls_from_cxx();
    calls_from_c99();
    CHECK_INT(fake_counts.attached, 1);
    CHECK(client_of_cxx() == client_of_c99());
    CHECK_INT(fake_counts.allocs, 4);
    CHECK_INT(fake_counts.sites, 4);
}
#else
TEST(each_call_arrives_from_cxx)
{
    SKIP("there was no C++ compiler");
}

TEST(both_languages_share_one_client)
{
    SKIP("there was no C++ compiler");
}
#endif

TEST_MAIN(TEST_CASE(each_call_arrives_from_c), TEST_CASE(a_site_is_the_line_that_asks),
          TEST_CASE(nobody_records_when_attach_says_no),
          TEST_CASE(an_older_library_is_told_what_it_knows),
          TEST_CASE(the_header_looks_once_for_all_files), TEST_CASE(each_call_arrives_from_cxx),
          TEST_CASE(both_languages_share_one_client))
