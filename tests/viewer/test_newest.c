#include "test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "db.h"
#include "error.h"
#include "mem.h"
#include "newest.h"

/* A recording that began at that second; 0 = it does not say. */
static void make(const char *name, long second)
{
    struct db *db;
    char sql[160];
    REQUIRE(db_create(&db, test_path(name)) == 0);
    if (second) {
        snprintf(sql, sizeof sql, "INSERT INTO clock VALUES(5, 0, %ld000000005, 0)", second);
        CHECK_INT(db_exec(db, sql), 0);
    }
    CHECK_INT(db_checkpoint(db, true), 0);
    CHECK_INT(db_single_file(db), 0);
    db_close(db);
}

static void write_text(const char *name)
{
    FILE *file = fopen(test_path(name), "w");
    REQUIRE(file != NULL);
    fputs("just words\n", file);
    fclose(file);
}

static void check_newest(const char *name)
{
    char *path = NULL;
    CHECK_INT(newest_recording(test_folder(), &path), 0);
    CHECK_STR(path, test_path(name));
    mem_free(path);
}

TEST(an_empty_folder_has_none)
{
    char *path = NULL;
    CHECK_INT(newest_recording(test_folder(), &path), ERR_NOTFOUND);
    CHECK(path == NULL);
    CHECK_INT(newest_recording(test_path("nowhere"), &path), ERR_NOTFOUND);
}

TEST(other_names_do_not_count)
{
    char *path = NULL;
    make("run.db", 100);
    make("tidemark.db", 100);
    make("tidemark.1.db.bak", 100);
    write_text("tidemark.9.db");
    mkdir(test_path("tidemark.8.db"), 0700);
    CHECK_INT(newest_recording(test_folder(), &path), ERR_NOTFOUND);
    size_t count = 0;
    CHECK_INT(newest_of_any_name(test_folder(), &path, &count), 0);
    CHECK_INT(count, 2);
    CHECK_STR(path, test_path("tidemark.db"));
    mem_free(path);
    make("tidemark.1.db", 100);
    check_newest("tidemark.1.db");
}

TEST(the_start_of_the_recording_decides)
{
    make("tidemark.a.db", 300);
    make("tidemark.b.db", 200); /* written later, begun earlier */
    check_newest("tidemark.a.db");
    make("tidemark.c.db", 400);
    check_newest("tidemark.c.db");
}

TEST(of_two_at_once_the_name_decides)
{
    make("tidemark.b.db", 300);
    make("tidemark.a.db", 300);
    check_newest("tidemark.b.db");
}

TEST(without_a_start_the_file_date_counts)
{
    make("tidemark.a.db", 0);
    make("tidemark.b.db", 500);
    struct timespec early[2] = {{.tv_sec = 400}, {.tv_sec = 400}};
    CHECK_INT(utimensat(-1, test_path("tidemark.a.db"), early, 0), 0);
    check_newest("tidemark.b.db");
    struct timespec late[2] = {{.tv_sec = 600}, {.tv_sec = 600}};
    CHECK_INT(utimensat(-1, test_path("tidemark.a.db"), late, 0), 0);
    check_newest("tidemark.a.db");
}

TEST_MAIN(TEST_CASE(an_empty_folder_has_none), TEST_CASE(other_names_do_not_count),
          TEST_CASE(the_start_of_the_recording_decides), TEST_CASE(of_two_at_once_the_name_decides),
          TEST_CASE(without_a_start_the_file_date_counts))
