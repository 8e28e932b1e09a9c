/*
 * rows.h - the tables that batches would make: each batch is applied in the order that batch.h
 * promises, INSERT OR REPLACE replaces by key, a second INSERT of one key fails the test.
 */
#ifndef TIDEMARK_TESTS_ROWS_H
#define TIDEMARK_TESTS_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batch.h"
#include "map.h"

#define ROW_CELLS 19
#define ROW_NULL BATCH_NULL

struct row {
    int64_t at[ROW_CELLS]; /* ROW_NULL for NULL and for text */
    char *text[ROW_CELLS]; /* NULL for what is no text */
};

struct row_table {
    struct row *rows;
    size_t count, cap;
    struct map by_key; /* hash of the key -> index */
};

struct rows {
    struct row_table tables[SCH_STATEMENT_COUNT];
    struct batch_alloc *allocs; /* by seq */
    size_t alloc_count, alloc_cap;
    int64_t settled; /* phases so far */
};

void rows_apply(struct rows *rows, const struct batch *batch);
void rows_clear(struct rows *rows);
/* NULL if there is none. */
const struct batch_alloc *rows_alloc(const struct rows *rows, int64_t seq);
/* The row whose first cells are these; `count` of them. */
const struct row *rows_find(const struct rows *rows, enum sch_statement table, size_t count,
                            const int64_t *keys);
/* In the order in which they began. */
const struct row *rows_phase(const struct rows *rows, const char *name, size_t nth);
const struct row *rows_phase_device(const struct rows *rows, int64_t phase, int64_t device);
size_t rows_anomalies(const struct rows *rows, const char *kind);
const struct row *rows_anomaly(const struct rows *rows, const char *kind, size_t nth);
int64_t rows_lost(const struct rows *rows, const char *kind); /* sum of n */

/* Columns, by the order in 001_facts.sql. */
enum {
    PROCESS_START = 4,
    PROCESS_END = 5,
    PROCESS_ENDED = 13,
    PROCESS_EXIT = 14,
    PROCESS_FIRST = 16,
    PROCESS_LAST = 17,
    PROCESS_EVENTS = 18,
    PHASE_PROCESS_ID = 1,
    PHASE_THREAD_ID = 2,
    PHASE_PARENT = 3,
    PHASE_ORDINAL = 4,
    PHASE_KIND = 5,
    PHASE_NAME = 6,
    PHASE_STEP = 7,
    PHASE_BEGIN_SEQ = 8,
    PHASE_END_SEQ = 9,
    PHASE_BEGIN_NS = 10,
    PHASE_END_NS = 11,
    PHASE_SCOPE = 12,
    PHASE_ENDED = 13,
    PHASE_DOMAIN = 14,
    PHASE_SETTLED = 15,
    PART_BEGIN_ALLOCATED = 2,
    PART_ALLOCATED = 3,
    PART_REQUESTED = 4,
    PART_ACTIVE = 5,
    PART_RESERVED = 6,
    PART_SPLIT = 7,
    PART_MAX = 8,
    PART_MAX_SEQ = 9,
    PART_MAX_RESERVED = 10,
    PART_PEAK = 11,
    PART_PEAK_SEQ = 12,
    PART_PEAK_NS = 13,
    PART_PEAK_RESERVED = 14,
    PART_ALLOCS = 15,
    PART_FREES = 16,
    PART_BYTES = 17,
    DEVICE_TOTAL_BYTES = 4,
    MEMORY_DEVICE = 2,
    MEMORY_KIND = 3,
    MEMORY_ADDRESS = 4,
    MEMORY_SIZE = 5,
    MEMORY_CALL = 6,
    MEMORY_LIBRARY = 7,
    MEMORY_STREAM = 8,
    MEMORY_ALLOC_NS = 9,
    MEMORY_LIFE = 10,
    MEMORY_FREE_SEQ = 11,
    MEMORY_SITE = 12,
    MEMORY_HEAP = 13,
    MEMORY_BLOCKS = 14,
    GAP_SOURCE = 2,
    GAP_LAST_SEQ = 3,
    GAP_END_NS = 5,
    GAP_WHY = 6,
    ANOMALY_KIND = 3,
    ANOMALY_ADDRESS = 4,
    ANOMALY_DETAIL = 5,
};

#endif
