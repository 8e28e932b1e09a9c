/* CUDA's libraries as a program meets them: what it is handed, and gives back. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "stand_in.h"

/* ---- the tables of rehearsal/libs ---- */

struct entry {
    const char *name;
    unsigned argument; /* with the handle, or where it goes to */
};

#define SUCCEED(name)
#define SUCCEED_OF(name, n)
#define SETS(name)
#define WRITES(name)
#define REFUSE(name)
#define RESULT(name, i, bytes)
#define COUNT(name, i, bytes)
#define ZERO32(name, i)
#define ZERO64(name, i)
#define ZERO64_2(name, i, j)
#define STUB(name, value)
#define DESTROY(name, i)
#define HANDLE(name, i) {#name, i},
static const struct entry made[] = {
#include "blas.def"
#include "cupti.def"
#include "dnn.def"
#include "driver.def"
#include "fft.def"
#include "nccl.def"
#include "other.def"
#include "runtime.def"
#include "solver.def"
#include "sparse.def"
};
#undef DESTROY
#undef HANDLE
#define DESTROY(name, i) {#name, i},
#define HANDLE(name, i)
static const struct entry destroyed[] = {
#include "blas.def"
#include "cupti.def"
#include "dnn.def"
#include "driver.def"
#include "fft.def"
#include "nccl.def"
#include "other.def"
#include "runtime.def"
#include "solver.def"
#include "sparse.def"
};

static uint64_t call(const struct entry *entry, uint64_t word)
{
    uint64_t (*function)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
    uint64_t a[6] = {0};
    any_function *found = find(entry->name);
    memcpy(&function, &found, sizeof function);
    REQUIRE(entry->argument < sizeof a / sizeof *a);
    a[entry->argument] = word;
    return function(a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void maker_of(const char *name, char *maker, size_t room)
{
    static const char *const pairs[][2] = {{"Destroy", "Create"},
                                           {"destroy", "create"},
                                           {"Deregister", "Register"},
                                           {"Unload", "LoadData"}};
    snprintf(maker, room, "%s", name);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const char *at = strstr(name, pairs[i][0]);
        if (!at)
            continue;
        snprintf(maker, room, "%.*s%s%s", (int)(at - name), name, pairs[i][1],
                 at + strlen(pairs[i][0]));
        return;
    }
}

static const struct entry *find_maker(const char *name)
{
    char maker[128];
    maker_of(name, maker, sizeof maker);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (strcmp(made[i].name, maker) == 0)
            return &made[i];
    fprintf(stderr, "%s destroys what no %s of the tables has made\n", name, maker);
    return NULL;
}

TEST(what_a_table_destroys_a_table_has_made)
{
    open_stand_in("gpu=t4");
    for (size_t i = 0; i < sizeof destroyed / sizeof *destroyed; i++) {
        const struct entry *maker = find_maker(destroyed[i].name);
        uint64_t handle = 0;
        CHECK(maker != NULL);
        if (!maker)
            continue;
        CHECK_INT(call(maker, (uint64_t)(uintptr_t)&handle), 0);
        CHECK(handle != 0);
        CHECK_INT(call(&destroyed[i], handle), 0);
    }
}

/* ---- cuFFT ---- */

TEST(a_plan_is_a_number)
{
    int plan = 0, other = 0;
    open_stand_in("gpu=t4");
    CHECK_INT(CALL(int, cufftCreate, (int *), (&plan)), 0);
    CHECK_INT(CALL(int, cufftCreate, (int *), (&other)), 0);
    CHECK(plan != other);
    CHECK_INT(CALL(int, cufftDestroy, (int), (plan)), 0);
    CHECK_INT(CALL(int, cufftDestroy, (int), (other)), 0);
}

/* ---- what is on the host ---- */

/* PyTorch asserts that these are 0. */
TEST(a_batch_went_well)
{
    int info[2] = {7, 7};
    void *none[1] = {NULL};
    open_stand_in("gpu=t4");
    CHECK_INT(CALL(int, cublasSgeqrfBatched, (void *, int, int, void **, int, void **, int *, int),
                   (NULL, 2, 2, none, 2, none, info, 1)),
              0);
    CHECK(info[0] == 0 && info[1] == 7);
    info[0] = 7;
    CHECK_INT(CALL(int, cublasDgelsBatched,
                   (void *, int, int, int, int, void **, int, void **, int, int *, int *, int),
                   (NULL, 0, 2, 2, 1, none, 2, none, 2, info, NULL, 1)),
              0);
    CHECK(info[0] == 0 && info[1] == 7);
    info[0] = 7;
    CHECK_INT(CALL(int, cublasZgetrsBatched,
                   (void *, int, int, int, void **, int, int *, void **, int, int *, int),
                   (NULL, 0, 2, 1, none, 2, NULL, none, 2, info, 1)),
              0);
    CHECK(info[0] == 0 && info[1] == 7);
}

TEST(an_algorithm_is_the_programs_memory)
{
    uint64_t algorithm[9];
    size_t written = 7;
    int value = 7;
    open_stand_in("gpu=t4");
    memset(algorithm, 7, sizeof algorithm);
    uint64_t behind = algorithm[8];
    CHECK_INT(CALL(int, cublasLtMatmulAlgoInit, (void *, int, int, int, int, int, int, int, void *),
                   (NULL, 0, 0, 0, 0, 0, 0, 1, algorithm)),
              0);
    for (size_t i = 0; i < 8; i++)
        CHECK_INT(algorithm[i], 0);
    CHECK(algorithm[8] == behind);
    CHECK_INT(CALL(int, cublasLtMatmulAlgoConfigGetAttribute,
                   (const void *, int, void *, size_t, size_t *),
                   (algorithm, 0, &value, sizeof value, &written)),
              0);
    CHECK_INT(value, 0);
    CHECK_INT(written, sizeof value);
}

TEST(a_sparse_matrix_knows_its_size)
{
    void *matrix = NULL;
    int64_t rows = 7, columns = 7, elements = 7;
    int sum = 7;
    open_stand_in("gpu=t4");
    CHECK_INT(CALL(int, cusparseCreateCsr, (void **, int64_t, int64_t, int64_t, void *),
                   (&matrix, 5, 6, 11, NULL)),
              0);
    CHECK_INT(CALL(int, cusparseSpMatGetSize, (void *, int64_t *, int64_t *, int64_t *),
                   (matrix, &rows, &columns, &elements)),
              0);
    CHECK(rows == 5 && columns == 6 && elements == 11);
    CHECK_INT(CALL(int, cusparseDestroySpMat, (void *), (matrix)), 0);
    CHECK_INT(CALL(int, cusparseXcsrgeam2Nnz,
                   (void *, int, int, void *, int, void *, void *, void *, int, void *, void *,
                    void *, void *, int *, void *),
                   (NULL, 5, 6, NULL, 3, NULL, NULL, NULL, 4, NULL, NULL, NULL, NULL, &sum, NULL)),
              0);
    CHECK_INT(sum, 0);
}

/* ---- cuDNN ---- */

struct choice {
    int algorithm, status;
    float time;
    size_t memory;
    int deterministic, math, reserved[3];
};

TEST(a_convolution_has_an_algorithm)
{
    struct choice choices[2];
    int count = 7;
    open_stand_in("gpu=t4");
    memset(choices, 7, sizeof choices);
    CHECK_INT(CALL(int, cudnnGetConvolutionForwardAlgorithm_v7,
                   (void *, void *, void *, void *, void *, int, int *, struct choice *),
                   (NULL, NULL, NULL, NULL, NULL, 2, &count, choices)),
              0);
    CHECK(count == 1 && choices[0].status == 0 && choices[0].memory == 0);
    CHECK_INT(choices[1].status, 0x07070707);
    memset(choices, 7, sizeof choices);
    CHECK_INT(CALL(int, cudnnFindConvolutionBackwardFilterAlgorithmEx,
                   (void *, void *, void *, void *, void *, void *, void *, void *, int, int *,
                    struct choice *, void *, size_t),
                   (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2, &count, choices, NULL, 0)),
              0);
    CHECK(count == 1 && choices[0].status == 0 && choices[0].deterministic == 1);
}

/* ---- what there is none of ---- */

TEST(what_is_not_made_is_refused)
{
    void *handed = NULL;
    open_stand_in("gpu=t4");
    CHECK(CALL(int, ncclCommShrink, (void *, int *, int, void **, void *, int),
               (NULL, NULL, 0, &handed, NULL, 0)) != 0);
    CHECK(CALL(int, ncclParamGetAllParameterKeys, (void **, int *), (NULL, NULL)) != 0);
    CHECK(CALL(int, cudaGraphAddNode, (void **, void *, void *, void *, size_t, void *),
               (&handed, NULL, NULL, NULL, 0, NULL)) != 0);
}

static void has_no_dependencies(const char *settings, bool with_edges)
{
    size_t count = 7;
    open_stand_in(settings);
    if (with_edges)
        CALL(int, cudaGraphNodeGetDependencies, (void *, void **, void *, size_t *),
             (NULL, NULL, NULL, &count));
    else
        CALL(int, cudaGraphNodeGetDependencies, (void *, void **, size_t *), (NULL, NULL, &count));
    CHECK_INT(count, 0);
}

TEST(a_node_of_cuda_12_depends_on_none)
{
    has_no_dependencies("gpu=t4;cuda=12", false);
}

TEST(a_node_of_cuda_13_depends_on_none)
{
    has_no_dependencies("gpu=t4;cuda=13", true);
}

TEST_MAIN(TEST_CASE(what_a_table_destroys_a_table_has_made), TEST_CASE(a_plan_is_a_number),
          TEST_CASE(a_batch_went_well), TEST_CASE(an_algorithm_is_the_programs_memory),
          TEST_CASE(a_sparse_matrix_knows_its_size), TEST_CASE(a_convolution_has_an_algorithm),
          TEST_CASE(what_is_not_made_is_refused), TEST_CASE(a_node_of_cuda_12_depends_on_none),
          TEST_CASE(a_node_of_cuda_13_depends_on_none))
