/* What a library asks of CUDA's: files as a compiler makes them, and files that mislead. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf_file.h"
#include "error.h"
#include "fatbin.h"
#include "needs.h"
#include "test.h"

static char folder[] = "/tmp/needs.XXXXXX";

static const char *in_folder(const char *name)
{
    static bool made;
    made = made || mkdtemp(folder) != NULL;
    static char paths[32][128];
    static unsigned next;
    char *path = paths[next++ % 32];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* A shared library of this source. */
static const char *build(const char *name, const char *source)
{
    char command[512];
    FILE *file = fopen(in_folder("source.c"), "we");
    REQUIRE(file && fputs(source, file) >= 0 && fclose(file) == 0);
    snprintf(command, sizeof command, "%s -shared -fPIC -nostdlib -o %s/%s %s/source.c", TEST_CC,
             folder, name, folder);
    REQUIRE(system(command) == 0);
    return in_folder(name);
}

/* Each test is a process, with a folder of its own. */
static void clean_up(void)
{
    static const char *const names[] = {"have.so",  "asks.so",    "inside.so", "outside.so",
                                        "source.c", "changed.so", "fat.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(in_folder(names[i]));
    rmdir(folder);
}

#define STAND_IN                                                                                   \
    "int cudaMalloc(void) { return 0; } int __cudaRegisterFatBinary(void) { return 0; }"
#define KERNELS                                                                                    \
    "__attribute__((section(\".nv_fatbin\"), used)) static const char kernels[16] = {1};"

TEST(what_is_missing_is_named_and_counted)
{
    struct needs needs;
    const char *have = build("have.so", STAND_IN);
    const char *path =
        build("asks.so", "int cudaMalloc(void); int cudaNew(void); int cublasNew(void);"
                         "int customary(void); int cudamanage(void);"
                         "int f(void) { return cudaMalloc() + cudaNew() + cublasNew()"
                         " + customary() + cudamanage(); }");
    REQUIRE(needs_of_file(path, have, &needs) == BASE_OK);
    CHECK_INT(needs.missing, 2);
    CHECK(strstr(needs.names, "cudaNew") && strstr(needs.names, "cublasNew"));
    CHECK(!needs.has_runtime);
    clean_up();
}

TEST(only_the_first_are_named)
{
    struct needs needs;
    const char *have = build("have.so", STAND_IN);
    const char *path = build("asks.so", "int cudaA(void); int cudaB(void); int cudaC(void);"
                                        "int cudaD(void); int cudaE(void); int cudaF(void);"
                                        "int f(void) { return cudaA() + cudaB() + cudaC() + cudaD()"
                                        " + cudaE() + cudaF(); }");
    REQUIRE(needs_of_file(path, have, &needs) == BASE_OK);
    CHECK_INT(needs.missing, 6);
    int commas = 0;
    for (const char *at = needs.names; *at; at++)
        commas += *at == ',';
    CHECK_INT(commas, NEEDS_NAMED - 1);
    clean_up();
}

TEST(a_runtime_inside_is_seen)
{
    struct needs needs;
    const char *have = build("have.so", STAND_IN);
    REQUIRE(needs_of_file(build("inside.so", KERNELS), have, &needs) == BASE_OK);
    CHECK(needs.has_runtime);
    const char *path =
        build("outside.so", KERNELS "int __cudaRegisterFatBinary(void);"
                                    "int f(void) { return __cudaRegisterFatBinary(); }");
    REQUIRE(needs_of_file(path, have, &needs) == BASE_OK);
    CHECK(!needs.has_runtime);
    CHECK_INT(needs.missing, 0);
    CHECK(needs_has_runtime(in_folder("inside.so")));
    CHECK(!needs_has_runtime(path));
    CHECK(!needs_has_runtime(have)); /* no kernels, as NVRTC */
    CHECK(!needs_has_runtime(in_folder("none.so")));
    clean_up();
}

/* A container of these entries, each with 8 bytes of code: as nvcc writes it, as far as it is read.
 */
#define ENTRY(kind, capability) "{" #kind ", 1, 32, 8, {0, 0, 0, " #capability "}, 7},"
#define CONTAINER(name, count, entries)                                                            \
    "__attribute__((section(\".nv_fatbin\"), used, aligned(8))) static const struct { unsigned "   \
    "magic; unsigned short version, header; unsigned long bytes; struct { unsigned short kind, "   \
    "version; unsigned header; unsigned long bytes; unsigned rest[4]; unsigned long code; } "      \
    "e[" #count "]; } " #name " = {0xba55ed50, 1, 16, " #count " * 40, {" entries "}};"

static struct fatbin kernels_of(const char *source, int major, int minor)
{
    struct fatbin fatbin;
    REQUIRE(fatbin_read(build("fat.so", source), major, minor, &fatbin) == BASE_OK);
    CHECK(fatbin_is_valid(&fatbin));
    return fatbin;
}

TEST(kernels_are_for_capabilities)
{
    static const char source[] = CONTAINER(a, 3, ENTRY(2, 75) ENTRY(2, 80) ENTRY(2, 90))
        CONTAINER(b, 3, ENTRY(2, 75) ENTRY(2, 80) ENTRY(2, 90))
            CONTAINER(c, 4, ENTRY(2, 90) ENTRY(2, 75) ENTRY(2, 80) ENTRY(2, 89));
    static const struct {
        int major, minor;
        bool lacks;
    } cases[] = {{6, 0, true}, {7, 0, true},  {7, 5, false}, {8, 0, false}, {8, 6, false},
                 {8, 7, true}, {8, 9, false}, {9, 0, false}, {10, 0, true}, {12, 0, true}};
    char text[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fatbin fatbin = kernels_of(source, cases[i].major, cases[i].minor);
        CHECK_INT(fatbin.containers, 3);
        CHECK_INT(fatbin_lacks(&fatbin), cases[i].lacks);
        fatbin_text(&fatbin, text, sizeof text);
        CHECK_STR(text, "7.5, 8.0, 9.0"); /* one of three has 8.9 */
        fatbin_write(&fatbin, text, sizeof text);
        CHECK_STR(text, "75 80 90");
        CHECK_INT(fatbin_written_lacks(text, cases[i].major, cases[i].minor), cases[i].lacks);
    }
    clean_up();
}

/* The driver compiles PTX for any later capability. */
TEST(ptx_runs_on_what_comes_later)
{
    static const char source[] = CONTAINER(a, 2, ENTRY(2, 80) ENTRY(1, 80));
    struct fatbin fatbin = kernels_of(source, 12, 0);
    char text[64];
    CHECK(!fatbin_lacks(&fatbin));
    fatbin_text(&fatbin, text, sizeof text);
    CHECK_STR(text, "8.0, PTX of 8.0");
    fatbin_write(&fatbin, text, sizeof text);
    CHECK_STR(text, "80 p80");
    CHECK(!fatbin_written_lacks(text, 12, 0) && fatbin_written_lacks(text, 7, 5));
    CHECK(!fatbin_written_lacks("", 6, 0) && !fatbin_written_lacks("8.0, x", 6, 0));
    fatbin = kernels_of(source, 7, 5);
    CHECK(fatbin_lacks(&fatbin));
    clean_up();
}

TEST(containers_that_mislead_end_the_walk)
{
    /* An entry longer than its container, a container longer than the section, and none at all. */
    static const char *const sources[] = {
        CONTAINER(a, 1, "{2, 1, 32, 1ul << 40, {0, 0, 0, 80}, 7}"),
        CONTAINER(a, 1, "{2, 1, 0xffffffff, 8, {0, 0, 0, 80}, 7}"),
        ("__attribute__((section(\".nv_fatbin\"), used)) static const unsigned long a[] = "
         "{0x00100001ba55ed50, ~0ul, 2};"),
        "__attribute__((section(\".nv_fatbin\"), used)) static const unsigned a = 0xba55ed50;",
        "int f(void) { return 0; }"};
    static const size_t containers[] = {1, 1, 0, 0, 0};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct fatbin fatbin = kernels_of(sources[i], 8, 0);
        CHECK_INT(fatbin.containers, containers[i]);
        CHECK_INT(fatbin.runnable, 0);
    }
    clean_up();
}

TEST(names_of_cuda_are_told_from_others)
{
    CHECK(needs_is_of_cuda("cuInit"));
    CHECK(needs_is_of_cuda("cudaMalloc"));
    CHECK(needs_is_of_cuda("__cudaRegisterVar"));
    CHECK(needs_is_of_cuda("ncclAllReduce"));
    CHECK(!needs_is_of_cuda("cut"));
    CHECK(!needs_is_of_cuda("current"));
    CHECK(!needs_is_of_cuda("nvrtcCreateProgram")); /* works without a GPU */
    CHECK(!needs_is_of_cuda(""));
}

TEST(what_is_no_such_file_is_refused)
{
    struct needs needs;
    const char *have = build("have.so", STAND_IN);
    CHECK_INT(needs_of_file(in_folder("none"), have, &needs), ERR_NOTFOUND);
    CHECK_INT(needs_of_file(folder, have, &needs), ERR_CORRUPT);
    CHECK_INT(needs_of_file(in_folder("source.c"), have, &needs), ERR_CORRUPT);
    CHECK_INT(needs_of_file(have, in_folder("none"), &needs), ERR_NOTFOUND);
    clean_up();
}

/* Any bytes changed, and the file cut anywhere: no place outside of it is read. */
TEST(a_file_that_misleads_does_no_harm)
{
    static uint8_t whole[1 << 16], changed[1 << 16];
    const char *have = build("have.so", STAND_IN);
    FILE *file = fopen(have, "re");
    size_t count = file ? fread(whole, 1, sizeof whole, file) : 0;
    uint64_t random = 5;
    struct needs needs;
    REQUIRE(file && count > 1000);
    fclose(file);
    for (int i = 0; i < 2000; i++) {
        size_t bytes = i % 4 == 0 ? 64 + test_random(&random) % (count - 64) : count;
        memcpy(changed, whole, count);
        for (uint64_t n = test_random(&random) % 8; n > 0; n--) {
            size_t end = test_random(&random) % 2 ? 64 : bytes;
            changed[6 + test_random(&random) % (end - 6)] = (uint8_t)test_random(&random);
        }
        file = fopen(in_folder("changed.so"), "we");
        REQUIRE(file && fwrite(changed, 1, bytes, file) == bytes && fclose(file) == 0);
        (void)needs_of_file(in_folder("changed.so"), have, &needs);
        (void)needs_of_file(have, in_folder("changed.so"), &needs);
    }
    CHECK(needs.missing <= count);
    clean_up();
}

TEST_MAIN(TEST_CASE(what_is_missing_is_named_and_counted), TEST_CASE(only_the_first_are_named),
          TEST_CASE(a_runtime_inside_is_seen), TEST_CASE(kernels_are_for_capabilities),
          TEST_CASE(ptx_runs_on_what_comes_later), TEST_CASE(containers_that_mislead_end_the_walk),
          TEST_CASE(names_of_cuda_are_told_from_others), TEST_CASE(what_is_no_such_file_is_refused),
          TEST_CASE(a_file_that_misleads_does_no_harm))
