/*
 * The device "cuda" against a library with the driver's symbols (fake_cuda.c): that the right calls
 * are made in the right order with the right arguments, that everything is given back, and that
 * each failure is handled. What a real driver does with them is not tested here.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bed.h"
#include "cuda_device.h"
#include "fake_cuda.h"
#include "mem.h"

static const char *library = FAKE_CUDA, *old_library = FAKE_CUDA_OLD;
static struct fake_cuda *fake;
static struct cuda_device *device;
static struct alloc *alloc;

static void find_fake(void)
{
    struct fake_cuda *(*state)(void);
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(handle != NULL);
    void *symbol = dlsym(handle, "fake_state");
    REQUIRE(symbol != NULL);
    memcpy(&state, &symbol, sizeof state);
    fake = state();
}

static void begin(const char *settings)
{
    char why[200] = "";
    struct alloc_config config;
    find_fake();
    CHECK_INT(cuda_device_new(&device, 1, library, why, sizeof why), BASE_OK);
    CHECK_STR(why, "");
    alloc_config_default(&config);
    CHECK_INT(alloc_config_parse(&config, settings, NULL, 0), BASE_OK);
    struct alloc_options options = {.device = cuda_device_seam(device), .config = &config};
    REQUIRE(alloc_new(&alloc, &options) == BASE_OK);
}

static void end(void)
{
    CHECK(alloc_is_valid(alloc));
    alloc_delete(alloc);
    cuda_device_delete(device);
    CHECK_INT(fake->mistakes, 0);
    CHECK_INT(fake->depth, 0);
    CHECK_INT(fake->contexts, 0);
    CHECK_INT(fake->allocations, 0);
    CHECK_INT(fake->ranges, 0);
    CHECK_INT(fake->handles, 0);
    CHECK_INT(fake->mappings, 0);
    CHECK_INT(fake->events, 0);
    CHECK_INT(fake->taken, 0);
}

static uint64_t take(uint64_t bytes, uint64_t stream)
{
    uint64_t address;
    CHECK_INT(alloc_malloc(alloc, bytes, stream, &address, NULL), BASE_OK);
    return address;
}

static int refused(uint64_t bytes)
{
    uint64_t address;
    return alloc_malloc(alloc, bytes, 0, &address, NULL);
}

TEST(segments)
{
    begin("");
    CHECK_STR(cuda_device_seam(device)->name, "cuda:1");
    uint64_t a = take(512, 0), b = take(30 * MIB, 0);
    CHECK_INT(fake->allocations, 2);
    CHECK_INT(fake->taken, 32 * MIB);
    CHECK_INT(alloc_give(alloc, a), BASE_OK);
    CHECK_INT(alloc_give(alloc, b), BASE_OK);
    CHECK_INT(alloc_empty_cache(alloc), BASE_OK);
    CHECK_INT(fake->allocations, 0);
    struct alloc_refusal refusal;
    CHECK_INT(alloc_malloc(alloc, 2 * GIB, 0, &a, &refusal), ERR_NOMEM);
    CHECK_INT(refusal.device_free, GIB);
    CHECK_INT(cuda_device_last_error(device), 2);
    end();
}

TEST(pages_have_a_handle_each)
{
    begin("expandable_segments:True");
    uint64_t a = take(50 * MIB, 0), b = take(512, 0);
    CHECK_INT(fake->ranges, 2);
    CHECK_INT(fake->handles, 3 + 1);
    CHECK_INT(fake->mappings, 4);
    CHECK_INT(fake->last_page, 2 * MIB);
    uint64_t c = take(15 * MIB, 0); /* 10 are left of the third page: one more */
    CHECK_INT(fake->last_page, 20 * MIB);
    CHECK_INT(alloc_give(alloc, a), BASE_OK);
    CHECK_INT(alloc_empty_cache(alloc), BASE_OK); /* 0 to 50: two whole pages */
    CHECK_INT(fake->mappings, 3);
    CHECK_INT(fake->stream_waits, 1);
    CHECK_INT(alloc_give(alloc, c), BASE_OK);
    CHECK_INT(alloc_give(alloc, b), BASE_OK);
    CHECK_INT(alloc_empty_cache(alloc), BASE_OK);
    CHECK_INT(fake->ranges, 0);
    CHECK_INT(fake->handles, 0);
    take(5 * MIB, 0);
    end();
}

TEST(pages_that_do_not_fit_are_undone)
{
    begin("expandable_segments:True");
    fake->capacity = 100 * MIB;
    CHECK_INT(refused(110 * MIB), ERR_NOMEM);
    CHECK_INT(fake->handles, 0);
    CHECK_INT(fake->mappings, 0);
    take(90 * MIB, 0);
    CHECK_INT(fake->handles, 5);
    end();
}

TEST(events_are_used_again)
{
    begin("");
    void *stream = &stream;
    for (int i = 0; i < 20; i++) {
        uint64_t a = take(512, 0);
        CHECK_INT(alloc_record_stream(alloc, a, (uint64_t)(uintptr_t)stream), BASE_OK);
        fake->not_ready = i % 2;
        CHECK_INT(alloc_give(alloc, a), BASE_OK);
        CHECK(fake->last_stream == stream);
        take(700, 0);
    }
    CHECK_INT(fake->recorded, 20);
    CHECK(fake->created_events <= 2);
    uint64_t a = take(5 * MIB, 0);
    CHECK_INT(alloc_record_stream(alloc, a, 5), BASE_OK);
    fake->not_ready = 1000;
    CHECK_INT(alloc_give(alloc, a), BASE_OK);
    CHECK_INT(alloc_empty_cache(alloc), BASE_OK); /* waits */
    CHECK_INT(alloc_block_size(alloc, a), 0);
    fake->not_ready = 0;
    end();
}

/* Every call fails in turn, at its first and at its third time. */
TEST(each_call_fails)
{
    static const char *const calls[] = {
        "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuMemAlloc_v2",    "cuMemFree_v2",
        "cuMemAddressReserve", "cuMemCreate",        "cuMemMap",         "cuMemSetAccess",
        "cuEventCreate",       "cuEventRecord",      "cuEventQuery",     "cuEventSynchronize",
        "cuStreamSynchronize", "cuMemUnmap",         "cuMemAddressFree", "cuMemGetInfo_v2",
    };
    for (size_t i = 0; i < 2 * sizeof calls / sizeof *calls; i++) {
        bool pages = i % 2;
        int failed = 0;
        begin(pages ? "expandable_segments:True" : "");
        fake->fail_name = calls[i / 2];
        fake->fail_result = 700;
        fake->fail_after = pages ? 3 : 0;
        for (int step = 0; step < 12; step++) {
            uint64_t a;
            if (alloc_malloc(alloc, step % 3 ? 30 * MIB : 700, 0, &a, NULL) != BASE_OK) {
                failed++;
                continue;
            }
            alloc_record_stream(alloc, a, 1);
            failed += alloc_give(alloc, a) != BASE_OK;
            failed += alloc_empty_cache(alloc) != BASE_OK;
            REQUIRE(alloc_is_valid(alloc));
        }
        bool used = fake->fail_after < 0;
        CHECK_INT(failed > 0, used);
        CHECK(!used || cuda_device_last_error(device) == 700);
        fake->fail_name = NULL;
        alloc_empty_cache(alloc);
        CHECK(alloc_is_valid(alloc));
        alloc_delete(alloc);
        cuda_device_delete(device);
        CHECK_INT(fake->depth, 0);
    }
}

TEST(results_become_errors)
{
    static const struct {
        int result, err;
    } cases[] = {{1, ERR_ARG},        {2, ERR_NOMEM},      {3, ERR_CLOSED},   {4, ERR_CLOSED},
                 {100, ERR_NOTFOUND}, {101, ERR_NOTFOUND}, {201, ERR_ARG},    {400, ERR_ARG},
                 {600, ERR_BUSY},     {700, ERR_IO},       {800, ERR_DENIED}, {801, ERR_DENIED},
                 {999, ERR_IO}};
    begin("");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct alloc_device *seam = cuda_device_seam(device);
        fake->fail_name = "cuStreamSynchronize";
        fake->fail_result = cases[i].result;
        fake->fail_after = 0;
        CHECK_INT(seam->stream_wait(seam->self, 0), cases[i].err);
    }
    end();
}

TEST(misuse_of_pages)
{
    uint64_t at;
    begin("");
    const struct alloc_device *seam = cuda_device_seam(device);
    CHECK_INT(seam->map(seam->self, 0x1000000, 2 * MIB), ERR_ARG);
    CHECK_INT(seam->reserve(seam->self, 40 * MIB, 0, &at), BASE_OK);
    seam->pages(seam->self, at, 40 * MIB, 4 * MIB);
    seam->pages(seam->self, at, 20 * MIB, 8 * MIB); /* another range: not this one */
    CHECK_INT(seam->map(seam->self, at, 6 * MIB), ERR_ARG);
    CHECK_INT(seam->map(seam->self, at, 8 * MIB), BASE_OK);
    CHECK_INT(fake->handles, 2);
    CHECK_INT(seam->unmap(seam->self, at, 6 * MIB), ERR_ARG);
    CHECK_INT(seam->unmap(seam->self, at + 4 * MIB, 4 * MIB), BASE_OK);
    CHECK_INT(seam->unmap(seam->self, at, 4 * MIB), BASE_OK);
    CHECK_INT(seam->unreserve(seam->self, at, 40 * MIB), BASE_OK);
    end();
}

TEST(without_memory_of_our_own)
{
    uint64_t at, event;
    begin("");
    const struct alloc_device *seam = cuda_device_seam(device);
    mem_fail_after(1);
    CHECK_INT(seam->reserve(seam->self, 40 * MIB, 0, &at), ERR_NOMEM);
    mem_fail_after(0);
    CHECK_INT(seam->reserve(seam->self, 40 * MIB, 0, &at), BASE_OK);
    mem_fail_after(1);
    CHECK_INT(seam->map(seam->self, at, 4 * MIB), ERR_NOMEM);
    CHECK_INT(fake->handles, 0);
    CHECK_INT(seam->event_record(seam->self, 0, &event), BASE_OK);
    seam->event_forget(seam->self, event); /* cannot be kept: destroyed */
    CHECK_INT(fake->events, 0);
    mem_fail_after(0);
    CHECK_INT(seam->unreserve(seam->self, at, 40 * MIB), BASE_OK);
    end();
    mem_fail_after(1);
    CHECK_INT(cuda_device_new(&device, 0, library, NULL, 0), ERR_NOMEM);
    mem_fail_after(0);
}

TEST(no_driver)
{
    char why[300] = "", want[300];
    find_fake();
    device = NULL;
    CHECK_INT(cuda_device_new(&device, 0, "/nowhere/libcuda.so.1", why, sizeof why), ERR_NOTFOUND);
    CHECK(device == NULL);
    CHECK(strncmp(why, "there is no CUDA driver here: /nowhere/libcuda.so.1: ", 53) == 0);
    CHECK_INT(cuda_device_new(&device, 0, "/nowhere/libcuda.so.1", NULL, 0), ERR_NOTFOUND);
    CHECK_INT(cuda_device_new(&device, 0, old_library, why, sizeof why), ERR_NOTFOUND);
    snprintf(want, sizeof want, "%s has no cuDeviceGet: not a CUDA driver, or too old",
             old_library);
    CHECK_STR(why, want);
    CHECK_INT(cuda_device_new(&device, 7, library, why, sizeof why), ERR_NOTFOUND);
    CHECK_STR(why, "there is no CUDA device 7: error 101");
    fake->fail_name = "cuInit";
    fake->fail_result = 803;
    CHECK_INT(cuda_device_new(&device, 0, library, why, sizeof why), ERR_IO);
    CHECK_STR(why, "the CUDA driver does not start: error 803");
    fake->fail_name = "cuDevicePrimaryCtxRetain";
    fake->fail_result = 2;
    fake->fail_after = 0;
    CHECK_INT(cuda_device_new(&device, 0, library, why, sizeof why), ERR_NOMEM);
    CHECK_STR(why, "no context on CUDA device 0: error 2");
    CHECK_INT(fake->contexts, 0);
    cuda_device_delete(NULL);
}

TEST_MAIN(TEST_CASE(segments), TEST_CASE(pages_have_a_handle_each),
          TEST_CASE(pages_that_do_not_fit_are_undone), TEST_CASE(events_are_used_again),
          TEST_CASE(each_call_fails), TEST_CASE(results_become_errors), TEST_CASE(misuse_of_pages),
          TEST_CASE(without_memory_of_our_own), TEST_CASE(no_driver))
