/*
 * What PyTorch would do with libtidemark_alloc.so: it is opened and its functions are looked up by
 * name, here by the names that docs/pluggable.md gives. The driver is fake_driver.c, which the
 * library finds as libcuda.so.1.
 */
#include "fake_driver.h"
#include "test.h"
#include "tidemark.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

struct library {
    void *handle;
    struct fake_cuda *cuda;
    void *(*malloc)(size_t bytes, int device, void *stream);
    void (*free)(void *address, size_t bytes, int device, void *stream);
    void (*init)(int device_count);
    void (*reset)(void);
    void (*memory_fraction)(double fraction, int device);
    void *(*base)(void *address, size_t *bytes);
    void (*record_stream)(void *address, void *stream);
    void *(*segment_malloc)(size_t bytes, int device, void *stream);
    void (*segment_free)(void *address, size_t bytes, int device, void *stream);
};

static void find(void *handle, const char *name, void *function)
{
    void *symbol = dlsym(handle, name);
    REQUIRE(symbol != NULL);
    memcpy(function, &symbol, sizeof symbol);
}

static struct library open_library(void)
{
    struct library lib = {.handle = dlopen(TIDEMARK_ALLOC, RTLD_NOW | RTLD_LOCAL)};
    if (!lib.handle)
        printf("%s\n", dlerror());
    REQUIRE(lib.handle != NULL);
    find(lib.handle, "tidemark_torch_malloc", &lib.malloc);
    find(lib.handle, "tidemark_torch_free", &lib.free);
    find(lib.handle, "tidemark_torch_init", &lib.init);
    find(lib.handle, "tidemark_torch_reset", &lib.reset);
    find(lib.handle, "tidemark_torch_memory_fraction", &lib.memory_fraction);
    find(lib.handle, "tidemark_torch_base", &lib.base);
    find(lib.handle, "tidemark_torch_record_stream", &lib.record_stream);
    find(lib.handle, "tidemark_torch_segment_malloc", &lib.segment_malloc);
    find(lib.handle, "tidemark_torch_segment_free", &lib.segment_free);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    REQUIRE(driver != NULL);
    lib.cuda = dlsym(driver, "fake_cuda");
    REQUIRE(lib.cuda != NULL); /* the driver of a machine with a GPU is not for this test */
    lib.init(FAKE_DEVICES);
    return lib;
}

static void *stream(uintptr_t number)
{
    return (void *)number;
}

/* ---- blocks ---- */

TEST(tensors_are_cut_out_of_segments)
{
    struct library lib = open_library();
    char *small = lib.malloc(1000, 0, NULL), *other = lib.malloc(1, 0, NULL);
    CHECK_INT(lib.cuda->allocs, 1);
    CHECK_INT(lib.cuda->used[0], 2 * MIB);
    CHECK(other == small + 1024);
    char *large = lib.malloc(30 * MIB, 1, NULL);
    CHECK_INT(lib.cuda->used[1], 30 * MIB);
    size_t bytes = 0;
    CHECK(lib.base(other, &bytes) == small);
    CHECK_INT(bytes, 2 * MIB);
    CHECK(lib.base(large, &bytes) == large);
    CHECK_INT(bytes, 30 * MIB);
    CHECK(lib.base(large, NULL) == large);
    CHECK(lib.base(large + 512, &bytes) == NULL);
    CHECK_INT(bytes, 0);
    lib.free(small, 1000, 0, NULL);
    CHECK(lib.malloc(1000, 0, NULL) == small);
    CHECK_INT(lib.cuda->frees, 0);
    CHECK_INT(lib.cuda->errors, 0);
    CHECK_INT(lib.cuda->depth, 0);
}

TEST(nothing_is_asked_for_nothing)
{
    struct library lib = open_library();
    CHECK(lib.malloc(0, 0, NULL) == NULL);
    lib.free(NULL, 0, 0, NULL);
    lib.record_stream(NULL, stream(1));
    CHECK(lib.base(NULL, NULL) == NULL);
    lib.reset();
    lib.segment_free(NULL, 0, 0, NULL);
    CHECK(lib.segment_malloc(0, 0, NULL) == NULL);
    CHECK_INT(lib.cuda->allocs, 0);
    CHECK_INT(lib.cuda->errors, 0);
}

TEST(empty_cache_gives_segments_back)
{
    struct library lib = open_library();
    void *kept = lib.malloc(12 * MIB, 0, NULL), *gone = lib.malloc(14 * MIB, 0, NULL);
    void *on_other = lib.malloc(16 * MIB, 1, NULL);
    lib.free(gone, 14 * MIB, 0, NULL);
    lib.free(on_other, 16 * MIB, 1, NULL);
    lib.reset();
    CHECK_INT(lib.cuda->used[0], 12 * MIB);
    CHECK_INT(lib.cuda->used[1], 0);
    CHECK(lib.base(kept, NULL) == kept);
    CHECK_INT(lib.cuda->errors, 0);
}

TEST(each_stream_has_blocks_of_its_own)
{
    struct library lib = open_library();
    char *p = lib.malloc(3 * MIB, 0, stream(0x10));
    lib.free(p, 3 * MIB, 0, stream(0x10));
    CHECK(lib.malloc(3 * MIB, 0, stream(0x20)) != p);
    CHECK(lib.malloc(3 * MIB, 0, stream(0x10)) == p);
}

TEST(a_block_waits_for_the_stream_that_uses_it)
{
    struct library lib = open_library();
    char *p = lib.malloc(3 * MIB, 1, stream(0x10));
    lib.record_stream(p, stream(0x20));
    lib.cuda->busy = true;
    lib.free(p, 3 * MIB, 1, stream(0x10));
    CHECK_INT(lib.cuda->last_stream, 0x20);
    CHECK(lib.malloc(3 * MIB, 1, stream(0x10)) != p);
    lib.cuda->busy = false;
    CHECK(lib.malloc(3 * MIB, 1, stream(0x10)) == p);
    CHECK_INT(lib.cuda->errors, 0);
}

/* ---- refusals ---- */

/* What is written to stderr while `run` runs. */
static const char *said(void (*run)(struct library *lib), struct library *lib)
{
    static char text[4096];
    const char *path = test_path("stderr");
    int old = dup(STDERR_FILENO), file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(file >= 0 && dup2(file, STDERR_FILENO) >= 0);
    run(lib);
    REQUIRE(dup2(old, STDERR_FILENO) >= 0);
    ssize_t n = pread(file, text, sizeof text - 1, 0);
    REQUIRE(n >= 0);
    text[n] = '\0';
    close(file);
    close(old);
    return text;
}

static void ask_for_too_much(struct library *lib)
{
    CHECK(lib->malloc(60 * MIB, 0, NULL) == NULL);
}

TEST(a_refusal_is_said_and_gives_null)
{
    struct library lib = open_library();
    lib.cuda->total = 64 * MIB;
    void *p = lib.malloc(30 * MIB, 0, NULL);
    const char *text = said(ask_for_too_much, &lib);
    CHECK(strstr(text, "tidemark: ") == text);
    CHECK(strstr(text, "cuda:0 is out of memory: 60.0 MiB requested") != NULL);
    CHECK(strstr(text, "30.0 MiB allocated") != NULL);
    CHECK(strstr(text, "34.0 MiB free on the device") != NULL);
    lib.free(p, 30 * MIB, 0, NULL);
    CHECK(lib.malloc(60 * MIB, 0, NULL) != NULL); /* the cache is given back for it */
    CHECK_INT(lib.cuda->errors, 0);
}

static void free_what_is_not_there(struct library *lib)
{
    lib->free(stream(0x1000), 1, 0, NULL);
}

TEST(a_free_of_nothing_known_is_said)
{
    struct library lib = open_library();
    lib.malloc(1, 0, NULL);
    CHECK(strstr(said(free_what_is_not_there, &lib), "freeing 0x1000") != NULL);
}

static void ask_a_device_that_is_not_there(struct library *lib)
{
    for (int i = 0; i < 3; i++)
        CHECK(lib->malloc(1, FAKE_DEVICES, NULL) == NULL);
}

TEST(a_device_that_is_not_there_is_said_once)
{
    struct library lib = open_library();
    const char *text = said(ask_a_device_that_is_not_there, &lib);
    CHECK(strstr(text, "no allocator for cuda:2") != NULL);
    CHECK(strchr(text, '\n') == text + strlen(text) - 1);
    CHECK(lib.malloc(1, -1, NULL) == NULL);
    CHECK(lib.malloc(1, 1000, NULL) == NULL);
    lib.memory_fraction(0.5, 1000);
    lib.free(stream(0x1000), 1, 1000, NULL);
    CHECK(lib.segment_malloc(1, -5, NULL) == NULL);
}

TEST(a_fraction_limits_what_is_taken)
{
    struct library lib = open_library();
    lib.cuda->total = 100 * MIB;
    lib.memory_fraction(0.5, 0);
    CHECK(lib.malloc(52 * MIB, 0, NULL) == NULL);
    CHECK(lib.malloc(50 * MIB, 0, NULL) != NULL);
    CHECK(lib.malloc(52 * MIB, 1, NULL) != NULL); /* the other device has no limit */
    lib.memory_fraction(1.0, 0);
    CHECK(lib.malloc(50 * MIB, 0, NULL) != NULL);
    lib.memory_fraction(0, 1);
    CHECK(lib.malloc(2 * MIB, 1, NULL) == NULL);
    lib.memory_fraction(-1, 1); /* is ignored */
    CHECK(lib.malloc(2 * MIB, 1, NULL) == NULL);
}

/* ---- settings ---- */

TEST(settings_come_from_the_environment)
{
    setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", 1);
    struct library lib = open_library();
    void *p = lib.malloc(30 * MIB, 0, NULL);
    CHECK(p != NULL);
    CHECK_INT(lib.cuda->allocs, 0);
    CHECK_INT(lib.cuda->maps, 2);
    CHECK_INT(lib.cuda->used[0], 40 * MIB);
    lib.free(p, 30 * MIB, 0, NULL);
    lib.reset();
    CHECK_INT(lib.cuda->used[0], 0);
    CHECK_INT(lib.cuda->errors, 0);
}

TEST(the_newer_variable_comes_first)
{
    setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", 1);
    setenv("PYTORCH_ALLOC_CONF", "expandable_segments:False", 1);
    struct library lib = open_library();
    CHECK(lib.malloc(30 * MIB, 0, NULL) != NULL);
    CHECK_INT(lib.cuda->allocs, 1);
}

static void ask_for_a_little(struct library *lib)
{
    CHECK(lib->malloc(1, 0, NULL) != NULL);
}

TEST(wrong_settings_are_said_and_left)
{
    setenv("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:1", 1);
    struct library lib = open_library();
    const char *text = said(ask_for_a_little, &lib);
    CHECK(strstr(text, "goes on with its defaults: ") != NULL);
    CHECK(strstr(text, "max_split_size_mb") != NULL);
}

/* ---- segments for a MemPool ---- */

TEST(segments_come_from_the_driver_one_by_one)
{
    struct library lib = open_library();
    void *a = lib.segment_malloc(2 * MIB, 0, stream(0x10));
    void *b = lib.segment_malloc(20 * MIB, 1, NULL);
    CHECK_INT(lib.cuda->allocs, 2);
    CHECK_INT(lib.cuda->used[0], 2 * MIB);
    CHECK_INT(lib.cuda->used[1], 20 * MIB);
    lib.segment_free(a, 2 * MIB, 0, stream(0x10));
    lib.segment_free(b, 20 * MIB, 1, NULL);
    CHECK_INT(lib.cuda->used[0] + lib.cuda->used[1], 0);
    lib.cuda->total = 10 * MIB;
    CHECK(lib.segment_malloc(12 * MIB, 0, NULL) == NULL);
    CHECK(lib.segment_malloc(10 * MIB, 0, NULL) != NULL);
    CHECK_INT(lib.cuda->errors, 0);
    CHECK_INT(lib.cuda->depth, 0);
}

/* ---- the C API on the same driver ---- */

TEST(a_program_has_the_device_too)
{
    struct library lib = open_library();
    int (*new)(struct tidemark_allocator **, const struct tidemark_allocator_desc *);
    void (*delete)(struct tidemark_allocator *);
    int (*allocate)(struct tidemark_allocator *, const struct tidemark_request *, void **);
    find(lib.handle, "tidemark_allocator_new", &new);
    find(lib.handle, "tidemark_allocator_delete", &delete);
    find(lib.handle, "tidemark_allocator_malloc", &allocate);
    char why[128] = "";
    struct tidemark_allocator_desc desc = {.size = sizeof desc,
                                           .device_kind = TIDEMARK_DEVICE_CUDA,
                                           .device_index = 1,
                                           .why = why,
                                           .why_size = sizeof why};
    struct tidemark_allocator *allocator;
    REQUIRE(new (&allocator, &desc) == TIDEMARK_OK);
    struct tidemark_request request = {.size = sizeof request, .bytes = 12 * MIB};
    void *address;
    CHECK_INT(allocate(allocator, &request, &address), TIDEMARK_OK);
    CHECK_INT(lib.cuda->used[1], 12 * MIB);
    delete (allocator);
    CHECK_INT(lib.cuda->used[1], 0);
    CHECK_INT(lib.cuda->events, 0);
    desc.device_index = FAKE_DEVICES;
    CHECK_INT(new (&allocator, &desc), TIDEMARK_NO_DEVICE);
    CHECK(strlen(why) > 0);
    CHECK(allocator == NULL);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 400 };

static void *use(void *argument)
{
    struct library *lib = argument;
    for (int i = 0; i < ROUNDS; i++) {
        size_t bytes = 1 + (size_t)i * 7919 % (3 * MIB);
        void *p = lib->malloc(bytes, 0, NULL);
        REQUIRE(p != NULL && lib->base(p, NULL) != NULL);
        lib->record_stream(p, stream(0x20));
        lib->free(p, bytes, 0, NULL);
    }
    return NULL;
}

/* All of them come at once to a device that has no allocator yet. */
TEST(threads_find_one_allocator)
{
    struct library lib = open_library();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, use, &lib) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    lib.reset();
    CHECK_INT(lib.cuda->used[0], 0);
    CHECK_INT(lib.cuda->allocs, lib.cuda->frees);
    CHECK_INT(lib.cuda->errors, 0);
}

TEST_MAIN(TEST_CASE(tensors_are_cut_out_of_segments), TEST_CASE(nothing_is_asked_for_nothing),
          TEST_CASE(empty_cache_gives_segments_back), TEST_CASE(each_stream_has_blocks_of_its_own),
          TEST_CASE(a_block_waits_for_the_stream_that_uses_it),
          TEST_CASE(a_refusal_is_said_and_gives_null), TEST_CASE(a_free_of_nothing_known_is_said),
          TEST_CASE(a_device_that_is_not_there_is_said_once),
          TEST_CASE(a_fraction_limits_what_is_taken), TEST_CASE(settings_come_from_the_environment),
          TEST_CASE(the_newer_variable_comes_first), TEST_CASE(wrong_settings_are_said_and_left),
          TEST_CASE(segments_come_from_the_driver_one_by_one),
          TEST_CASE(a_program_has_the_device_too), TEST_CASE(threads_find_one_allocator))
