/* rows.h - running a sample and reading what it printed with --csv. */
#ifndef TIDEMARK_TESTS_SAMPLES_ROWS_H
#define TIDEMARK_TESTS_SAMPLES_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ROWS_MOST = 256 };

struct row {
    int64_t step; /* -1 before the first step */
    char phase[16];
    int64_t allocated, max_allocated, reserved, max_reserved;
    int64_t unsplit; /* only in what the sample prints itself, else 0 */
};

struct rows {
    size_t count;
    struct row row[ROWS_MOST];
};

/* Runs the command line and reads its rows from `command`'s stdout. Returns its exit status, or -1
 * when it could not be run, died, or printed something else. */
int rows_run(const char *command, struct rows *rows);
/* Reads rows from a file, with or without a title; false when it is no such file. */
bool rows_read(const char *path, struct rows *rows);
/* The row of a phase in a step; fails the test when there is none. */
const struct row *rows_find(const struct rows *rows, int64_t step, const char *phase);

#endif
