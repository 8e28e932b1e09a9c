#include "living.h"

#include "error.h"
#include "group.h"
#include "span.h"

/* Two questions, asked one after the other: what the last keyframe names, row by row in the order
 * of the keys, and the rows behind it. CROSS JOIN keeps SQLite to that order. The heaps are a
 * handful. */
#define COLUMNS                                                                                    \
    "SELECT a.seq, a.size, a.requested, a.site, a.tag, a.alloc_ns, a.free_seq, a.address, a.heap," \
    "  a.segment, ap.phase, a.module"
#define LIVES                                                                                      \
    "  LEFT JOIN allocation_phase ap ON ap.allocation = a.seq"                                     \
    " WHERE (a.free_seq < 0 OR a.free_seq > ?3)"                                                   \
    "   AND a.heap IN (SELECT id FROM heap WHERE process = ?1 AND device = ?2)"

static const char kept_sql[] = COLUMNS
    " FROM keyframe k CROSS JOIN allocation a ON a.seq = k.allocation" LIVES " AND k.seq = ?4"
    "   AND k.allocation >= " SPAN_FIRST;

static const char since_sql[] =
    COLUMNS " FROM allocation a" LIVES " AND a.seq > max(?4, " SPAN_FIRST " - 1) AND a.seq <= ?3";

struct reading {
    struct db *db;
    int64_t process, device, seq;
    int64_t frame; /* seq of the keyframe, -1 = none */
    struct category_rules *rules;
    bool (*see)(void *self, const struct living_block *block);
    void *self;
};

static int read_row(struct reading *reading, struct db_stmt *row)
{
    struct category_verdict verdict;
    struct living_block block = {
        .seq = db_column_int(row, 0),
        .size = db_column_size(row, 1),
        .requested = column_known(row, 2),
        .site = column_known(row, 3),
        .tag = column_known(row, 4),
        .alloc_ns = db_column_int(row, 5),
        .free_seq = db_column_int(row, 6),
        .address = db_column_any(row, 7),
        .heap = db_column_int(row, 8),
        .segment = column_known(row, 9),
        .module = column_known(row, 11),
    };
    struct category_block asked = {block.seq, block.free_seq, block.tag, column_known(row, 10),
                                   block.size};
    int err = category_decide(reading->rules, &asked, &verdict);
    if (err < 0)
        return err;
    block.free_seq = block.free_seq < 0 ? LIVING_NONE : block.free_seq;
    block.phase = verdict.born;
    block.purpose = verdict.purpose;
    block.by = verdict.by;
    block.rule = verdict.rule;
    return reading->see(reading->self, &block) ? 0 : ERR_NOMEM;
}

static int read_rows(struct reading *reading, const char *sql)
{
    struct db_stmt *row = NULL;
    int err = db_prepare(reading->db, &row, sql);
    if (err < 0)
        return err;
    db_bind_int(row, 0, reading->process);
    db_bind_int(row, 1, reading->device);
    db_bind_int(row, 2, reading->seq);
    db_bind_int(row, 3, reading->frame);
    while ((err = db_step(row)) == DB_ROW && (err = read_row(reading, row)) >= 0)
        ;
    db_finalize(row);
    return err < 0 ? err : 0;
}

static int find_frame(struct reading *reading)
{
    struct db_stmt *row = NULL;
    int err = db_prepare(reading->db, &row, "SELECT max(seq) FROM keyframe WHERE seq <= ?");
    if (err < 0)
        return err;
    db_bind_int(row, 0, reading->seq);
    err = db_step(row);
    reading->frame =
        err == DB_ROW && db_column_type(row, 0) != DB_NULL ? db_column_int(row, 0) : -1;
    db_finalize(row);
    return err < 0 ? err : 0;
}

int living_read(struct db *db, int64_t process, int64_t device, int64_t seq,
                bool (*see)(void *self, const struct living_block *block), void *self)
{
    struct reading reading = {
        .db = db, .process = process, .device = device, .seq = seq, .see = see, .self = self};
    int err = find_frame(&reading);
    if (err == 0)
        err = category_load(db, process, &reading.rules);
    if (err == 0)
        err = read_rows(&reading, kept_sql);
    if (err == 0)
        err = read_rows(&reading, since_sql);
    category_free(reading.rules);
    return err;
}
