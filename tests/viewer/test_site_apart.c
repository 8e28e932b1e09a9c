/*
 * Call sites that are alike in short: what tells them apart stands in their names.
 */
#include "site_apart.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "group.h"
#include "buf.h"
#include "mem.h"
#include "test.h"

enum { MOST = 8 };

/* A site, its frames innermost first: function, file and line each. */
static void add_site(struct db *db, int site, const char *const frames[][3])
{
    struct buf sql = {0};
    for (int depth = 0; frames[depth][0]; depth++)
        buf_print(&sql,
                  "INSERT INTO string SELECT (SELECT coalesce(max(id), 0) + 1 FROM string), '%s'"
                  "  WHERE NOT EXISTS(SELECT 1 FROM string WHERE text = '%s');"
                  "INSERT INTO string SELECT (SELECT max(id) + 1 FROM string), '%s'"
                  "  WHERE NOT EXISTS(SELECT 1 FROM string WHERE text = '%s');"
                  "INSERT INTO frame SELECT coalesce(max(id), 0) + 1,"
                  "  (SELECT id FROM string WHERE text = '%s'),"
                  "  (SELECT id FROM string WHERE text = '%s'), %s FROM frame;"
                  "INSERT INTO site SELECT %d, %d, max(id) FROM frame;",
                  frames[depth][0], frames[depth][0], frames[depth][1], frames[depth][1],
                  frames[depth][0], frames[depth][1], frames[depth][2], site, depth);
    CHECK_INT(db_exec(db, buf_string(&sql)), 0);
    buf_clear(&sql);
}

static struct db *new_db(void)
{
    struct db *db;
    unlink(test_path("sites.db"));
    REQUIRE(db_create(&db, test_path("sites.db")) == 0);
    return db;
}

/* The names of sites 1.., as they stand in one table. */
struct table {
    int64_t sites[MOST];
    int beside[MOST];
    char *names[MOST];
    size_t count;
};

static int fill(struct db *db, struct table *table)
{
    struct site_row rows[MOST];
    int err = 0;
    for (size_t i = 0; i < table->count && err == 0; i++) {
        char *name = NULL;
        err = site_names(db, table->sites[i], &name, &table->names[i]);
        rows[i] = (struct site_row){table->sites[i], table->beside[i], &table->names[i]};
        mem_free(name);
    }
    return err ? err : sites_tell_apart(db, rows, table->count);
}

static void clear(struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        mem_free(table->names[i]);
}

#define LIB "/usr/lib/python3/dist-packages/torch/nn/"
#define CONV                                                                                       \
    {                                                                                              \
        "conv2d", LIB "functional.py", "45"                                                        \
    }
#define BLOCK                                                                                      \
    {                                                                                              \
        "Block.forward", "/srv/a/net.py", "4"                                                      \
    }

TEST(the_next_caller_that_differs)
{
    static const char *const ways[][6][3] = {
        {CONV, BLOCK, {"Net.forward", "/srv/a/net.py", "9"}, {"main", "/srv/a/train.py", "1"}, {0}},
        {CONV,
         BLOCK,
         {"Net.forward", "/srv/a/net.py", "10"},
         {"main", "/srv/a/train.py", "1"},
         {0}},
        {CONV,
         BLOCK,
         {"Net.forward", "/srv/a/net.py", "10"},
         {"main", "/srv/a/train.py", "2"},
         {0}},
        {CONV, BLOCK, {0}},
        {CONV, {"Head.forward", "/srv/a/net.py", "7"}, {"main", "/srv/a/train.py", "1"}, {0}},
    };
    struct db *db = new_db();
    struct table table = {.sites = {1, 2, 3, 4, 5, GROUP_NONE, 1}, .count = 7};
    for (int i = 0; i < 5; i++)
        add_site(db, i + 1, ways[i]);
    CHECK_INT(fill(db, &table), 0);
    CHECK_STR(table.names[0],
              "Net.forward (net.py:9) > Block.forward (net.py:4) > conv2d (functional.py:45)");
    CHECK_STR(table.names[1],
              "main (train.py:1) > Net.forward (net.py:10) > Block.forward (net.py:4) > "
              "conv2d (functional.py:45)");
    CHECK_STR(table.names[2],
              "main (train.py:2) > Net.forward (net.py:10) > Block.forward (net.py:4) > "
              "conv2d (functional.py:45)");
    CHECK_STR(table.names[3], "Block.forward (net.py:4) > conv2d (functional.py:45)");
    CHECK_STR(table.names[4], "Head.forward (net.py:7) > conv2d (functional.py:45)");
    CHECK(table.names[5] == NULL);
    CHECK_STR(table.names[6], table.names[0]); /* one site is one name */
    clear(&table);
    db_close(db);
}

/* Of a script on top of a framework, what differs is inside of the library. */
TEST(a_library_frame_can_be_what_differs)
{
    static const char *const ways[][5][3] = {
        {CONV, {"Mlp.forward", LIB "llama.py", "150"}, {"<module>", "train.py", "12"}, {0}},
        {CONV, {"Attention.forward", LIB "llama.py", "90"}, {"<module>", "train.py", "12"}, {0}},
    };
    struct db *db = new_db();
    struct table table = {.sites = {1, 2}, .count = 2};
    add_site(db, 1, ways[0]);
    add_site(db, 2, ways[1]);
    CHECK_INT(fill(db, &table), 0);
    CHECK_STR(table.names[0],
              "<module> (train.py:12) > Mlp.forward (llama.py:150) > conv2d (functional.py:45)");
    CHECK_STR(
        table.names[1],
        "<module> (train.py:12) > Attention.forward (llama.py:90) > conv2d (functional.py:45)");
    clear(&table);
    /* Another column tells them apart already. */
    struct table apart = {.sites = {1, 2}, .beside = {1, 2}, .count = 2};
    CHECK_INT(fill(db, &apart), 0);
    CHECK_STR(apart.names[0], "<module> (train.py:12) > conv2d (functional.py:45)");
    CHECK_STR(apart.names[1], apart.names[0]);
    clear(&apart);
    db_close(db);
}

TEST(files_of_one_name_in_two_folders)
{
    static const char *const ways[][3][3] = {
        {{"forward", "/srv/a/net.py", "4"}, {"main", "/srv/a/train.py", "1"}, {0}},
        {{"forward", "/srv/b/net.py", "4"}, {"main", "/srv/a/train.py", "1"}, {0}},
        {{"forward", "/srv/b/net.py", "4"}, {"main", "/srv/a/train.py", "2"}, {0}},
    };
    struct db *db = new_db();
    struct table table = {.sites = {1, 2, 3}, .count = 3};
    for (int i = 0; i < 3; i++)
        add_site(db, i + 1, ways[i]);
    CHECK_INT(fill(db, &table), 0);
    CHECK_STR(table.names[0], "forward (/srv/a/net.py:4)");
    CHECK_STR(table.names[1], "main (train.py:1) > forward (/srv/b/net.py:4)");
    CHECK_STR(table.names[2], "main (train.py:2) > forward (/srv/b/net.py:4)");
    clear(&table);
    db_close(db);
}

TEST(without_memory)
{
    static const char *const ways[][5][3] = {
        {CONV, BLOCK, {"Net.forward", "/srv/a/net.py", "9"}, {0}},
        {CONV, BLOCK, {"Net.forward", "/srv/a/net.py", "10"}, {0}},
    };
    struct db *db = new_db();
    add_site(db, 1, ways[0]);
    add_site(db, 2, ways[1]);
    int err = -1;
    for (unsigned fail = 1; err && fail < 1000; fail++) {
        struct table table = {.sites = {1, 2}, .count = 2};
        mem_fail_after(fail);
        err = fill(db, &table);
        mem_fail_after(0);
        clear(&table);
    }
    CHECK_INT(err, 0);
    db_close(db);
}

TEST_MAIN(TEST_CASE(the_next_caller_that_differs), TEST_CASE(a_library_frame_can_be_what_differs),
          TEST_CASE(files_of_one_name_in_two_folders), TEST_CASE(without_memory))
