#include "living.h"

#include "error.h"
#include "group.h"

/* CROSS JOIN keeps SQLite to this order: a few keys, then rows by them. UNION, where UNION ALL
 * would say the same, keeps it from planning each half on its own: the half without a keyframe
 * looked so small to it that it searched all phases for each block. */
static const char living_sql[] =
    "WITH base(seq) AS (SELECT coalesce((SELECT max(seq) FROM keyframe WHERE seq <= ?3), -1)),"
    " living(seq) AS ("
    "  SELECT a.seq FROM base CROSS JOIN keyframe k ON k.seq = base.seq"
    "   CROSS JOIN allocation a ON a.seq = k.allocation CROSS JOIN heap h ON h.id = a.heap"
    "   WHERE (a.free_seq < 0 OR a.free_seq > ?3) AND h.process = ?1 AND h.device = ?2"
    "  UNION"
    "  SELECT a.seq FROM base CROSS JOIN allocation a ON a.seq > base.seq AND a.seq <= ?3"
    "   CROSS JOIN heap h ON h.id = a.heap"
    "   WHERE (a.free_seq < 0 OR a.free_seq > ?3) AND h.process = ?1 AND h.device = ?2)"
    "SELECT a.allocation, a.size, a.requested, a.site_id, a.phase_id, a.tag_id, a.alloc_ns,"
    "  a.free_seq, a.address, a.heap, a.segment, c.category, c.rule FROM living"
    " CROSS JOIN allocations a ON a.allocation = living.seq"
    " CROSS JOIN allocation_category c ON c.allocation = living.seq";

static void take_row(struct db_stmt *row, struct living_block *block)
{
    *block = (struct living_block){
        .seq = db_column_int(row, 0),
        .size = db_column_int(row, 1),
        .requested = column_known(row, 2),
        .site = column_known(row, 3),
        .phase = column_known(row, 4),
        .tag = column_known(row, 5),
        .alloc_ns = db_column_int(row, 6),
        .free_seq = column_known(row, 7),
        .address = db_column_int(row, 8),
        .heap = db_column_int(row, 9),
        .segment = column_known(row, 10),
        .category = db_column_text(row, 11),
        .rule = db_column_text(row, 12),
    };
}

int living_read(struct db *db, int64_t process, int64_t device, int64_t seq,
                bool (*see)(void *self, const struct living_block *block), void *self)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, living_sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, process);
    db_bind_int(stmt, 1, device);
    db_bind_int(stmt, 2, seq);
    while ((err = db_step(stmt)) == DB_ROW) {
        struct living_block block;
        take_row(stmt, &block);
        if (!see(self, &block)) {
            err = ERR_NOMEM;
            break;
        }
    }
    db_finalize(stmt);
    return err < 0 ? err : 0;
}
