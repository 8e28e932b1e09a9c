#include "test.h"

#include <stdint.h>
#include <string.h>

#include "db.h"
#include "error.h"
#include "commands.h"
#include "moment.h"
#include "recording.h"

static int arguments(char *first, char *second, struct moment_request *out)
{
    const char *near;
    char *list[2] = {first, second};
    const struct command_call call = {.command = command_find("frag", &near)};
    int count = (first != NULL) + (second != NULL);
    REQUIRE(call.command != NULL);
    return moment_arguments(&call, list, count, out);
}

TEST(which_argument_is_which)
{
    struct moment_request request;
    char run[] = "run.db", end[] = "end", step[] = "7", phase[] = "7/backward", late[] = "@2s";
    CHECK_INT(arguments(NULL, NULL, &request), 0);
    CHECK(request.database == NULL && request.moment == NULL);
    CHECK_INT(arguments(run, NULL, &request), 0);
    CHECK(request.database == run && request.moment == NULL);
    CHECK_INT(arguments(end, NULL, &request), 0);
    CHECK(request.database == NULL && request.moment == end);
    CHECK_INT(arguments(run, phase, &request), 0);
    CHECK(request.database == run && request.moment == phase);
    CHECK_INT(arguments(late, run, &request), 0);
    CHECK(request.database == run && request.moment == late);
    CHECK_INT(arguments(step, end, &request), 0); /* a file can have any name */
    CHECK_STR(request.moment, "7");
    CHECK_STR(request.database, "end");
}

TEST(what_is_neither)
{
    struct moment_request request;
    char run[] = "run.db", other[] = "other.db";
    CHECK_INT(arguments(run, other, &request), EXIT_USAGE);
}

static struct instant find(struct db *db, const char *name, int64_t first, int64_t last, int want)
{
    const struct report_options options = {.process = REPORT_ANY, .steps = {first, last}};
    const struct report report = {.db = db, .options = &options};
    const struct report_scope scope = {.process = {.id = 1}, .device = 1};
    struct instant instant;
    CHECK_INT(moment_find(&report, &scope, name, &instant), want);
    return instant;
}

TEST(the_moment_of_a_report)
{
    struct db *db = recording("frag");
    struct instant instant = find(db, NULL, INT64_MIN, INT64_MAX, 0);
    CHECK_INT(instant.seq, 25);
    CHECK_INT(instant.step, 1);
    CHECK_STR(instant.label, "peak of step 1, forward");
    CHECK_INT(find(db, NULL, 2, INT64_MAX, 0).seq, 46); /* the highest of --steps */
    CHECK_INT(find(db, NULL, 0, 0, 0).step, 0);
    CHECK_INT(find(db, "2", 0, 0, 0).seq, 46); /* a name is a name */
    CHECK_INT(find(db, "1/backward", INT64_MIN, INT64_MAX, 0).seq, 40);
    CHECK_STR(find(db, NULL, 7, 9, ERR_NOTFOUND).label, "peak");
    CHECK_STR(find(db, "9", INT64_MIN, INT64_MAX, ERR_NOTFOUND).label, "step 9");
    db_close(db);
}

TEST_MAIN(TEST_CASE(which_argument_is_which), TEST_CASE(what_is_neither),
          TEST_CASE(the_moment_of_a_report))
