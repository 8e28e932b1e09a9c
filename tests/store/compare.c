#include "compare.h"

#include <stdio.h>
#include <string.h>

#include "db.h"
#include "test.h"

const char whole_path[] = "whole.db", thin_path[] = "thin.db";

void compare_answer(const char *path, const char *sql, struct buf *out)
{
    struct db *db;
    struct db_stmt *stmt;
    buf_clear(out);
    REQUIRE(db_open(&db, path) == 0);
    REQUIRE(db_prepare(db, &stmt, sql) == 0);
    while (db_step(stmt) == DB_ROW) {
        for (int i = 0; i < db_columns(stmt); i++)
            buf_print(out, "%s|",
                      db_column_type(stmt, i) == DB_NULL ? "-" : db_column_text(stmt, i));
        buf_text(out, "\n");
    }
    db_finalize(stmt);
    db_close(db);
}

int64_t compare_number(const char *path, const char *sql)
{
    struct buf text = {0};
    compare_answer(path, sql, &text);
    long long value = -1;
    sscanf(buf_string(&text), "%lld", &value);
    buf_clear(&text);
    return value;
}

static const char *const same[] = {
    "SELECT * FROM peak",
    "SELECT * FROM live_at_peak ORDER BY process, device, allocation",
    "SELECT * FROM leak ORDER BY process, site_id",
    "SELECT process, device, kind, phase, phases, ns, allocs, frees, alloc_bytes, phase_peak"
    "  FROM phase_total ORDER BY 1, 2, 3, 4",
    "SELECT process, device, site_id, blocks, bytes, largest FROM site_total ORDER BY 1, 2, 3",
    "SELECT * FROM oom",
    "SELECT * FROM allocations WHERE free_seq IS NULL ORDER BY allocation",
    "SELECT count(*), sum(events) FROM process",
    "SELECT * FROM run_bounds",
    "SELECT * FROM allocations WHERE allocation <"
    "       (SELECT min(begin_seq) FROM phase WHERE step = 10) ORDER BY allocation",
    "SELECT * FROM phase_table WHERE step < 10",
};
#define EARLY 3 /* of these: what is said of the first steps */

/* A sum over rows that are compared already, and half of the time. */
static const char *const same_in_long[] = {"SELECT * FROM peak_by_category"};

/* The first line in which they differ. */
static void tell(const char *sql, const char *whole, const char *thin)
{
    while (*whole && *whole == *thin)
        whole++, thin++;
    fprintf(stderr, "differs: %s\n  whole ...%.200s\n  thin  ...%.200s\n", sql, whole, thin);
}

static void compare_each(const char *const *questions, size_t count)
{
    struct buf whole = {0}, thin = {0};
    for (size_t i = 0; i < count; i++) {
        compare_answer(whole_path, questions[i], &whole);
        compare_answer(thin_path, questions[i], &thin);
        if (strcmp(buf_string(&whole), buf_string(&thin)) != 0)
            tell(questions[i], buf_string(&whole), buf_string(&thin));
        CHECK(strcmp(buf_string(&whole), buf_string(&thin)) == 0);
    }
    buf_clear(&whole);
    buf_clear(&thin);
}

static void compare_some(size_t count)
{
    compare_each(same, count);
    if (test_is_long())
        compare_each(same_in_long, sizeof same_in_long / sizeof *same_in_long);
}

void compare_all(void)
{
    compare_some(sizeof same / sizeof *same);
}

void compare_later(void)
{
    compare_some(sizeof same / sizeof *same - EARLY);
}
