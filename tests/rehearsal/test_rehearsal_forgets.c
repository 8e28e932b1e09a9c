/* What is forgotten of device memory by kernels that come from the driver, and by graphs: as much
 * as they may write, and no more. */
#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stand_in.h"

#define X 0
#define Y 4096

static char *on_device;

static void copy(void *to, const void *from, size_t bytes)
{
    CHECK_INT(CALL(int, cudaMemcpy, (void *, const void *, size_t, int), (to, from, bytes, 4)), 0);
}

static int64_t number_at(size_t offset)
{
    int64_t value = -1;
    copy(&value, on_device + offset, sizeof value);
    return value;
}

static void put_numbers(void)
{
    const int64_t five = 5;
    copy(on_device + X, &five, sizeof five);
    copy(on_device + Y, &five, sizeof five);
}

static void start(void)
{
    void *p;
    REQUIRE(setenv("TIDEMARK_REHEARSAL", "gpu=a100-40gb", 1) == 0);
    library = dlopen(getenv("TIDEMARK_STANDIN"), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != NULL);
    REQUIRE(CALL(int, cudaMalloc, (void **, size_t), (&p, 1 << 20)) == 0);
    on_device = p;
    put_numbers();
}

/* ---- an image with one kernel: an address and a number of four bytes ---- */

struct parameter {
    uint8_t format, kind;
    uint16_t bytes;
    uint32_t index;
    uint16_t ordinal, offset;
    uint32_t size;
};

static const char names[] = "\0.shstrtab\0.nv.info.scale";

struct image {
    Elf64_Ehdr elf;
    Elf64_Shdr sections[3];
    struct parameter parameters[2];
    char names[sizeof names];
};

static struct image image_with(uint32_t second)
{
    struct image image = {.elf = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
                                  .e_machine = 190,
                                  .e_shoff = offsetof(struct image, sections),
                                  .e_shentsize = sizeof(Elf64_Shdr),
                                  .e_shnum = 3,
                                  .e_shstrndx = 1},
                          .sections = {{0},
                                       {.sh_name = 1,
                                        .sh_offset = offsetof(struct image, names),
                                        .sh_size = sizeof names},
                                       {.sh_name = 11,
                                        .sh_offset = offsetof(struct image, parameters),
                                        .sh_size = 2 * sizeof(struct parameter)}},
                          .parameters = {{4, 0x17, 12, 0, (uint16_t)second, 8, UINT32_C(4) << 18},
                                         {4, 0x17, 12, 0, 0, 0, UINT32_C(8) << 18}}};
    memcpy(image.names, names, sizeof names);
    return image;
}

static void *load(const struct image *image, const char *name)
{
    void *module = NULL, *function = NULL;
    CHECK_INT(CALL(int, cuModuleLoadData, (void **, const void *), (&module, image)), 0);
    CHECK_INT(
        CALL(int, cuModuleGetFunction, (void **, void *, const char *), (&function, module, name)),
        0);
    return function;
}

static void launch(void *function, void *stream)
{
    uint64_t at = (uint64_t)(uintptr_t)(on_device + X);
    int32_t number = 3;
    void *arguments[] = {&at, &number};
    CHECK_INT(CALL(int, cuLaunchKernel,
                   (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                    void *, void **, void **),
                   (function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL)),
              0);
}

TEST(a_kernel_of_an_image_forgets_what_it_is_led_to)
{
    struct image image = image_with(1);
    start();
    launch(load(&image, "scale"), NULL);
    CHECK_INT(number_at(X), 0);
    CHECK_INT(number_at(Y), 5);
}

TEST(one_that_is_not_there_forgets_everything)
{
    struct image image = image_with(1);
    start();
    launch(load(&image, "other"), NULL);
    CHECK_INT(number_at(Y), 0);
}

TEST(one_with_a_gap_in_its_parameters_forgets_everything)
{
    struct image image = image_with(2);
    start();
    launch(load(&image, "scale"), NULL);
    CHECK_INT(number_at(Y), 0);
}

/* ---- graphs ---- */

static void *capture(void *function)
{
    void *stream, *graph = NULL, *exec = NULL;
    CHECK_INT(CALL(int, cudaStreamCreate, (void **), (&stream)), 0);
    CHECK_INT(CALL(int, cudaStreamBeginCapture, (void *, int), (stream, 0)), 0);
    if (function)
        launch(function, stream);
    else
        CHECK_INT(CALL(int, cudaMemsetAsync, (void *, int, size_t, void *),
                       (on_device + X, 1, 8, stream)),
                  0);
    CHECK_INT(CALL(int, cudaStreamEndCapture, (void *, void **), (stream, &graph)), 0);
    CHECK_INT(
        CALL(int, cudaGraphInstantiate, (void **, void *, unsigned long long), (&exec, graph, 0)),
        0);
    CHECK_INT(CALL(int, cudaGraphDestroy, (void *), (graph)), 0);
    return exec;
}

static void replay(void *exec)
{
    put_numbers();
    CHECK_INT(CALL(int, cudaGraphLaunch, (void *, void *), (exec, NULL)), 0);
}

TEST(a_graph_forgets_where_it_writes_each_time)
{
    start();
    void *exec = capture(NULL);
    CHECK_INT(number_at(X), 5); /* nothing ran */
    for (int i = 0; i < 2; i++) {
        replay(exec);
        CHECK_INT(number_at(X), 0);
        CHECK_INT(number_at(Y), 5);
    }
    CHECK_INT(CALL(int, cudaGraphExecDestroy, (void *), (exec)), 0);
}

TEST(a_graph_has_kernels_of_images_too)
{
    struct image image = image_with(1);
    start();
    void *exec = capture(load(&image, "scale"));
    CHECK_INT(number_at(X), 5);
    replay(exec);
    CHECK_INT(number_at(X), 0);
    CHECK_INT(number_at(Y), 5);
    replay(capture(load(&image, "other")));
    CHECK_INT(number_at(Y), 0);
}

/* ---- variables of a binary ---- */

TEST(a_variable_goes_with_its_binary)
{
    static int symbol;
    void *address = NULL, **binary;
    start();
    binary = CALL(void **, __cudaRegisterFatBinary, (void *), (&symbol));
    CALL(void, __cudaRegisterVar,
         (void **, const void *, const void *, const char *, int, size_t, int, int),
         (binary, &symbol, NULL, "symbol", 0, 4, 0, 0));
    CHECK_INT(CALL(int, cudaGetSymbolAddress, (void **, const void *), (&address, &symbol)), 0);
    CALL(void, __cudaUnregisterFatBinary, (void **), (binary));
    CHECK_INT(CALL(int, cudaGetSymbolAddress, (void **, const void *), (&address, &symbol)), 13);
}

TEST_MAIN(TEST_CASE(a_kernel_of_an_image_forgets_what_it_is_led_to),
          TEST_CASE(one_that_is_not_there_forgets_everything),
          TEST_CASE(one_with_a_gap_in_its_parameters_forgets_everything),
          TEST_CASE(a_graph_forgets_where_it_writes_each_time),
          TEST_CASE(a_graph_has_kernels_of_images_too), TEST_CASE(a_variable_goes_with_its_binary))
