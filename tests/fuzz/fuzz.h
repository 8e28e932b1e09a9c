/*
 * fuzz.h - what the fuzz drivers share. A driver is one function that takes any bytes and must not
 * crash, hang, or break what MUST says. By clang and with -DTIDEMARK_FUZZ=ON it is a libFuzzer
 * target; otherwise replay.c gives it a main() that runs files and folders, once each, so that what
 * was found stays found.
 *
 * Most inputs are small programs: a driver takes its operations and numbers off the front, and what
 * is not there any more is 0.
 */
#ifndef TIDEMARK_TESTS_FUZZ_H
#define TIDEMARK_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* A driver may bring its own; in a replay, some changes of each file are run, too. */
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t count, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t count, size_t most, unsigned seed);

#define MUST(what)                                                                                 \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #what);               \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

struct fuzz_input {
    const uint8_t *at;
    size_t left;
};

/* Little-endian; what is missing is 0. */
static inline uint64_t fuzz_number(struct fuzz_input *input, size_t bytes)
{
    uint64_t value = 0;
    size_t n = bytes < input->left ? bytes : input->left;
    for (size_t i = 0; i < n; i++)
        value |= (uint64_t)input->at[i] << (8 * i);
    input->at += n;
    input->left -= n;
    return value;
}

static inline uint8_t fuzz_byte(struct fuzz_input *input)
{
    return (uint8_t)fuzz_number(input, 1);
}

/* Borrowed; *count may come out smaller. */
static inline const uint8_t *fuzz_bytes(struct fuzz_input *input, size_t *count)
{
    const uint8_t *at = input->at;
    *count = *count < input->left ? *count : input->left;
    input->at += *count;
    input->left -= *count;
    return at;
}

/* A folder of this run's own, in memory where there is a file system for that; made by the first
 * call and removed, with all files in it, at exit. */
const char *fuzz_folder(void);

/* Copies `count` bytes to where no byte behind them can be touched; `place` is 0 or 1, and each has
 * room for FUZZ_GUARD_BYTES. Valid until the next call for that place. */
#define FUZZ_GUARD_PLACES 2u
#define FUZZ_GUARD_BYTES 4096u
void *fuzz_guard(unsigned place, const void *bytes, size_t count);
/* An address that must not be read. */
const void *fuzz_guard_end(void);

#endif
