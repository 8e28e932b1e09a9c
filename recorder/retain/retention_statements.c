/* retention_statements.c - the statements of retention_types.h. */
#include "retention_types.h"

static const char *const texts[RETENTION_STATEMENTS] = {
    [RETENTION_PAGES] = "PRAGMA page_count",
    [RETENTION_FREE_PAGES] = "PRAGMA freelist_count",
    [RETENTION_ROW] = "SELECT heap, site, size, free_seq, seq FROM allocation WHERE seq = ?1",
    [RETENTION_ROWS_OF] = "SELECT heap, site, size, free_seq, seq FROM allocation"
                          " WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq",
    [RETENTION_DROP_ROWS] = "DELETE FROM allocation WHERE seq BETWEEN ?1 AND ?2",
    [RETENTION_DROP_IDLE] = "DELETE FROM idle WHERE allocation BETWEEN ?1 AND ?2",
    [RETENTION_DROP_THEIR_PHASE] =
        "DELETE FROM allocation_phase WHERE allocation BETWEEN ?1 AND ?2",
    [RETENTION_DROP_FRAMES] = "DELETE FROM keyframe WHERE seq BETWEEN ?1 AND ?2",
    [RETENTION_DROP_MARKS] = "DELETE FROM mark WHERE seq BETWEEN ?1 AND ?2 AND process = ?3",
    [RETENTION_DROP_ACTIVITIES] =
        "DELETE FROM activity WHERE seq BETWEEN ?1 AND ?2 AND process = ?3",
    [RETENTION_DROP_DRIVER] = "DELETE FROM driver_memory WHERE seq BETWEEN ?1 AND ?2"
                              " AND process = ?3 AND free_seq BETWEEN ?1 AND ?2"
                              " AND kind IN ('async', 'graph')",
    [RETENTION_DROP_SAMPLES] =
        "WITH mine(begin_ns, end_ns) AS (SELECT min(ph.begin_ns), max(ph.end_ns) FROM stretch st"
        "   JOIN phase ph ON ph.id = st.phase"
        "  WHERE st.process = ?3 AND st.begin_seq BETWEEN ?1 AND ?2)"
        " DELETE FROM sample WHERE process = ?3 AND at_ns > (SELECT begin_ns FROM mine)"
        "   AND at_ns < (SELECT end_ns FROM mine)",
    [RETENTION_SUM_SITE] =
        "INSERT INTO site_sum(heap, site, blocks, bytes, largest, first_seq, last_seq)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"
        " ON CONFLICT(heap, site) DO UPDATE SET blocks = blocks + ?3, bytes = bytes + ?4,"
        " largest = max(largest, ?5), first_seq = min(first_seq, ?6),"
        " last_seq = max(last_seq, ?7)",
    [RETENTION_STRETCHES] = "SELECT begin_seq AS begin, phase FROM stretch"
                            " WHERE process = ?1 AND begin_seq BETWEEN ?2 AND ?3"
                            " ORDER BY begin_seq",
    [RETENTION_OWN_PHASES] = "SELECT phase FROM allocation_phase WHERE allocation BETWEEN ?1"
                             " AND ?2",
    [RETENTION_HAS_BIRTH] = "SELECT (SELECT count(*) FROM allocation_phase"
                            "         WHERE allocation BETWEEN ?1 AND ?2 AND phase = ?3)"
                            " + (SELECT count(*) FROM phase"
                            "     WHERE id BETWEEN ?3 + 1 AND ?4 AND parent = ?3) AS holds",
    [RETENTION_PHASES_OF] = "SELECT id, parent, begin_seq, end_seq, kind = 'backward' AS backward,"
                            " scope = 'thread' AS of_thread"
                            "  FROM phase"
                            " WHERE id BETWEEN ?1 AND ?2 AND process = ?3"
                            "   AND settled IS NOT NULL ORDER BY id",
    [RETENTION_SUM_PHASE] =
        "INSERT INTO phase_sum SELECT ph.process, pd.device, ph.kind, ph.name, 1,"
        " ph.end_ns - ph.begin_ns, pd.allocs, pd.frees, pd.alloc_bytes, pd.peak_allocated,"
        " ph.begin_seq, ph.end_seq"
        "  FROM phase ph JOIN phase_device pd ON pd.phase = ph.id WHERE ph.id = ?1"
        " ON CONFLICT(process, device, kind, name) DO UPDATE SET phases = phases + 1,"
        " ns = ns + excluded.ns, allocs = allocs + excluded.allocs,"
        " frees = frees + excluded.frees, alloc_bytes = alloc_bytes + excluded.alloc_bytes,"
        " peak_allocated = max(peak_allocated, excluded.peak_allocated),"
        " first_seq = min(first_seq, excluded.first_seq),"
        " last_seq = max(last_seq, excluded.last_seq)",
    [RETENTION_DROP_PARTS] = "DELETE FROM phase_device WHERE phase = ?1",
    [RETENTION_DROP_PHASE] = "DELETE FROM phase WHERE id = ?1",
    [RETENTION_DROP_STRETCHES] =
        "DELETE FROM stretch WHERE phase = ?1"
        " AND process = (SELECT process FROM phase WHERE id = ?1)"
        " AND begin_seq BETWEEN (SELECT begin_seq FROM phase WHERE id = ?1)"
        "                   AND (SELECT end_seq FROM phase WHERE id = ?1)",
    [RETENTION_NEW_THIN] = "INSERT INTO thinned(process, first_seq, last_seq, what, n)"
                           " VALUES(?1, ?2, ?3, ?4, ?5)",
    [RETENTION_LAST_ROW] = "SELECT last_insert_rowid() AS rowid",
    [RETENTION_GROW_THIN] = "UPDATE thinned SET first_seq = ?2, last_seq = ?3, n = ?4"
                            " WHERE rowid = ?1",
    [RETENTION_ENDED_PROCESSES] =
        "SELECT id, end_ns, first_seq, last_seq FROM process"
        " WHERE first_seq IS NOT NULL AND (end_ns > ?1 OR end_ns = ?1 AND id > ?2)"
        " ORDER BY end_ns, id LIMIT ?3",
    [RETENTION_HEAPS_OF] = "SELECT id FROM heap WHERE process = ?1",
    [RETENTION_PHASE_SPAN] = "SELECT min(phase) AS first_phase, max(phase) AS last_phase"
                             " FROM stretch WHERE process = ?1",
    [RETENTION_STEPS_OF] = "SELECT step, min(begin_seq) AS begin, min(id) AS first_phase,"
                           " max(id) AS last_phase FROM phase"
                           " WHERE id BETWEEN ?1 AND ?2 AND process = ?3 AND step IS NOT NULL"
                           " GROUP BY step ORDER BY 2",
    [RETENTION_PEAKS_OF] =
        "SELECT device, max_allocated_seq AS seq, max(max_allocated) FROM phase_device"
        " WHERE phase BETWEEN ?1 AND ?2 AND max_allocated_seq IS NOT NULL"
        " AND (SELECT process FROM phase WHERE id = phase_device.phase) = ?3 GROUP BY device",
    [RETENTION_PROCESS_OF_PHASE] = "SELECT process FROM phase WHERE id = ?1",
    [RETENTION_OOMS_OF] = "SELECT seq FROM oom WHERE process = ?1 ORDER BY seq",
    [RETENTION_DROP_CURVE] =
        "DELETE FROM curve WHERE heap = ?1 AND quantity = ?2 AND level < (SELECT min(level)"
        " FROM (SELECT level FROM curve WHERE heap = ?1 AND quantity = ?2"
        "       GROUP BY level HAVING count(*) <= ?3))",
};

struct query retention_query(struct retention *retention, enum retention_statement which,
                             const struct query_value *in, const struct query_place *out)
{
    struct db_stmt **stmt = &retention->statements[which];
    int err = *stmt ? 0 : db_prepare(retention->db, stmt, texts[which]);
    return err < 0 ? (struct query){.err = err} : query_kept(*stmt, in, out);
}

int retention_first(struct retention *retention, enum retention_statement which,
                    const struct query_value *in, const struct query_place *out)
{
    struct query query = retention_query(retention, which, in, out);
    bool found = query_next(&query);
    int err = query_end(&query);
    return found ? DB_ROW : err;
}

int retention_run(struct retention *retention, enum retention_statement which,
                  const struct query_value *in)
{
    struct query query = retention_query(retention, which, in, Q_NOTHING);
    while (query_next(&query))
        ;
    return query_end(&query);
}
