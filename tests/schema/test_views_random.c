/*
 * The views against plain SQL that says the same in other words, on random databases: running sums
 * over all events by window functions instead of keyframes and kept maxima, ranges joined by lead()
 * instead of the last row before a number, ancestors climbed from below instead of from the top.
 */
#include "fixture.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "test.h"

enum { PROCESSES = 3, HEAPS = 4, DEEPEST = 5, MAX_LIVING = 200 };

/* heap h of process p has the id p * HEAPS + h + 1. */
static const int device_of_heap[HEAPS] = {1, 1, 2, 3};

struct phase {
    int id;
    const char *kind;
};

struct process {
    int id;
    struct phase stack[DEEPEST]; /* [0] is what is between phases */
    int depth;
    int step, next_step; /* -1 = none */
    int living[MAX_LIVING], heap[MAX_LIVING], count;
};

static uint64_t seed;
static int seq, phase_count;
static struct buf script;

static int below(int limit)
{
    return (int)(test_random(&seed) % (uint64_t)limit);
}

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
    char line[512];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    REQUIRE(n > 0 && n < (int)sizeof line);
    buf_add(&script, line, (size_t)n);
}

static void put_or_null(int id, const char *behind)
{
    if (id)
        put("%d%s", id, behind);
    else
        put("NULL%s", behind);
}

/* ---- a random run ---- */

static void begin_phase(struct process *p, const char *kind, int begin_seq)
{
    char step[16] = "NULL", parent[16] = "NULL";
    int id = ++phase_count;
    if (p->step >= 0)
        snprintf(step, sizeof step, "%d", p->step);
    if (p->depth > 1)
        snprintf(parent, sizeof parent, "%d", p->stack[p->depth - 1].id);
    put("INSERT INTO "
        "phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_ns,"
        "scope,ended) VALUES(%d,%d,1,%s,0,'%s','%s %d',%s,%d,NULL,%d,NULL,'process',NULL);\n",
        id, p->id, parent, kind, kind, id % 3, step, begin_seq, begin_seq * 1000);
    put("INSERT OR REPLACE INTO stretch VALUES(%d,%d,%d);\n", p->id, begin_seq, id);
    p->stack[p->depth++] = (struct phase){id, kind};
}

static void end_phase(struct process *p, int end_seq)
{
    int id = p->stack[--p->depth].id;
    put("UPDATE phase SET end_seq=%d, end_ns=%d, ended='end' WHERE id=%d;\n", end_seq,
        end_seq * 1000, id);
}

static void change_phase(struct process *p)
{
    static const char *const kinds[] = {"zero_grad", "forward", "loss", "backward", "recompute",
                                        "optimizer", "eval",    "user", "user"};
    seq++;
    if (p->depth == 1) { /* what was between ends with the number before */
        end_phase(p, seq - 1);
        p->depth = 1; /* the place of what is between stays */
        begin_phase(p, kinds[below(9)], seq);
    } else if (p->depth < DEEPEST && below(2)) {
        begin_phase(p, kinds[below(9)], seq);
    } else {
        end_phase(p, seq);
        if (p->depth > 1) {
            put("INSERT OR REPLACE INTO stretch VALUES(%d,%d,%d);\n", p->id, seq + 1,
                p->stack[p->depth - 1].id);
        } else {
            p->depth = 0;
            begin_phase(p, "other", ++seq);
        }
    }
}

static void change_step(struct process *p)
{
    if (p->depth > 1)
        return;
    end_phase(p, seq);
    p->step = below(4) ? p->next_step++ : -1;
    begin_phase(p, "other", ++seq);
}

static void change_block(struct process *p)
{
    seq++;
    if (p->count > 0 && (p->count == MAX_LIVING || below(9) < 4)) {
        int at = below(p->count);
        put("UPDATE allocation SET free_seq=%d, life_ns=%d-alloc_ns WHERE seq=%d;\n", seq,
            seq * 1000, p->living[at]);
        p->living[at] = p->living[--p->count];
        return;
    }
    int heap = (p->id - 1) * HEAPS + below(HEAPS) + 1;
    put("INSERT INTO "
        "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag) "
        "VALUES(%d,%d,%d,%d,NULL,%d,-70368744177664,-2147483648,",
        seq, heap, seq * 4096, below(30) * 512, seq * 1000);
    put_or_null(below(4) ? 1 + below(3) : 0, ",");
    put_or_null(below(5) ? 0 : 1 + below(4), ");\n");
    p->living[p->count++] = seq;
}

static void put_keyframe(const struct process *all)
{
    for (int p = 0; p < PROCESSES; p++)
        for (int i = 0; i < all[p].count; i++)
            put("INSERT OR IGNORE INTO keyframe VALUES(%d,%d);\n", seq, all[p].living[i]);
}

static void begin_run(struct process *all)
{
    put("BEGIN;\nINSERT INTO device VALUES(1,'cuda',0,NULL,NULL),(2,'cuda',1,NULL,NULL),"
        "(3,'cpu',0,NULL,NULL);\n"
        "INSERT INTO string VALUES(1,'f'),(2,'g'),(3,'h');\n"
        "INSERT INTO frame VALUES(1,1,NULL,NULL),(2,2,3,7),(3,3,NULL,NULL);\n"
        "INSERT INTO site VALUES(1,0,1),(1,1,3),(2,0,2),(3,0,3);\n"
        "INSERT INTO tag VALUES(1,1,'w'),(2,5,NULL),(3,6,'b'),(4,8,'?');\n");
    for (int p = 0; p < PROCESSES; p++) {
        all[p] = (struct process){.id = p + 1, .step = -1};
        put("INSERT INTO process(id,pid,origin,start_ns) VALUES(%d,%d,'root',0);\n", p + 1,
            p + 100);
        for (int h = 0; h < HEAPS; h++)
            put("INSERT INTO heap VALUES(%d,%d,%d,%d,0,NULL);\n", p * HEAPS + h + 1, p + 1,
                device_of_heap[h], h);
        begin_phase(&all[p], "other", ++seq);
    }
}

/* What each phase did on each device, from the events: the recorder keeps it, here it is counted. A
 * phase that is open has all that is there. */
static const char count_phases[] =
    "CREATE TEMP TABLE event AS"
    " SELECT seq, process, device, change, at_ns, sum(change) OVER"
    "        (PARTITION BY process, device ORDER BY seq) AS allocated FROM ("
    "  SELECT a.seq AS seq, h.process, h.device, a.size AS change, a.alloc_ns AS at_ns"
    "    FROM allocation a JOIN heap h ON h.id = a.heap UNION ALL"
    "  SELECT a.free_seq, h.process, h.device, -a.size, a.alloc_ns + a.life_ns"
    "    FROM allocation a JOIN heap h ON h.id = a.heap WHERE a.free_seq >= 0);"
    "CREATE INDEX temp.event_by_seq ON event(process, device, seq);"
    "CREATE TEMP TABLE span AS SELECT ph.id, ph.process, d.id AS device, ph.begin_seq,"
    "  coalesce(ph.end_seq, 1 << 40) AS end_seq, coalesce((SELECT e.allocated FROM event e"
    "    WHERE e.process = ph.process AND e.device = d.id AND e.seq < ph.begin_seq"
    "    ORDER BY e.seq DESC LIMIT 1), 0) AS begun FROM phase ph, device d;"
    "INSERT INTO phase_device(phase, device, begin_allocated, allocated, max_allocated,"
    "                         peak_allocated, peak_seq, peak_ns, allocs, frees, alloc_bytes)"
    " SELECT s.id, s.device, s.begun,"
    "  coalesce((SELECT e.allocated FROM event e WHERE e.process = s.process AND"
    "    e.device = s.device AND e.seq <= s.end_seq ORDER BY e.seq DESC LIMIT 1), 0),"
    "  coalesce((SELECT max(e.allocated) FROM event e WHERE e.process = s.process AND"
    "    e.device = s.device AND e.seq <= s.end_seq), 0),"
    "  s.begun, NULL, NULL, 0, 0, 0 FROM span s;"
    "UPDATE phase_device SET peak_allocated = h.allocated, peak_seq = h.seq, peak_ns = h.at_ns"
    "  FROM (SELECT s.id, s.device, s.begun, e.allocated, e.seq, e.at_ns, row_number() OVER"
    "         (PARTITION BY s.id, s.device ORDER BY e.allocated DESC, e.seq) AS place"
    "          FROM span s JOIN event e ON e.process = s.process AND e.device = s.device"
    "           AND e.seq BETWEEN s.begin_seq AND s.end_seq) h"
    " WHERE h.place = 1 AND h.id = phase AND h.device = phase_device.device"
    "   AND h.allocated > h.begun;"
    "DELETE FROM phase_device WHERE max_allocated = 0;";

/* Curves at two levels that differ from heap to heap, with bucket sums from the events. */
static const char count_curves[] =
    "INSERT INTO curve"
    " SELECT heap, 'allocated', level, bucket, before, min(low), max(high), last FROM ("
    "  SELECT heap, level, at_ns >> level AS bucket,"
    "   first_value(was) OVER w AS before, last_value(value) OVER w AS last,"
    "   min(was, value) AS low, max(was, value) AS high FROM ("
    "    SELECT *, value - change AS was FROM ("
    "     SELECT a.heap, 12 + a.heap % 3 + l.n AS level, e.seq, e.at_ns, e.change,"
    "      sum(e.change) OVER (PARTITION BY a.heap, l.n ORDER BY e.seq) AS value"
    "      FROM event e JOIN allocation a ON a.seq = e.seq OR (a.free_seq = e.seq),"
    "           (SELECT 0 AS n UNION ALL SELECT 1) l))"
    "  WINDOW w AS (PARTITION BY heap, level, at_ns >> level ORDER BY seq"
    "               ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING))"
    " GROUP BY heap, level, bucket;";

static struct db *random_run(uint64_t first_seed, int events)
{
    static struct process all[PROCESSES];
    seed = first_seed;
    seq = phase_count = 0;
    begin_run(all);
    for (int i = 0; i < events; i++) {
        struct process *p = &all[below(PROCESSES)];
        int what = below(20);
        if (what < 11)
            change_block(p);
        else if (what < 16)
            change_phase(p);
        else
            change_step(p);
        if (below(40) == 0)
            put_keyframe(all);
    }
    for (int p = 0; p < PROCESSES - 1; p++) /* the last one's phases stay open */
        for (int lowest = all[p].depth > 1; all[p].depth > lowest;)
            end_phase(&all[p], seq);
    put("COMMIT;");
    struct db *db = fixture_empty();
    fixture_exec(db, buf_string(&script));
    fixture_exec(db, count_phases);
    fixture_exec(db, count_curves);
    buf_clear(&script);
    return db;
}

/* ---- both ways ---- */

/* Rows that one query has and the other has not, in either direction: none. And there are rows. */
static void same_rows(struct db *db, const char *what, const char *view, const char *plain)
{
    struct buf sql = {0};
    buf_print(
        &sql,
        "WITH a AS (%s), b AS (%s) SELECT 'only the view', * FROM (SELECT * FROM a EXCEPT "
        "SELECT * FROM b) UNION ALL SELECT 'only plain', * FROM (SELECT * FROM b EXCEPT SELECT * "
        "FROM a)",
        view, plain);
    const char *difference = fixture_query(db, buf_string(&sql), false);
    if (*difference)
        fprintf(stderr, "seed %d, %s:\n%.2000s\n", (int)seed, what, difference);
    CHECK(*difference == '\0');
    sql.count = 0;
    buf_print(&sql, "SELECT (SELECT count(*) FROM (%s)) - (SELECT count(*) FROM (%s))", view,
              plain);
    CHECK_INT(fixture_int(db, buf_string(&sql)), 0);
    buf_clear(&sql);
}

static const char highest[] =
    "SELECT * FROM (SELECT e.*, row_number() OVER (PARTITION BY process, device"
    " ORDER BY allocated DESC, seq) AS place FROM event e) WHERE place = 1 AND allocated > 0";

static void check_peaks(struct db *db)
{
    struct buf plain = {0};
    fixture_exec(db, "DROP TABLE IF EXISTS temp.top");
    buf_print(&plain, "CREATE TEMP TABLE top AS %s", highest);
    fixture_exec(db, buf_string(&plain));
    buf_clear(&plain);
    same_rows(db, "peak", "SELECT process, device_id, allocated, seq, at_ns FROM peak",
              "SELECT process, device, allocated, seq, at_ns FROM top");
    same_rows(db, "live_at_peak", "SELECT process, allocation, size FROM live_at_peak",
              "SELECT t.process, a.seq, a.size FROM top t, allocation a, heap h WHERE h.id = a.heap"
              " AND h.process = t.process AND h.device = t.device AND a.seq <= t.seq"
              " AND NOT (a.free_seq BETWEEN 0 AND t.seq)");
    same_rows(db, "peak adds up",
              "SELECT process, device, sum(bytes) FROM peak_by_site GROUP BY 1, 2 UNION ALL"
              " SELECT process, device, sum(bytes) FROM peak_by_category GROUP BY 1, 2",
              "SELECT process, device, allocated FROM peak UNION ALL"
              " SELECT process, device, allocated FROM peak");
    same_rows(db, "peak_by_site", "SELECT process, device, site, bytes, blocks FROM peak_by_site",
              "SELECT process, device, site, sum(size), count(*) FROM live_at_peak"
              " GROUP BY process, device, site");
    CHECK_INT(fixture_int(db, "SELECT count(*) FROM live_at_peak WHERE allocation NOT IN"
                              " (SELECT seq FROM allocation)"),
              0);
}

static void check_phases(struct db *db)
{
    static const char ranges[] =
        "SELECT process, phase, begin_seq, coalesce(lead(begin_seq) OVER"
        " (PARTITION BY process ORDER BY begin_seq), 1 << 40) AS next FROM stretch";
    struct buf plain = {0};
    buf_print(&plain,
              "SELECT a.seq, b.phase, f.phase FROM allocation a JOIN heap h ON h.id = a.heap"
              " JOIN (%s) b ON b.process = h.process AND a.seq >= b.begin_seq AND a.seq < b.next"
              " LEFT JOIN (%s) f ON f.process = h.process AND a.free_seq >= f.begin_seq"
              " AND a.free_seq < f.next",
              ranges, ranges);
    same_rows(db, "phases of blocks",
              "SELECT allocation, phase_id, freed_phase_id FROM allocations", buf_string(&plain));
    buf_clear(&plain);
    same_rows(db, "phase_role", "SELECT id, role FROM phase_role",
              "WITH RECURSIVE up(id, at) AS (SELECT id, id FROM phase UNION ALL"
              " SELECT up.id, ph.parent FROM up JOIN phase ph ON ph.id = up.at"
              "  WHERE ph.kind = 'user' AND ph.parent IS NOT NULL)"
              " SELECT up.id, ph.kind FROM up JOIN phase ph ON ph.id = up.at"
              "  WHERE ph.kind <> 'user' OR ph.parent IS NULL");
    same_rows(
        db, "phase_table",
        "SELECT phase_id, sum(allocated), sum(phase_peak), count(*)"
        " FROM phase_table GROUP BY 1",
        "SELECT phase, sum(allocated), sum(peak_allocated), count(*) FROM phase_device GROUP BY 1");
}

/* Born before the first step of their process and there after the last. */
static const char kept[] =
    "SELECT a.seq, a.size, a.tag, h.process FROM allocation a JOIN heap h ON h.id = a.heap"
    " WHERE NOT EXISTS (SELECT 1 FROM phase p WHERE p.process = h.process AND p.step >= 0"
    "  AND p.begin_seq <= a.seq)"
    " AND EXISTS (SELECT 1 FROM phase p WHERE p.process = h.process AND p.step >= 0)"
    " AND (a.free_seq < 0 OR NOT EXISTS (SELECT 1 FROM phase p WHERE p.process = h.process"
    "  AND p.step >= 0 AND (p.end_seq IS NULL OR p.end_seq >= a.free_seq)))";

/* Without a tag: parameters where none of those has the tag of one, else copies, or other. */
static void check_parameters(struct db *db)
{
    static const char *const wants[][2] = {
        {"category = 'parameter'", "NOT"},
        {"(category LIKE 'copy of parameters%' OR rule LIKE '%not tagged as a parameter')", ""}};
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
        struct buf view = {0}, plain = {0};
        buf_print(&view,
                  "SELECT c.allocation FROM allocation_category c"
                  " JOIN allocation a ON a.seq = c.allocation WHERE a.tag IS NULL AND %s",
                  wants[i][0]);
        buf_print(&plain,
                  "SELECT k.seq FROM (%s) k WHERE k.tag IS NULL AND %s EXISTS (SELECT 1 FROM (%s) t"
                  " WHERE t.process = k.process AND t.tag = 1)",
                  kept, wants[i][1], kept);
        same_rows(db, wants[i][0], buf_string(&view), buf_string(&plain));
        buf_clear(&view);
        buf_clear(&plain);
    }
    struct buf older = {0};
    buf_print(&older,
              "SELECT c.allocation FROM allocation_category c JOIN allocation a ON a.seq ="
              " c.allocation JOIN heap h ON h.id = a.heap WHERE category LIKE 'copy%%'"
              " AND NOT EXISTS (SELECT 1 FROM (%s) k WHERE k.process = h.process AND k.tag = 1"
              " AND k.size = a.size AND k.seq < a.seq)",
              kept);
    same_rows(db, "copies of nothing", buf_string(&older), "SELECT 1 WHERE 0");
    buf_clear(&older);
}

/* What follows from the words of the categories, each asked for apart. */
static void check_categories(struct db *db)
{
    same_rows(db, "one category for each block", "SELECT allocation FROM allocation_category",
              "SELECT seq FROM allocation");
    same_rows(
        db, "tags decide", "SELECT allocation, category FROM allocation_category WHERE rule='tag'",
        "SELECT a.seq, CASE a.tag WHEN 1 THEN 'parameter' WHEN 2 THEN 'input' WHEN 3 THEN 'bucket'"
        " ELSE 'other' END FROM allocation a JOIN allocations l ON l.allocation = a.seq"
        " LEFT JOIN phase_role r ON r.id = l.phase_id WHERE a.tag IS NOT NULL AND NOT (a.tag = 2"
        "  AND coalesce(r.role, '') IN ('forward', 'loss', 'backward', 'recompute', 'eval'))");
    same_rows(db, "inputs",
              "SELECT c.allocation FROM allocation_category c JOIN allocations l"
              " ON l.allocation = c.allocation LEFT JOIN phase_role r ON r.id = l.phase_id"
              " WHERE c.category = 'input' AND r.role IN ('forward', 'loss', 'backward',"
              " 'recompute')",
              "SELECT 1 WHERE 0");
    check_parameters(db);
    same_rows(
        db, "workspaces",
        "SELECT c.allocation FROM allocation_category c JOIN allocation a ON a.seq = c.allocation"
        " WHERE category = 'workspace' AND a.tag IS NULL",
        "SELECT allocation FROM allocations l JOIN allocation a ON a.seq = l.allocation"
        " WHERE a.tag IS NULL AND phase_id = freed_phase_id AND CASE WHEN EXISTS"
        "  (SELECT 1 FROM phase p WHERE p.process = l.process AND p.step >= 0)"
        " THEN a.seq >="
        "  (SELECT min(begin_seq) FROM phase p WHERE p.process = l.process AND p.step >= 0)"
        " ELSE (SELECT role FROM phase_role WHERE id = phase_id)"
        "  IN ('forward', 'forward_no_grad', 'eval') END");
}

static void check_leaks(struct db *db)
{
    same_rows(db, "leak", "SELECT process, device, site_id, steps, blocks, bytes FROM leak",
              "SELECT process, device, site_id, count(DISTINCT step), count(*), sum(size)"
              " FROM allocations a WHERE step IS NOT NULL"
              " AND step + 2 <= (SELECT max(step) FROM phase p WHERE p.process = a.process)"
              " AND NOT EXISTS (SELECT 1 FROM phase p WHERE p.process = a.process"
              "  AND p.step IS NOT NULL AND p.end_seq IS NULL)"
              " AND coalesce(free_seq, 1 << 40) > (SELECT max(end_seq) FROM phase p"
              "  WHERE p.process = a.process AND p.step IS NOT NULL)"
              " GROUP BY process, device, site_id HAVING min(step) < max(step)");
}

static void check_timeline(struct db *db)
{
    same_rows(db, "timeline", "SELECT process, device, at_ns, allocated FROM timeline",
              "SELECT t.process, t.device, t.at_ns, (SELECT e.allocated FROM event e"
              "  JOIN device_text d ON d.id = e.device WHERE e.process = t.process"
              "  AND d.device = t.device AND e.at_ns < t.at_ns ORDER BY e.seq DESC LIMIT 1)"
              " FROM timeline t");
    CHECK_INT(fixture_int(db, "SELECT count(*) FROM timeline t WHERE max_allocated < (SELECT"
                              " max(e.allocated) FROM event e JOIN device_text d ON d.id = e.device"
                              " WHERE e.process = t.process AND d.device = t.device"
                              " AND e.at_ns >= t.from_ns AND e.at_ns < t.at_ns)"),
              0);
    same_rows(db, "every event is in one row of the timeline",
              "SELECT count(*) FROM event e JOIN device_text d ON d.id = e.device JOIN timeline t"
              " ON t.process = e.process AND t.device = d.device"
              " AND e.at_ns >= t.from_ns AND e.at_ns < t.at_ns",
              "SELECT count(*) FROM event");
}

static void check_run(uint64_t first_seed, int events)
{
    struct db *db = random_run(first_seed, events);
    seed = first_seed;
    CHECK(events < 100 || fixture_int(db, "SELECT count(*) FROM keyframe") > 0);
    check_peaks(db);
    check_phases(db);
    check_categories(db);
    check_leaks(db);
    check_timeline(db);
    /* Derived data only makes answers quicker: without it they are the same. */
    fixture_exec(db, "DELETE FROM keyframe");
    check_peaks(db);
    db_close(db);
}

/* In the short form a third of the seeds. */
static uint64_t seeds(uint64_t count)
{
    return test_is_long() ? count : count / 3;
}

TEST(small_runs)
{
    for (uint64_t i = 1; i <= seeds(12); i++)
        check_run(i, 40);
}

TEST(runs)
{
    for (uint64_t i = 101; i <= 100 + seeds(14); i++)
        check_run(i, 300);
}

TEST_MAIN(TEST_CASE(small_runs), TEST_CASE(runs))
