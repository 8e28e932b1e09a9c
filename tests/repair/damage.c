#include "damage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "error.h"
#include "fixture.h"
#include "loop.h"
#include "salvage.h"
#include "test.h"
#include "writer.h"

/* ---- a recording ---- */

struct store {
    struct db *db;
    struct writer_sink *sink;
};

static bool store_batch(void *self, struct batch *batch)
{
    struct store *store = self;
    REQUIRE(writer_sink_write(store->sink, batch) == 0);
    batch_free(batch);
    return true;
}

/* Rows of tables that the loop does not fill, and texts that do not fit a page. */
static const char more_sql[] =
    "INSERT INTO process SELECT id + 100, pid, parent, origin, start_ns, end_ns, rank, local_rank,"
    " world_size, host, 'python ' || hex(zeroblob(5000)), live, why_not, ended, 7, signal,"
    " first_seq, last_seq, events FROM process;"
    "INSERT INTO string SELECT 1000 + id, text || hex(zeroblob(3000)) FROM string WHERE id < 4;"
    "INSERT INTO segment SELECT seq, heap, address, size, alloc_ns, life_ns,"
    " CASE WHEN free_seq < 0 THEN NULL ELSE free_seq END, site FROM allocation"
    " WHERE seq % 7 = 0 AND life_ns >= 0;"
    "INSERT INTO mapping SELECT seq, heap, address, size, alloc_ns, seq % 2 FROM allocation"
    " WHERE seq % 11 = 0;"
    "INSERT INTO idle SELECT seq, seq + 1, alloc_ns FROM allocation WHERE seq % 5 = 0;"
    "INSERT INTO allocation_phase SELECT seq, 1 FROM allocation WHERE seq % 13 = 0;"
    "INSERT INTO setting SELECT 1, NULL, 'key ' || id, 'value' FROM phase;"
    "INSERT INTO sample SELECT begin_ns, 1, NULL, 'device used', id FROM phase;"
    "INSERT INTO tag SELECT id, 1 + id % 8, 'weight ' || id FROM phase;"
    "INSERT INTO mark(seq, process, thread, at_ns, name, value)"
    " SELECT begin_seq, 1, 1, begin_ns, name, -5 FROM phase GROUP BY begin_seq;"
    "INSERT INTO clock VALUES(0, 5, 6, 7);"
    "INSERT INTO overhead VALUES(NULL, 'writer cpu', 5, 'ns');"
    "INSERT INTO anomaly SELECT begin_seq, 1, begin_ns, 'unknown name', NULL, 'x' FROM phase;"
    "INSERT INTO site_sum VALUES(1, -1, 5, 6, 7, 8, 9);"
    "INSERT INTO phase_sum VALUES(1, 1, 'loss', 'loss', 1, 2, 3, 4, 5, 6, 7, 8);"
    "INSERT OR IGNORE INTO meta VALUES('command', 'python3 train.py'), ('finished', 1);";

/* Tables that have nothing yet get a few rows with a value for each column, by its type. */
static void fill_empty(struct db *db, const char *table)
{
    struct db_stmt *row = NULL;
    struct buf names = {0}, values = {0}, sql = {0};
    buf_print(&sql, "PRAGMA table_info(\"%s\")", table);
    REQUIRE(db_prepare(db, &row, buf_string(&sql)) == 0);
    for (bool first = true; db_step(row) == DB_ROW; first = false) {
        bool text = strcmp(db_column_text(row, 2), "TEXT") == 0;
        buf_print(&names, "%s\"%s\"", first ? "" : ",", db_column_text(row, 1));
        buf_text(&values, first ? "" : ",");
        buf_text(&values, text ? "'text ' || i" : "1000 + i");
    }
    db_finalize(row);
    buf_clear(&sql);
    buf_print(&sql,
              "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)"
              " INSERT INTO \"%s\"(%s) SELECT %s FROM n WHERE NOT EXISTS(SELECT 1 FROM \"%s\")",
              table, buf_string(&names), buf_string(&values), table);
    fixture_exec(db, buf_string(&sql));
    buf_clear(&names);
    buf_clear(&values);
    buf_clear(&sql);
}

static void fill_all(struct db *db)
{
    char names[DAMAGE_TABLES][32];
    struct db_stmt *row = NULL;
    size_t count = 0;
    REQUIRE(db_prepare(db, &row,
                       "SELECT name FROM sqlite_master WHERE type = 'table'"
                       " AND name NOT LIKE 'sqlite_%'") == 0);
    while (db_step(row) == DB_ROW && count < DAMAGE_TABLES)
        snprintf(names[count++], 32, "%s", db_column_text(row, 0));
    db_finalize(row);
    for (size_t i = 0; i < count; i++)
        fill_empty(db, names[i]);
}

void damage_make(const char *path, uint64_t steps, uint32_t page_bytes)
{
    const struct loop_options loop = {.steps = steps, .processes = 1, .leak_every = 3};
    struct store store;
    char sql[64];
    unlink(path);
    REQUIRE(db_create(&store.db, path) == 0);
    REQUIRE(writer_sink_new(&store.sink, store.db) == 0);
    REQUIRE(db_begin(store.db) == 0);
    loop_run(&loop, store_batch, &store);
    fixture_exec(store.db, more_sql);
    fixture_exec(store.db, "INSERT OR IGNORE INTO keyframe SELECT 2000, seq FROM allocation"
                           " WHERE seq <= 2000 AND (free_seq < 0 OR free_seq > 2000)");
    fill_all(store.db);
    REQUIRE(db_commit(store.db) == 0);
    writer_sink_free(store.sink);
    REQUIRE(db_single_file(store.db) == 0);
    if (page_bytes) {
        snprintf(sql, sizeof sql, "PRAGMA page_size=%u; VACUUM", page_bytes);
        fixture_exec(store.db, sql);
    }
    db_close(store.db);
}

/* ---- files ---- */

struct damage_file damage_read(const char *path)
{
    struct damage_file file = {0};
    struct stat info;
    int fd = open(path, O_RDONLY);
    REQUIRE(fd >= 0 && fstat(fd, &info) == 0);
    file.count = (size_t)info.st_size;
    file.bytes = malloc(file.count + 1);
    REQUIRE(file.bytes && read(fd, file.bytes, file.count) == (ssize_t)file.count);
    close(fd);
    file.page_bytes = (uint32_t)file.bytes[16] << 8 | file.bytes[17];
    file.pages = file.page_bytes ? (uint32_t)(file.count / file.page_bytes) : 0;
    return file;
}

void damage_write(const char *path, const unsigned char *bytes, size_t count)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0 && write(fd, bytes, count) == (ssize_t)count);
    close(fd);
}

/* ---- comparing ---- */

int64_t damage_int(struct db *db, const char *sql)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, sql);
    if (err == 0)
        err = db_step(stmt);
    if (err < 0)
        fprintf(stderr, "%s\n  in: %s\n", db_message(db), sql);
    REQUIRE(err == DB_ROW);
    int64_t value = db_column_int(stmt, 0);
    db_finalize(stmt);
    return value;
}

struct damage_bench damage_bench(const char *whole)
{
    struct damage_bench bench = {.db = fixture_empty()};
    struct db_stmt *row = NULL;
    char sql[512];
    snprintf(sql, sizeof sql, "ATTACH '%s' AS whole", whole);
    fixture_exec(bench.db, sql);
    /* Without it the questions below cannot be asked, and say so. */
    db_exec(bench.db, "CREATE TEMP TABLE page AS SELECT * FROM dbstat('whole');"
                      "CREATE INDEX temp.by_name ON page(name)");
    REQUIRE(db_prepare(bench.db, &row,
                       "SELECT name FROM main.sqlite_master WHERE type='table'"
                       " AND name NOT LIKE 'sqlite_%'") == 0);
    while (db_step(row) == DB_ROW && bench.tables < DAMAGE_TABLES)
        snprintf(bench.name[bench.tables++], 32, "%s", db_column_text(row, 0));
    db_finalize(row);
    for (size_t i = 0; i < bench.tables; i++) {
        snprintf(sql, sizeof sql, "SELECT count(*) FROM whole.\"%s\"", bench.name[i]);
        bench.whole[i] = damage_int(bench.db, sql);
    }
    return bench;
}

static void check_table(struct damage_bench *bench, size_t at, int64_t *lost)
{
    char sql[256];
    const char *name = bench->name[at];
    if (strcmp(name, "keyframe") == 0) /* never copied */
        return;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM main.\"%s\"", name);
    int64_t there = damage_int(bench->db, sql);
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM (SELECT * FROM main.\"%s\" EXCEPT SELECT * FROM whole.\"%s\")",
             name, name);
    int64_t wrong = there ? damage_int(bench->db, sql) : 0;
    if (wrong)
        fprintf(stderr, "%s: %lld wrong rows\n", name, (long long)wrong);
    CHECK_INT(wrong, 0);
    CHECK(there <= bench->whole[at]);
    *lost = bench->whole[at] - there;
}

int64_t damage_salvage(struct damage_bench *bench, const char *path, int64_t *lost)
{
    struct salvage *salvage = NULL;
    char sql[128];
    int64_t sum = 0;
    fixture_exec(bench->db, "BEGIN");
    for (size_t i = 0; i < bench->tables; i++) {
        snprintf(sql, sizeof sql, "DELETE FROM main.\"%s\"", bench->name[i]);
        fixture_exec(bench->db, sql);
        lost[i] = 0;
    }
    fixture_exec(bench->db, "COMMIT");
    int err = salvage_new(&salvage, path, bench->db, true);
    if (err == 0)
        err = salvage_run(salvage);
    CHECK(err == 0 || err == ERR_CORRUPT);
    if (err == 0)
        CHECK(salvage_is_valid(salvage));
    salvage_free(salvage);
    if (db_in_transaction(bench->db))
        db_rollback(bench->db);
    for (size_t i = 0; i < bench->tables; i++) {
        check_table(bench, i, &lost[i]);
        sum += lost[i];
    }
    return sum;
}

/* ---- SQLite's own account ---- */

const char *damage_owner(struct damage_bench *bench, uint32_t page)
{
    static char name[64];
    struct db_stmt *row = NULL;
    name[0] = '\0';
    if (db_prepare(bench->db, &row, "SELECT name FROM page WHERE pageno=?1") < 0)
        SKIP("this SQLite has no dbstat");
    db_bind_int(row, 0, page);
    if (db_step(row) == DB_ROW)
        snprintf(name, sizeof name, "%s", db_column_text(row, 0));
    db_finalize(row);
    return name;
}

/* Cells of inner pages are rows in tables WITHOUT ROWID; counting them always only allows more. An
 * overflow page belongs to one row. */
int64_t damage_below(struct damage_bench *bench, uint32_t page)
{
    struct db_stmt *row = NULL;
    static const char sql[] =
        "SELECT sum(CASE WHEN b.pagetype = 'overflow' THEN 0 ELSE b.ncell END),"
        " max(a.pagetype = 'overflow')"
        " FROM page a JOIN page b ON b.name = a.name"
        " AND substr(b.path, 1, length(a.path)) = a.path WHERE a.pageno = ?1"
        " AND a.name NOT LIKE 'sqlite_%' AND a.name <> 'keyframe'";
    if (db_prepare(bench->db, &row, sql) < 0)
        SKIP("this SQLite has no dbstat");
    db_bind_int(row, 0, page);
    REQUIRE(db_step(row) == DB_ROW);
    int64_t rows = db_column_int(row, 0) + db_column_int(row, 1);
    db_finalize(row);
    return rows;
}

bool damage_is_text(struct damage_bench *bench, uint32_t page)
{
    struct db_stmt *row = NULL;
    if (db_prepare(bench->db, &row, "SELECT pagetype = 'overflow' FROM page WHERE pageno=?1") < 0)
        SKIP("this SQLite has no dbstat");
    db_bind_int(row, 0, page);
    bool text = db_step(row) == DB_ROW && db_column_int(row, 0);
    db_finalize(row);
    return text;
}
