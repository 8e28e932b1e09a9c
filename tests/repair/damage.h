/*
 * damage.h - recordings to be damaged, and what of them came out of a repair.
 */
#ifndef TIDEMARK_TESTS_DAMAGE_H
#define TIDEMARK_TESTS_DAMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"

#define DAMAGE_TABLES 64

/* The recording of a made-up loop with every kind of row; `page_bytes` 0: as db_create makes it.
 * Long texts in it need overflow pages. */
void damage_make(const char *path, uint64_t steps, uint32_t page_bytes);

/* A file in memory, of which damaged copies are written. */
struct damage_file {
    unsigned char *bytes;
    size_t count;
    uint32_t page_bytes, pages;
};
struct damage_file damage_read(const char *path);
void damage_write(const char *path, const unsigned char *bytes, size_t count);

/* Where rows go, beside the whole recording for comparing. */
struct damage_bench {
    struct db *db; /* `whole` is attached */
    size_t tables;
    char name[DAMAGE_TABLES][32];
    int64_t whole[DAMAGE_TABLES]; /* rows of it */
};
struct damage_bench damage_bench(const char *whole);
/* Salvages `path` into the bench; what was there before is deleted. Wrong rows fail the test.
 * *lost: rows of each table that are not there; the sum is returned. */
int64_t damage_salvage(struct damage_bench *bench, const char *path, int64_t *lost);
int64_t damage_int(struct db *db, const char *sql);

/* How many rows stand on a page or below it, by SQLite's own account; -1: it cannot tell. */
int64_t damage_below(struct damage_bench *bench, uint32_t page);
bool damage_is_text(struct damage_bench *bench, uint32_t page); /* it holds the rest of a row */
/* The table to which the page belongs; "" = none. */
const char *damage_owner(struct damage_bench *bench, uint32_t page);

#endif
