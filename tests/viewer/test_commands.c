#include "test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "buf.h"
#include "commands.h"
#include "db.h"
#include "error.h"
#include "help.h"
#include "mem.h"
#include "report.h"

static char *make(const char *name)
{
    static char result[512];
    struct db *db;
    struct buf text = {0};
    char path[512], part[4096];
    size_t n;
    snprintf(path, sizeof path, "%s/%s.sql", TEST_DATA, name);
    FILE *file = fopen(path, "r");
    REQUIRE(file != NULL);
    while ((n = fread(part, 1, sizeof part, file)) > 0)
        buf_add(&text, part, n);
    fclose(file);
    snprintf(result, sizeof result, "%s", test_path(name));
    REQUIRE(db_create(&db, result) == 0);
    REQUIRE(db_exec(db, buf_string(&text)) == 0);
    CHECK_INT(db_checkpoint(db, true), 0);
    CHECK_INT(db_single_file(db), 0);
    db_close(db);
    buf_clear(&text);
    return result;
}

static const struct command *get(const char *name)
{
    const char *near;
    const struct command *command = command_find(name, &near);
    REQUIRE(command != NULL);
    return command;
}

TEST(commands_are_found_or_hinted_at)
{
    const char *near;
    for (const struct command *const *at = commands; *at; at++)
        CHECK(command_find((*at)->name, &near) == *at);
    CHECK(command_find("pesk", &near) == NULL);
    CHECK_STR(near, "peak");
    CHECK(command_find("hlep", &near) == NULL);
    CHECK_STR(near, "help");
    CHECK(command_find("", &near) == NULL);
    CHECK(near == NULL);
}

static void check_option(const struct option *option, const struct option *others)
{
    CHECK(option->help && *option->help && option->help[strlen(option->help) - 1] != '.');
    CHECK((option->kind == OPT_FLAG) == (option->value == NULL));
    CHECK(option->kind == OPT_TEXT || (option->kind == OPT_CHOICE) == (option->choices != NULL));
    CHECK(option->letter != 'h' && strcmp(option->name, "help") != 0);
    for (const struct option *at = others; at && at->name; at++) {
        if (at == option)
            continue;
        CHECK(strcmp(at->name, option->name) != 0);
        CHECK(!at->letter || at->letter != option->letter);
    }
}

TEST(tables_make_sense)
{
    for (const struct command *const *at = commands; *at; at++) {
        const struct command *command = *at;
        CHECK(command->run && command->summary && command->description && command->arguments);
        CHECK(strlen(command->summary) <= 66); /* the overview is 80 columns wide */
        CHECK(command->most < 0 || command->least <= command->most);
        CHECK(command->examples[0].line != NULL);
        const struct option *common = command_shared_options(command);
        for (const struct option *o = command->options; o && o->name; o++) {
            check_option(o, command->options);
            check_option(o, common);
        }
        for (const struct option *o = common; o && o->name; o++)
            check_option(o, common);
    }
}

/* A terminal of 80 columns breaks no line of any help. */
static void check_width(FILE *file, const char *whose)
{
    char line[512];
    rewind(file);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (strlen(line) > 79)
            CHECK_STR(line, whose);
    }
    fclose(file);
}

TEST(every_help_fits_into_80_columns)
{
    FILE *file = tmpfile();
    REQUIRE(file != NULL);
    help_overview(file, commands);
    check_width(file, "the overview");
    for (const struct command *const *at = commands; *at; at++) {
        file = tmpfile();
        REQUIRE(file != NULL);
        help_command(file, *at);
        check_width(file, (*at)->name);
    }
}

TEST(help_names_every_option)
{
    for (const struct command *const *at = commands; *at; at++) {
        static char text[1 << 16];
        FILE *file = tmpfile();
        REQUIRE(file != NULL);
        help_command(file, *at);
        rewind(file);
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
        for (const struct option *o = (*at)->options; o && o->name; o++) {
            char name[64];
            snprintf(name, sizeof name, "--%s", o->name);
            CHECK(strstr(text, name) != NULL);
        }
    }
}

/* Runs a command with memory for n - 1 more requests; 0 = all that it wants. */
static int run(const char *name, const char *one, const char *two, const char *three, long n)
{
    char words[3][512];
    const char *const given[] = {one, two, three};
    char *argv[4] = {NULL};
    int argc = 0;
    for (size_t i = 0; i < 3 && given[i]; i++) {
        snprintf(words[argc], sizeof words[argc], "%s", given[i]);
        argv[argc] = words[argc];
        argc++;
    }
    mem_fail_after(n);
    int code = get(name)->run(&(struct command_call){get(name), argc, argv});
    mem_fail_after(0);
    return code;
}

/* Each request for memory fails in turn: every time that is an internal error, and nothing stays
 * open or allocated (the address sanitizer looks). */
static void starve(const char *name, const char *format, const char *database, const char *last)
{
    long n = 1;
    int code;
    while ((code = run(name, format, database, last, n)) != EXIT_FINE) {
        CHECK_INT(code, EXIT_INTERNAL);
        n = test_next_failure(n);
        REQUIRE(n < 3000);
    }
    CHECK(n > 5);
}

TEST(memory_may_run_out_in_any_report)
{
    static const char *const formats[] = {"--format=table", "--format=csv", "--format=json"};
    static const char *const names[] = {"info", "phases", "peak"};
    REQUIRE(freopen("/dev/null", "w", stdout) != NULL);
    const char *database = make("ranks");
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++)
            starve(names[i], formats[j], database, NULL);
    for (size_t j = 0; j < 3; j++)
        starve("sql", formats[j], database, "SELECT * FROM phase; SELECT 1, 2, 1");
    for (size_t j = 0; j < 3; j++)
        starve("timeline", formats[j], database, NULL);
    starve("timeline", "--plot", database, NULL);
    starve("timeline", "--plot", database, "--bytes-by=category");
    starve("timeline", "--plot", database, "--by=events");
    starve("timeline", "--bytes-by=category", database, NULL);
}

TEST(a_report_leaves_the_file_alone)
{
    REQUIRE(freopen("/dev/null", "w", stdout) != NULL);
    const char *database = make("train");
    struct stat before, after;
    CHECK_INT(stat(database, &before), 0);
    CHECK_INT(run("peak", database, NULL, NULL, 0), EXIT_FINE);
    CHECK_INT(run("info", database, NULL, NULL, 0), EXIT_FINE);
    CHECK_INT(run("sql", database, "DELETE FROM phase", NULL, 0), EXIT_USAGE);
    CHECK_INT(stat(database, &after), 0);
    CHECK_INT(after.st_size, before.st_size);
    CHECK_INT(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
    CHECK_INT(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
}

TEST(a_recording_can_be_read_while_it_is_written)
{
    struct db *db;
    REQUIRE(freopen("/dev/null", "w", stdout) != NULL);
    REQUIRE(db_create(&db, test_path("run.db")) == 0);
    CHECK_INT(db_exec(db, "INSERT INTO meta VALUES('finished', 0)"), 0);
    CHECK_INT(db_begin(db), 0);
    CHECK_INT(db_exec(db, "INSERT INTO meta VALUES('more', 1)"), 0);
    CHECK_INT(run("info", test_path("run.db"), NULL, NULL, 0), EXIT_FINE);
    CHECK_INT(run("phases", test_path("run.db"), NULL, NULL, 0), EXIT_FINE);
    CHECK_INT(db_commit(db), 0); /* no report holds it up */
    CHECK_INT(db_checkpoint(db, true), 0);
    db_close(db);
}

TEST_MAIN(TEST_CASE(commands_are_found_or_hinted_at), TEST_CASE(tables_make_sense),
          TEST_CASE(every_help_fits_into_80_columns), TEST_CASE(help_names_every_option),
          TEST_CASE(memory_may_run_out_in_any_report), TEST_CASE(a_report_leaves_the_file_alone),
          TEST_CASE(a_recording_can_be_read_while_it_is_written))
