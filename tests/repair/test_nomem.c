/*
 * Every allocation of memory that salvaging and deriving make fails in turn: the error comes back,
 * and nothing is left behind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "damage.h"
#include "derive.h"
#include "error.h"
#include "fixture.h"
#include "mem.h"
#include "salvage.h"
#include "test.h"

static int salvage_all(const char *path, struct db *into)
{
    struct salvage *salvage = NULL;
    int err = salvage_new(&salvage, path, into, true);
    if (err == 0)
        err = salvage_run(salvage);
    if (err == 0)
        CHECK(salvage_is_valid(salvage));
    salvage_free(salvage);
    if (db_in_transaction(into))
        db_rollback(into);
    return err;
}

static void empty(struct db *db)
{
    static const char *const tables[] = {"allocation", "phase", "string", "curve", "process"};
    char sql[64];
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        snprintf(sql, sizeof sql, "DELETE FROM %s", tables[i]);
        fixture_exec(db, sql);
    }
}

/* A damaged page, so that holes and pages without an owner are met, too. */
static void damaged_copy(char *path, size_t room)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s", test_path("whole.db"));
    snprintf(path, room, "%s", test_path("hurt.db"));
    damage_make(whole, 4, 0);
    struct damage_file file = damage_read(whole);
    memset(file.bytes + (size_t)20 * file.page_bytes, 0xa5, file.page_bytes);
    damage_write(path, file.bytes, file.count);
    free(file.bytes);
}

TEST(salvage_without_memory)
{
    char path[512];
    unsigned failed = 0;
    damaged_copy(path, sizeof path);
    struct db *into = fixture_empty();
    int err = ERR_NOMEM;
    for (long n = 1; err == ERR_NOMEM && n < 2000; n++) {
        empty(into);
        mem_fail_after(n);
        err = salvage_all(path, into);
        mem_fail_after(0);
        failed += err == ERR_NOMEM;
    }
    CHECK_INT(err, 0);
    CHECK(failed > 50);
    CHECK(damage_int(into, "SELECT count(*) FROM allocation") > 50);
    db_close(into);
}

TEST(derive_without_memory)
{
    char path[512];
    unsigned failed = 0;
    snprintf(path, sizeof path, "%s", test_path("whole.db"));
    damage_make(path, 4, 0);
    struct db *db = fixture_empty();
    REQUIRE(salvage_all(path, db) == 0);
    const struct derive_options options = {.facts = db, .out = db, .keyframe_events = 20};
    struct derive_result result;
    int err = ERR_NOMEM;
    bool from_out;
    for (long n = 1; err == ERR_NOMEM && n < 2000; n++) {
        mem_fail_after(n);
        err = derive_rebuild(&options, &result, &from_out);
        mem_fail_after(0);
        CHECK(!db_in_transaction(db));
        failed += err == ERR_NOMEM;
    }
    CHECK_INT(err, 0);
    CHECK(failed > 10 && result.blocks > 50);
    db_close(db);
}

TEST_MAIN(TEST_CASE(salvage_without_memory), TEST_CASE(derive_without_memory))
