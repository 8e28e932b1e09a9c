/*
 * Calls of the driver as they nest, fail, overlap and follow each other: what becomes of them. The
 * parameters are arrays of words, as the calls' structs are.
 */
#include "cupti_support.h"

#include <pthread.h>
#include <sched.h>

#include "cupti_decode.h"

enum {
    MEM_ALLOC = 243,
    MEM_ALLOC_PITCH = 244,
    MEM_FREE = 245,
    HOST_REGISTER = 379,
    HOST_UNREGISTER = 302,
    MEM_CREATE = 549,
    MEM_RELEASE = 550,
    MEM_MAP = 551,
    MEM_UNMAP = 552,
    MEM_RETAIN = 565,
    POOL_CREATE = 607,
    POOL_DESTROY = 608,
    IMPORT_EXTERNAL = 485,
    MAP_BUFFER = 486,
    DESTROY_EXTERNAL = 488,
    CUDA_MALLOC = 20,
};

struct out {
    uint64_t *to;
    uint64_t second, third, fourth;
};

static void allocate(struct driven *driven, uint64_t address, uint64_t bytes, int result)
{
    struct out params = {&address, bytes, 0, 0};
    call_driver(driven, MEM_ALLOC, &params, result);
}

static void free_at(struct driven *driven, uint64_t address, int result)
{
    call_driver(driven, MEM_FREE, &address, result);
}

TEST(an_allocation_and_its_free)
{
    struct driven driven = begin_driven();
    driven.context = (const void *)0x13;
    allocate(&driven, 0x7000, 100, 0);
    free_at(&driven, 0x7000, 0);
    REQUIRE(look(&driven) == 2);
    CHECK_EVENT(driven.events[0], EVENT_DRIVER_ALLOC, 0x7000, 100);
    CHECK_INT(driven.events[0].a & 0xff, DRIVER_DEVICE);
    CHECK_INT(device_of(&driven, &driven.events[0]), 3);
    CHECK_STR(string_of(driven.own.ring, driven.events[0].name), "cuMemAlloc");
    CHECK_EVENT(driven.events[1], EVENT_DRIVER_FREE, 0x7000, 0);
    CHECK_INT(driven.events[1].a, DRIVER_DEVICE);
    CHECK_INT(driven.events[1].heap, driven.events[0].heap);
    CHECK_INT(live_count(), 0);
    CHECK(live_is_valid());
}

TEST(calls_that_fail_leave_nothing)
{
    struct driven driven = begin_driven();
    allocate(&driven, 0x7000, 100, 2);
    free_at(&driven, 0x7000, 1); /* of what nobody has */
    free_at(&driven, 0, 0);      /* of nothing */
    CHECK_INT(look(&driven), 0);
    free_at(&driven, 0x9000, 0); /* of what was there before us */
    REQUIRE(look(&driven) == 1);
    CHECK_EVENT(driven.events[0], EVENT_DRIVER_FREE, 0x9000, 0);
}

TEST(a_free_that_fails_is_announced_anew)
{
    struct driven driven = begin_driven();
    allocate(&driven, 0x7000, 100, 0);
    free_at(&driven, 0x7000, 700);
    REQUIRE(look(&driven) == 3);
    CHECK_EVENT(driven.events[1], EVENT_DRIVER_FREE, 0x7000, 0);
    CHECK_EVENT(driven.events[2], EVENT_DRIVER_ALLOC, 0x7000, 100);
    CHECK_INT(driven.events[2].name, driven.events[0].name);
    CHECK_INT(driven.events[2].a, driven.events[0].a);
    free_at(&driven, 0x7000, 0);
    CHECK_INT(look(&driven), 1);
    CHECK_INT(live_count(), 0);
}

/* Another thread gets the address between the enter and the exit of the free. */
TEST(an_address_that_comes_again_before_the_free_returns)
{
    struct driven driven = begin_driven();
    uint64_t address = 0x7000;
    allocate(&driven, address, 100, 0);
    uint32_t call = enter(&driven, ABI_DRIVER, MEM_FREE, &address);
    struct driven other = driven; /* as from another thread: it has calls of its own */
    other.correlation = 1000;
    leave_call(&driven, ABI_DRIVER, MEM_FREE, &address, call, 0);
    allocate(&other, address, 50, 0);
    REQUIRE(look(&driven) == 3);
    CHECK_INT(driven.events[1].kind, EVENT_DRIVER_FREE);
    CHECK_EVENT(driven.events[2], EVENT_DRIVER_ALLOC, address, 50);
    CHECK_INT(live_count(), 1);
}

static void *allocate_in_thread(void *argument)
{
    allocate(argument, 0x7000, 50, 0);
    return NULL;
}

TEST(the_same_by_two_threads)
{
    struct driven driven = begin_driven();
    uint64_t address = 0x7000;
    pthread_t thread;
    allocate(&driven, address, 100, 0);
    uint32_t call = enter(&driven, ABI_DRIVER, MEM_FREE, &address);
    struct driven other = {.context = driven.context, .correlation = 1000};
    REQUIRE(pthread_create(&thread, NULL, allocate_in_thread, &other) == 0);
    pthread_join(thread, NULL);
    leave_call(&driven, ABI_DRIVER, MEM_FREE, &address, call, 0);
    REQUIRE(look(&driven) == 3);
    CHECK_INT(driven.events[0].kind, EVENT_DRIVER_ALLOC);
    CHECK_INT(driven.events[1].kind, EVENT_DRIVER_FREE);
    CHECK_EVENT(driven.events[2], EVENT_DRIVER_ALLOC, address, 50);
    CHECK_INT(live_count(), 1); /* the new one outlives the old one's exit */
    CHECK(live_is_valid());
}

TEST(the_outermost_call_is_the_reason)
{
    struct driven driven = begin_driven();
    uint64_t address = 0x7000;
    struct out params = {&address, 10, 0, 0};
    uint32_t outer = enter(&driven, ABI_RUNTIME, CUDA_MALLOC, NULL);
    uint32_t inner = enter(&driven, ABI_RUNTIME, 27, NULL); /* a runtime call inside of it */
    call_driver(&driven, MEM_ALLOC, &params, 0);
    leave_call(&driven, ABI_RUNTIME, 27, NULL, inner, 0);
    leave_call(&driven, ABI_RUNTIME, CUDA_MALLOC, NULL, outer, 0);
    address = 0x8000;
    call_driver(&driven, MEM_ALLOC, &params, 0);
    REQUIRE(look(&driven) == 2);
    CHECK_STR(string_of(driven.own.ring, driven.events[0].name), "cudaMalloc");
    CHECK_STR(string_of(driven.own.ring, driven.events[1].name), "cuMemAlloc");
}

/* One call of the driver that is made of others is told once; one that only may change something
 * hides nothing. */
TEST(calls_inside_of_calls)
{
    struct driven driven = begin_driven();
    uint64_t address = 0x7000;
    uint64_t pitch = 512;
    struct out params = {&address, 10, 0, 0};
    struct out pitched = {&address, (uint64_t)(uintptr_t)&pitch, 100, 4};
    uint32_t outer = enter(&driven, ABI_DRIVER, MEM_ALLOC_PITCH, &pitched);
    call_driver(&driven, MEM_ALLOC, &params, 0);
    leave_call(&driven, ABI_DRIVER, MEM_ALLOC_PITCH, &pitched, outer, 0);
    REQUIRE(look(&driven) == 1);
    CHECK_STR(string_of(driven.own.ring, driven.events[0].name), "cuMemAllocPitch");
    CHECK_INT(callback_lost(), 0);
    uint32_t load = enter(&driven, ABI_DRIVER, 19, &params); /* cuModuleLoadData */
    address = 0x8000;
    call_driver(&driven, MEM_ALLOC, &params, 0);
    leave_call(&driven, ABI_DRIVER, 19, &params, load, 0);
    CHECK_INT(look(&driven), 1);
    for (int i = 0; i < 10; i++) /* deeper than is kept */
        enter(&driven, ABI_DRIVER, 19, &params);
    CHECK_INT(look(&driven), 0);
}

/* ---- exits that never come ---- */

TEST(a_call_of_the_runtime_ends_what_did_not_end)
{
    struct driven driven = begin_driven();
    uint64_t address = 0x7000;
    struct out params = {&address, 10, 0, 0};
    enter(&driven, ABI_RUNTIME, CUDA_MALLOC, NULL);
    enter(&driven, ABI_DRIVER, MEM_ALLOC, &params); /* both without an exit */
    call_driver(&driven, MEM_ALLOC_PITCH, &params, 2);
    CHECK_INT(look(&driven), 0);
    uint32_t call = enter(&driven, ABI_RUNTIME, 206, NULL); /* cudaMallocManaged */
    CHECK_INT(callback_lost(), 2);
    allocate(&driven, 0x8000, 20, 0);
    leave_call(&driven, ABI_RUNTIME, 206, NULL, call, 0);
    allocate(&driven, 0x9000, 30, 0);
    REQUIRE(look(&driven) == 2);
    CHECK_EVENT(driven.events[0], EVENT_DRIVER_ALLOC, 0x8000, 20);
    CHECK_STR(string_of(driven.own.ring, driven.events[0].name), "cudaMallocManaged");
    CHECK_STR(string_of(driven.own.ring, driven.events[1].name), "cuMemAlloc");
    CHECK_INT(callback_lost(), 2);
}

/* A thread that calls the driver alone, as NCCL does. */
TEST(a_call_of_the_same_name_ends_what_did_not_end)
{
    struct driven driven = begin_driven();
    uint64_t address = 0x7000;
    struct out params = {&address, 10, 0, 0};
    enter(&driven, ABI_DRIVER, MEM_ALLOC, &params);
    free_at(&driven, 0x6000, 0); /* looks as if it were inside of it */
    CHECK_INT(look(&driven), 0);
    allocate(&driven, 0x8000, 20, 0);
    free_at(&driven, 0x8000, 0);
    CHECK_INT(look(&driven), 2);
    CHECK_INT(callback_lost(), 1);
    enter(&driven, ABI_RUNTIME, CUDA_MALLOC, NULL);
    enter(&driven, ABI_RUNTIME, CUDA_MALLOC, NULL); /* nor is it made of itself */
    CHECK_INT(callback_lost(), 2);
}

TEST(deeper_than_calls_are)
{
    struct driven driven = begin_driven();
    uint64_t address = 0x7000;
    static const uint32_t loads[] = {18, 19, 20, 21}; /* of modules */
    for (int i = 0; i < 4; i++)
        enter(&driven, ABI_DRIVER, loads[i], &address);
    CHECK_INT(callback_lost(), 0);
    allocate(&driven, 0x8000, 20, 0);
    CHECK_INT(look(&driven), 1);
    CHECK_INT(callback_lost(), 4);
}

/* ---- the table cannot be had ---- */

/* Holds it until it is told to end. */
static _Atomic int holds;
static void *hold_table(void *argument)
{
    (void)argument;
    live_hold_for_test(true);
    atomic_store(&holds, 1);
    while (atomic_load(&holds) == 1)
        sched_yield();
    live_hold_for_test(false);
    return NULL;
}

static pthread_t begin_holding(void)
{
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, hold_table, NULL) == 0);
    while (!atomic_load(&holds))
        sched_yield();
    return thread;
}

static void end_holding(pthread_t thread)
{
    atomic_store(&holds, 2);
    pthread_join(thread, NULL);
    atomic_store(&holds, 0);
}

TEST(a_free_that_could_not_be_noted_is_told_and_settled)
{
    struct driven driven = begin_driven();
    uint64_t address = 0x7000;
    allocate(&driven, address, 100, 0);
    pthread_t thread = begin_holding();
    uint32_t call = enter(&driven, ABI_DRIVER, MEM_FREE, &address);
    end_holding(thread);
    leave_call(&driven, ABI_DRIVER, MEM_FREE, &address, call, 0);
    REQUIRE(look(&driven) == 2);
    CHECK_EVENT(driven.events[1], EVENT_DRIVER_FREE, address, 0);
    CHECK_INT(driven.events[1].a, DRIVER_DEVICE);
    CHECK_INT(live_count(), 0);
    CHECK_INT(live_missed(), 0);
}

/* Somebody else gets the address while the word is still owed. */
TEST(what_is_owed_comes_before_a_new_life)
{
    struct driven driven = begin_driven();
    uint64_t address = 0x7000;
    allocate(&driven, address, 100, 0);
    pthread_t thread = begin_holding();
    uint32_t call = enter(&driven, ABI_DRIVER, MEM_FREE, &address);
    end_holding(thread);
    struct driven other = {.context = driven.context, .correlation = 1000};
    REQUIRE(pthread_create(&thread, NULL, allocate_in_thread, &other) == 0);
    pthread_join(thread, NULL);
    leave_call(&driven, ABI_DRIVER, MEM_FREE, &address, call, 0);
    REQUIRE(look(&driven) == 3);
    CHECK_EVENT(driven.events[2], EVENT_DRIVER_ALLOC, address, 50);
    CHECK_INT(live_count(), 1);
    free_at(&driven, address, 700); /* fails: it is announced as what it is now */
    REQUIRE(look(&driven) == 2);
    CHECK_EVENT(driven.events[1], EVENT_DRIVER_ALLOC, address, 50);
    CHECK(live_is_valid());
}

TEST(a_free_that_could_not_be_noted_and_failed)
{
    struct driven driven = begin_driven();
    uint64_t address = 0x7000;
    allocate(&driven, address, 100, 0);
    pthread_t thread = begin_holding();
    uint32_t call = enter(&driven, ABI_DRIVER, MEM_FREE, &address);
    end_holding(thread);
    leave_call(&driven, ABI_DRIVER, MEM_FREE, &address, call, 1);
    REQUIRE(look(&driven) == 3);
    CHECK_EVENT(driven.events[2], EVENT_DRIVER_ALLOC, address, 100);
    CHECK_INT(live_count(), 1);
}

TEST(what_cannot_be_made_good_is_counted)
{
    struct driven driven = begin_driven();
    uint64_t handle = 0x55;
    live_given(&(struct live_entry){
        .key = handle, .space = SPACE_HANDLE, .memory = DRIVER_PHYSICAL, .refs = 1});
    pthread_t thread = begin_holding();
    live_retained(handle);
    allocate(&driven, 0x7000, 10, 0);
    end_holding(thread);
    CHECK_INT(live_missed(), 2);
    CHECK_INT(look(&driven), 2); /* it is told all the same */
}

/* ---- before a gap ---- */

TEST(pools_are_not_asked_behind_a_gap)
{
    struct driven driven = begin_driven();
    uint64_t pool, after = 0;
    uint32_t heap;
    struct out params = {&pool, 0, 0, 0};
    for (pool = 0x900; pool < 0x90a; pool++)
        call_driver(&driven, POOL_CREATE, &params, 0);
    allocate(&driven, 0x7000, 10, 0);
    live_forget_pools();
    CHECK(!live_pool_next(after, &after, &heap));
    live_pool_done();
    CHECK_INT(live_count(), 1);
    CHECK(live_is_valid());
    look(&driven);
    pool = 0x903;
    call_driver(&driven, POOL_DESTROY, &pool, 0);
    CHECK_INT(look(&driven), 1); /* its end is told */
}

/* ---- physical memory ---- */

struct create {
    uint64_t *handle;
    uint64_t bytes;
    const struct abi_memory_prop *prop;
    uint64_t flags;
};

static void create_handle(struct driven *driven, uint64_t handle, uint64_t bytes, uint32_t location)
{
    struct abi_memory_prop prop = {.type = 1, .location = location, .location_id = 2};
    struct create params = {&handle, bytes, &prop, 0};
    call_driver(driven, MEM_CREATE, &params, 0);
}

static void map(struct driven *driven, uint64_t address, uint64_t bytes, uint64_t handle)
{
    const uint64_t params[] = {address, bytes, 0, handle, 0};
    call_driver(driven, MEM_MAP, params, 0);
}

static void unmap(struct driven *driven, uint64_t address, uint64_t bytes, int result)
{
    const uint64_t params[] = {address, bytes};
    call_driver(driven, MEM_UNMAP, params, result);
}

static void release(struct driven *driven, uint64_t handle, int result)
{
    call_driver(driven, MEM_RELEASE, &handle, result);
}

static void retain(struct driven *driven, uint64_t handle)
{
    struct out params = {&handle, 0xa000, 0, 0};
    call_driver(driven, MEM_RETAIN, &params, 0);
}

/* As NCCL gives back: retain, release, unmap, release. */
TEST(physical_memory_goes_with_its_last_reference)
{
    struct driven driven = begin_driven();
    create_handle(&driven, 0x55, 2 << 20, ABI_LOCATION_DEVICE);
    map(&driven, 0xa000, 2 << 20, 0x55);
    retain(&driven, 0x55);
    release(&driven, 0x55, 0);
    REQUIRE(look(&driven) == 2);
    CHECK_EVENT(driven.events[0], EVENT_DRIVER_ALLOC, 0x55, 2 << 20);
    CHECK_INT(driven.events[0].a & 0xff, DRIVER_PHYSICAL);
    CHECK_INT(device_of(&driven, &driven.events[0]), 2); /* of its properties, not the context's */
    CHECK_EVENT(driven.events[1], EVENT_DRIVER_MAP, 0xa000, 2 << 20);
    CHECK_INT(driven.events[1].b, 0x55);
    CHECK_INT(driven.events[1].heap, driven.events[0].heap);
    unmap(&driven, 0xa000, 2 << 20, 0);
    REQUIRE(look(&driven) == 1);
    CHECK_EVENT(driven.events[0], EVENT_DRIVER_UNMAP, 0xa000, 2 << 20);
    release(&driven, 0x55, 0);
    REQUIRE(look(&driven) == 1);
    CHECK_EVENT(driven.events[0], EVENT_DRIVER_FREE, 0x55, 0);
    CHECK_INT(live_count(), 0);
}

/* As PyTorch's expandable segments: released at once, then only mapped. */
TEST(physical_memory_lives_while_it_is_mapped)
{
    struct driven driven = begin_driven();
    for (uint64_t i = 0; i < 40; i++) {
        create_handle(&driven, 0x100 + i, 64, ABI_LOCATION_DEVICE);
        map(&driven, 0xa000 + 64 * i, 64, 0x100 + i);
        release(&driven, 0x100 + i, 0);
    }
    CHECK_INT(look(&driven), 80);
    unmap(&driven, 0xa000, 64 * 40, 0); /* all of them by one call */
    REQUIRE(look(&driven) == 41);
    CHECK_EVENT(driven.events[0], EVENT_DRIVER_UNMAP, 0xa000, 64 * 40);
    for (uint64_t i = 0; i < 40; i++)
        CHECK_EVENT(driven.events[1 + i], EVENT_DRIVER_FREE, 0x100 + i, 0);
    CHECK_INT(live_count(), 0);
    CHECK(live_is_valid());
}

TEST(an_unmap_that_fails)
{
    struct driven driven = begin_driven();
    create_handle(&driven, 0x55, 64, ABI_LOCATION_DEVICE);
    map(&driven, 0xa000, 64, 0x55);
    release(&driven, 0x55, 0);
    look(&driven);
    unmap(&driven, 0xa000, 64, 1);
    REQUIRE(look(&driven) == 4); /* unmapped, freed, and both again */
    CHECK_EVENT(driven.events[2], EVENT_DRIVER_ALLOC, 0x55, 64);
    CHECK_EVENT(driven.events[3], EVENT_DRIVER_MAP, 0xa000, 64);
    unmap(&driven, 0xa000, 64, 0);
    CHECK_INT(look(&driven), 2);
    CHECK_INT(live_count(), 0);
}

TEST(a_release_that_fails)
{
    struct driven driven = begin_driven();
    create_handle(&driven, 0x55, 64, 3); /* in the host's memory */
    REQUIRE(look(&driven) == 1);
    CHECK_INT(driven.events[0].heap, 0);
    release(&driven, 0x55, 1);
    REQUIRE(look(&driven) == 2);
    CHECK_EVENT(driven.events[1], EVENT_DRIVER_ALLOC, 0x55, 64);
    release(&driven, 0x55, 0);
    CHECK_INT(look(&driven), 1);
    release(&driven, 0x55, 0); /* of what we do not know: nothing to say */
    CHECK_INT(look(&driven), 0);
}

/* ---- what goes with what ---- */

TEST(a_context_takes_its_memory_along)
{
    struct driven driven = begin_driven();
    uint64_t pool = 0x900, host = 0x30000;
    struct out params = {&pool, 0, 0, 0};
    tell_context(&driven, ABI_CONTEXT_CREATED, (const void *)0x10);
    tell_context(&driven, ABI_CONTEXT_CREATED, (const void *)0x11);
    for (uint64_t i = 0; i < 100; i++)
        allocate(&driven, 0x10000 + i, 1, 0);
    const uint64_t registered[] = {host, 4096, 0};
    call_driver(&driven, HOST_REGISTER, registered, 0);
    create_handle(&driven, 0x55, 64, ABI_LOCATION_DEVICE);
    call_driver(&driven, POOL_CREATE, &params, 0);
    driven.context = (const void *)0x11;
    allocate(&driven, 0x20000, 1, 0);
    CHECK_INT(look(&driven), 104);
    tell_context(&driven, ABI_CONTEXT_DESTROY_STARTING, (const void *)0x10);
    CHECK_INT(look(&driven), 101); /* not the handle, the pool, the other context's */
    for (size_t i = 0; i < driven.count; i++)
        CHECK_INT(driven.events[i].kind, EVENT_DRIVER_FREE);
    CHECK_INT(live_count(), 3);
    call_driver(&driven, POOL_DESTROY, &pool, 0);
    CHECK_INT(look(&driven), 1);
    CHECK(live_is_valid());
}

TEST(imported_memory_and_its_buffers)
{
    struct driven driven = begin_driven();
    uint64_t memory = 0x77, address = 0xb000;
    struct abi_external from = {.type = 1, .bytes = 4096};
    struct out params = {&memory, (uint64_t)(uintptr_t)&from, 0, 0};
    call_driver(&driven, IMPORT_EXTERNAL, &params, 0);
    struct abi_external_buffer buffer = {.offset = 0, .bytes = 4096};
    struct out mapped = {&address, memory, (uint64_t)(uintptr_t)&buffer, 0};
    call_driver(&driven, MAP_BUFFER, &mapped, 0);
    free_at(&driven, address, 0);
    call_driver(&driven, DESTROY_EXTERNAL, &memory, 0);
    REQUIRE(look(&driven) == 4);
    CHECK_EVENT(driven.events[0], EVENT_DRIVER_ALLOC, 0x77, 4096);
    CHECK_INT(driven.events[0].a & 0xff, DRIVER_IMPORTED);
    CHECK_EVENT(driven.events[1], EVENT_DRIVER_MAP, 0xb000, 4096);
    CHECK_EVENT(driven.events[2], EVENT_DRIVER_UNMAP, 0xb000, 4096);
    CHECK_EVENT(driven.events[3], EVENT_DRIVER_FREE, 0x77, 0);
    CHECK_INT(live_count(), 0);
}

/* A subscription that ended in the middle of a call, and the next one. */
TEST(what_was_under_way_when_callbacks_ended)
{
    struct driven driven = begin_driven();
    uint64_t address = 0x7000;
    allocate(&driven, address, 100, 0);
    enter(&driven, ABI_RUNTIME, CUDA_MALLOC, NULL);
    enter(&driven, ABI_DRIVER, MEM_FREE, &address);
    live_settle();
    CHECK_INT(live_count(), 0);
    look(&driven);
    cupti_api.enable_callback = NULL;
    CHECK(live_is_valid());
}

TEST(pools_are_sampled_one_after_the_other)
{
    struct driven driven = begin_driven();
    uint64_t pool = 0, key;
    uint32_t heap;
    struct out params = {&pool, 0, 0, 0};
    for (pool = 0x900; pool < 0x903; pool++)
        call_driver(&driven, POOL_CREATE, &params, 0);
    uint64_t after = 0;
    for (key = 0x900; key < 0x903; key++) {
        REQUIRE(live_pool_next(after, &after, &heap));
        CHECK_INT(after, key);
        live_pool_done();
    }
    CHECK(!live_pool_next(after, &after, &heap));
    live_pool_done();
}

TEST(bytes_of_arrays)
{
    CHECK_INT(decode_array_bytes(64, 32, 0, 0x20, 4), 64 * 32 * 16);
    CHECK_INT(decode_array_bytes(64, 0, 0, 0x01, 1), 64);
    CHECK_INT(decode_array_bytes(10, 10, 10, 0x10, 2), 4000);
    CHECK_INT(decode_array_bytes(5, 5, 0, 0x91, 4), 2 * 2 * 8); /* blocks of 4 x 4 */
    CHECK_INT(decode_array_bytes(8, 4, 0, 0x9c, 3), 2 * 16);
    CHECK_INT(decode_array_bytes(8, 1, 0, 0xc5, 4), 64);
    CHECK_INT(decode_array_bytes(8, 1, 0, 0xb0, 3), 0); /* planes: not known */
}

TEST_MAIN(TEST_CASE(an_allocation_and_its_free), TEST_CASE(calls_that_fail_leave_nothing),
          TEST_CASE(a_free_that_fails_is_announced_anew),
          TEST_CASE(an_address_that_comes_again_before_the_free_returns),
          TEST_CASE(the_same_by_two_threads), TEST_CASE(the_outermost_call_is_the_reason),
          TEST_CASE(calls_inside_of_calls), TEST_CASE(a_call_of_the_runtime_ends_what_did_not_end),
          TEST_CASE(a_call_of_the_same_name_ends_what_did_not_end),
          TEST_CASE(deeper_than_calls_are),
          TEST_CASE(a_free_that_could_not_be_noted_is_told_and_settled),
          TEST_CASE(what_is_owed_comes_before_a_new_life),
          TEST_CASE(a_free_that_could_not_be_noted_and_failed),
          TEST_CASE(what_cannot_be_made_good_is_counted),
          TEST_CASE(pools_are_not_asked_behind_a_gap),
          TEST_CASE(physical_memory_goes_with_its_last_reference),
          TEST_CASE(physical_memory_lives_while_it_is_mapped), TEST_CASE(an_unmap_that_fails),
          TEST_CASE(a_release_that_fails), TEST_CASE(a_context_takes_its_memory_along),
          TEST_CASE(imported_memory_and_its_buffers),
          TEST_CASE(what_was_under_way_when_callbacks_ended),
          TEST_CASE(pools_are_sampled_one_after_the_other), TEST_CASE(bytes_of_arrays))
