/*
 * nsys.h - an SQLite export of Nsight Systems, into logs: one for each process that took memory of
 * the driver's.
 *
 * Tables and columns come and go with nsys' versions, and a table is there only if something is in
 * it. So each is looked for by its name and each column by its own; what is missing is not known.
 * Numbers of enumerations are those of the tables that begin with ENUM_, where they are there.
 *
 * A global id is a number of 64 bits: pid in the 24 bits above bit 24, thread in the 24 below.
 */
#ifndef TIDEMARK_IMPORT_NSYS_H
#define TIDEMARK_IMPORT_NSYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "block_log.h"
#include "import.h"
#include "map.h"
#include "rows.h"

#define NSYS_PROCESSES 64u /* with memory of the driver's */
#define NSYS_KINDS 64u     /* numbers of an enumeration */
#define NSYS_MOST_NS (INT64_MAX / 4)
#define NSYS_MOST_BYTES (INT64_C(1) << 46)

struct nsys_process {
    int64_t pid;
    char *name; /* NULL: not known */
    struct block_log log;
    struct map domains; /* number of NVTX -> name of the log */
};

struct nsys_call { /* a row of a call stack */
    uint32_t chain;
    uint32_t symbol, module; /* of `texts` */
    int64_t depth;           /* 0 = innermost */
};

struct nsys {
    struct rows rows;
    struct import_result *result;
    struct nsys_process *processes;
    size_t process_count;
    struct budget budget; /* of what follows */
    struct intern texts;  /* with their NUL */
    struct map strings;   /* id of table StringIds -> number in `texts` */
    struct map wanted;    /* correlation and process -> log's index << 32 | entry */
    struct map chains;    /* id of a call stack -> its number, from 1 on */
    struct nsys_call *calls;
    size_t call_count, call_cap;
    uint8_t memory_kind[NSYS_KINDS]; /* enum driver_memory, 0 = it is left out */
    int8_t operation[NSYS_KINDS];    /* 1 allocation, -1 free, 0 = neither */
    bool destroys[NSYS_KINDS];       /* of pools */
    int64_t total_bytes;             /* of each GPU; 0 = not known, -1 = they differ */
    int64_t started_ns;              /* since 1970; 0 = not known */
    uint64_t loose;                  /* ranges that need not nest, so far */
};

static inline int64_t nsys_pid(int64_t global)
{
    return global >> 24 & 0xffffff;
}

/* A base_err, with result->message. `nsys` is to be cleared in any case. */
int nsys_read(const char *path, struct nsys *nsys, struct import_result *result);
void nsys_clear(struct nsys *nsys);

/* ---- between the files ---- */

struct nsys_process *nsys_process_of(struct nsys *nsys, int64_t pid); /* NULL: not of ours */
/* Walks the table, if it is there; *found (may be NULL) says so. */
int nsys_walk(struct nsys *nsys, const char *table, const char *const *columns, rows_see *see,
              bool *found);
/* The number in `texts`; 0 = not known. */
uint32_t nsys_string(const struct nsys *nsys, const struct rows_value *id);
/* A text of a row, or one of the table of strings, as a name of the log; 0 = there is none. */
int nsys_name(struct nsys *nsys, struct block_log *log, const struct rows_value *text,
              const struct rows_value *id, uint32_t *name);
int nsys_odd(struct nsys *nsys); /* counts a row that is not as it should be; BASE_OK */
bool nsys_is_time(const struct rows_value *value);

int nsys_read_calls(struct nsys *nsys);  /* nsys_calls.c */
int nsys_read_ranges(struct nsys *nsys); /* nsys_ranges.c */

#endif
