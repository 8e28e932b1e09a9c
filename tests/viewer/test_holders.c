/* Who holds the memory: what is shown and the rest are all of it, whatever the number of rows. */
#include "test.h"

#include <string.h>

#include "db.h"
#include "holders.h"
#include "peak.h"
#include "recording.h"

static const struct {
    const char *name;
    int64_t process, device;
} recordings[] = {{"train", 1, 1}, {"torch", 1, 1}, {"ranks", 2, 2}, {"frag", 1, 1}};

static void check(struct db *db, int64_t process, int64_t device, size_t most)
{
    struct peak peak;
    struct holders holders;
    CHECK_INT(peak_find(db, process, device, INT64_MIN, INT64_MAX, &peak), 0);
    CHECK_INT(holders_read(db, process, device, peak.living_seq, most, &holders), 0);
    CHECK(holders_are_valid(&holders));
    CHECK(holders.count <= most);
    CHECK(holders.bytes > 0 || !peak.found);
    CHECK(holders.count == most || !holders.rest);
    holders_clear(&holders);
    peak_clear(&peak);
}

TEST(rows_and_the_rest_are_all)
{
    for (size_t i = 0; i < sizeof recordings / sizeof *recordings; i++) {
        struct db *db = recording(recordings[i].name);
        for (size_t most = 1; most < 12; most++)
            check(db, recordings[i].process, recordings[i].device, most);
        db_close(db);
    }
}

static bool is_named(const struct holders *holders, const char *name)
{
    for (size_t i = 0; i < holders->count; i++)
        if (holders->holders[i].name && strcmp(holders->holders[i].name, name) == 0)
            return true;
    return false;
}

/* Children of a Sequential have numbers for names. */
TEST(a_number_has_its_class_beside_it)
{
    struct db *db = recording("train");
    struct holders holders;
    struct peak peak;
    REQUIRE(db_exec(db, "DELETE FROM module;"
                        "INSERT INTO module VALUES(1, '', 'Sequential'), (2, '0', 'Linear'),"
                        " (3, '1', 'Linear'), (4, '2', 'ReLU'), (5, 'head', 'Linear');"
                        "UPDATE allocation SET module = 2 + seq % 4") == 0);
    REQUIRE(peak_find(db, 1, 1, INT64_MIN, INT64_MAX, &peak) == 0);
    REQUIRE(holders_read(db, 1, 1, peak.living_seq, 8, &holders) == 0);
    CHECK(holders_are_valid(&holders));
    CHECK(is_named(&holders, "[0-1] (Linear)"));
    CHECK(is_named(&holders, "2 (ReLU)"));
    CHECK(is_named(&holders, "head"));
    holders_clear(&holders);
    peak_clear(&peak);
    db_close(db);
}

/* Of two modules that multiplied first, on two streams. */
TEST(what_a_library_keeps_is_of_no_module)
{
    struct db *db = recording("train");
    struct holders holders;
    struct peak peak;
    int64_t library = 0;
    REQUIRE(db_exec(db, "DELETE FROM module;"
                        "INSERT INTO module VALUES(1, '', 'Model'), (2, 'down', 'Linear'),"
                        " (3, 'up', 'Linear');"
                        "UPDATE device SET kind = 'cuda';"
                        "INSERT INTO setting VALUES(1, NULL, 'imported_from', 'snapshot');"
                        "INSERT INTO string VALUES(900, 'at::cuda::getNewWorkspace');"
                        "INSERT INTO frame VALUES(900, 900, NULL, NULL);"
                        "INSERT INTO site VALUES(900, 0, 900);"
                        "UPDATE allocation SET module = 2 + seq % 2;"
                        "UPDATE allocation SET site = 900, tag = NULL, size = 8 << 20"
                        " WHERE seq % 3 = 0") == 0);
    REQUIRE(peak_find(db, 1, 1, INT64_MIN, INT64_MAX, &peak) == 0);
    REQUIRE(holders_read(db, 1, 1, peak.living_seq, 8, &holders) == 0);
    CHECK(holders_are_valid(&holders));
    CHECK(is_named(&holders, "cuBLAS"));
    for (size_t i = 0; i < holders.count; i++) {
        const struct holder *holder = &holders.holders[i];
        bool own = holder->name && strcmp(holder->name, "cuBLAS") == 0;
        library += holder->held[PURPOSE_LIBRARY];
        CHECK_INT(own ? holder->bytes : 0, holder->held[PURPOSE_LIBRARY]);
    }
    CHECK(library > 0);
    holders_clear(&holders);
    peak_clear(&peak);
    db_close(db);
}

TEST_MAIN(TEST_CASE(rows_and_the_rest_are_all), TEST_CASE(a_number_has_its_class_beside_it),
          TEST_CASE(what_a_library_keeps_is_of_no_module))
