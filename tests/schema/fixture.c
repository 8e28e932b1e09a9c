#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "buf.h"
#include "test.h"

/* What was handed out, so that a leak checker sees it held until the end of the case. */
static char *held[4096];
static size_t held_count;

static const char *hold(struct buf *text)
{
    REQUIRE(!text->broken && held_count < sizeof held / sizeof *held);
    held[held_count++] = text->data;
    return buf_string(text);
}

const char *fixture_read(const char *path)
{
    struct buf text = {0};
    char chunk[4096];
    size_t got;
    FILE *file = fopen(path, "rb");
    REQUIRE(file != NULL);
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0)
        buf_add(&text, chunk, got);
    fclose(file);
    return hold(&text);
}

void fixture_exec(struct db *db, const char *sql)
{
    int err = db_exec(db, sql);
    if (err < 0)
        fprintf(stderr, "%s\n  in: %s\n", db_message(db), sql);
    REQUIRE(err == 0);
}

struct db *fixture_empty(void)
{
    static int made;
    char name[32];
    struct db *db = NULL;
    snprintf(name, sizeof name, "fixture%d.db", made++);
    int err = db_create(&db, test_path(name));
    if (err < 0)
        fprintf(stderr, "%s\n", db_open_message());
    REQUIRE(err == 0);
    return db;
}

struct db *fixture_small_run(void)
{
    struct db *db = fixture_empty();
    fixture_exec(db, "BEGIN");
    fixture_exec(db, fixture_read(FIXTURE_DIR "/small_run.sql"));
    fixture_exec(db, "COMMIT");
    return db;
}

static void add_row(struct buf *text, struct db_stmt *stmt, bool names)
{
    for (int i = 0; i < db_columns(stmt); i++)
        buf_print(text, "%s%s", i ? "|" : "",
                  names ? db_column_name(stmt, i) : db_column_text(stmt, i));
    buf_text(text, "\n");
}

const char *fixture_query(struct db *db, const char *sql, bool header)
{
    struct buf text = {0};
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, sql);
    if (err < 0)
        fprintf(stderr, "%s\n  in: %s\n", db_message(db), sql);
    REQUIRE(err == 0);
    if (header)
        add_row(&text, stmt, true);
    while ((err = db_step(stmt)) == DB_ROW)
        add_row(&text, stmt, false);
    if (err < 0)
        fprintf(stderr, "%s\n  in: %s\n", db_message(db), sql);
    REQUIRE(err == DB_DONE);
    db_finalize(stmt);
    return hold(&text);
}

int64_t fixture_int(struct db *db, const char *sql)
{
    struct db_stmt *stmt = NULL;
    REQUIRE(db_prepare(db, &stmt, sql) == 0);
    REQUIRE(db_step(stmt) == DB_ROW);
    int64_t value = db_column_int(stmt, 0);
    db_finalize(stmt);
    return value;
}
