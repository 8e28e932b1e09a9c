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

#define ROW_CELLS 19 /* the most that a statement has */
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

/* Columns. */
enum {
    PROCESS_START = SCH_AT(process, start_ns),
    PROCESS_END = SCH_AT(process, end_ns),
    PROCESS_ENDED = SCH_AT(process, ended),
    PROCESS_EXIT = SCH_AT(process, exit_code),
    PROCESS_FIRST = SCH_AT(process, first_seq),
    PROCESS_LAST = SCH_AT(process, last_seq),
    PROCESS_EVENTS = SCH_AT(process, events),
    PHASE_PROCESS_ID = SCH_AT(phase, process),
    PHASE_THREAD_ID = SCH_AT(phase, thread),
    PHASE_PARENT = SCH_AT(phase, parent),
    PHASE_ORDINAL = SCH_AT(phase, ordinal),
    PHASE_KIND = SCH_AT(phase, kind),
    PHASE_NAME = SCH_AT(phase, name),
    PHASE_STEP = SCH_AT(phase, step),
    PHASE_BEGIN_SEQ = SCH_AT(phase, begin_seq),
    PHASE_END_SEQ = SCH_AT(phase, end_seq),
    PHASE_BEGIN_NS = SCH_AT(phase, begin_ns),
    PHASE_END_NS = SCH_AT(phase, end_ns),
    PHASE_SCOPE = SCH_AT(phase, scope),
    PHASE_ENDED = SCH_AT(phase, ended),
    PHASE_DOMAIN = SCH_AT(phase, domain),
    PHASE_SETTLED = SCH_AT(phase, settled),
    PART_BEGIN_ALLOCATED = SCH_AT(phase_device, begin_allocated),
    PART_ALLOCATED = SCH_AT(phase_device, allocated),
    PART_REQUESTED = SCH_AT(phase_device, requested),
    PART_ACTIVE = SCH_AT(phase_device, active),
    PART_RESERVED = SCH_AT(phase_device, reserved),
    PART_SPLIT = SCH_AT(phase_device, inactive_split),
    PART_MAX = SCH_AT(phase_device, max_allocated),
    PART_MAX_SEQ = SCH_AT(phase_device, max_allocated_seq),
    PART_MAX_RESERVED = SCH_AT(phase_device, max_reserved),
    PART_PEAK = SCH_AT(phase_device, peak_allocated),
    PART_PEAK_SEQ = SCH_AT(phase_device, peak_seq),
    PART_PEAK_NS = SCH_AT(phase_device, peak_ns),
    PART_PEAK_RESERVED = SCH_AT(phase_device, peak_reserved),
    PART_ALLOCS = SCH_AT(phase_device, allocs),
    PART_FREES = SCH_AT(phase_device, frees),
    PART_BYTES = SCH_AT(phase_device, alloc_bytes),
    DEVICE_TOTAL_BYTES = SCH_AT(device, total_bytes),
    MEMORY_DEVICE = SCH_AT(driver_memory, device),
    MEMORY_KIND = SCH_AT(driver_memory, kind),
    MEMORY_ADDRESS = SCH_AT(driver_memory, address),
    MEMORY_SIZE = SCH_AT(driver_memory, size),
    MEMORY_CALL = SCH_AT(driver_memory, call),
    MEMORY_LIBRARY = SCH_AT(driver_memory, library),
    MEMORY_STREAM = SCH_AT(driver_memory, stream),
    MEMORY_ALLOC_NS = SCH_AT(driver_memory, alloc_ns),
    MEMORY_LIFE = SCH_AT(driver_memory, life_ns),
    MEMORY_FREE_SEQ = SCH_AT(driver_memory, free_seq),
    MEMORY_SITE = SCH_AT(driver_memory, site),
    MEMORY_HEAP = SCH_AT(driver_memory, heap),
    MEMORY_BLOCKS = SCH_AT(driver_memory, blocks),
    GAP_SOURCE = SCH_AT(gap, source),
    GAP_LAST_SEQ = SCH_AT(gap, last_seq),
    GAP_END_NS = SCH_AT(gap, end_ns),
    GAP_WHY = SCH_AT(gap, why),
    ANOMALY_KIND = SCH_AT(anomaly, kind),
    ANOMALY_ADDRESS = SCH_AT(anomaly, address),
    ANOMALY_DETAIL = SCH_AT(anomaly, detail),
};

#endif
