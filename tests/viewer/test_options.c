#include "test.h"

#include <stdio.h>
#include <string.h>

#include "error.h"
#include "options.h"
#include "suggest.h"

struct values {
    bool all, quiet;
    int64_t top, size;
    const char *name;
    int format;
    struct option_range steps;
    struct option_texts texts;
};

static const char *const formats[] = {"table", "csv", "json", NULL};

static const struct option table[] = {
    {"all", 'a', OPT_FLAG, offsetof(struct values, all), NULL, "all of it", NULL, 0},
    {"quiet", 'q', OPT_FLAG, offsetof(struct values, quiet), NULL, "quiet", NULL, 0},
    {"top", 'n', OPT_INT, offsetof(struct values, top), "N", "how many", NULL, 1},
    {"size", 0, OPT_SIZE, offsetof(struct values, size), "SIZE", "how large", NULL, 0},
    {0},
};
static const struct option more[] = {
    {"name", 'm', OPT_TEXT, offsetof(struct values, name), "NAME", "a name", NULL, 0},
    {"format", 'f', OPT_CHOICE, offsetof(struct values, format), "FORMAT", "form", formats, 0},
    {"steps", 0, OPT_RANGE, offsetof(struct values, steps), "A..B", "steps", NULL, 0},
    {"text", 't', OPT_TEXTS, offsetof(struct values, texts), "TEXT", "one of many", NULL, 0},
    {0},
};

enum { MOST = 16 };

struct run {
    struct values values;
    struct options_parse parse;
    char *arguments[MOST];
    int result;
};

/* Words are separated by one blank; "_" stands for an empty word. */
static void run(struct run *run, const char *line, bool first_ends)
{
    static char words[512];
    char *argv[MOST];
    int argc = 0;
    *run = (struct run){.values = {.top = 10, .steps = OPTION_RANGE_ALL}};
    strncpy(words, line, sizeof words - 1);
    for (char *save = NULL, *word = strtok_r(words, " ", &save); word;
         word = strtok_r(NULL, " ", &save)) {
        if (strcmp(word, "_") == 0)
            *word = '\0';
        argv[argc++] = word;
    }
    run->parse = (struct options_parse){
        .tables = {table, more},
        .target = &run->values,
        .first_argument_ends = first_ends,
        .arguments = run->arguments,
    };
    run->result = options_parse(&run->parse, argc, argv);
}

TEST(every_kind_is_read)
{
    struct run r;
    run(&r, "--all --top 7 --size=24GiB --name=x -f json --steps 3..5", false);
    CHECK_INT(r.result, 0);
    CHECK(r.values.all);
    CHECK(!r.values.quiet);
    CHECK_INT(r.values.top, 7);
    CHECK_INT(r.values.size, INT64_C(24) << 30);
    CHECK_STR(r.values.name, "x");
    CHECK_INT(r.values.format, 2);
    CHECK_INT(r.values.steps.first, 3);
    CHECK_INT(r.values.steps.last, 5);
    CHECK_INT(r.parse.argument_count, 0);
}

TEST(what_is_not_given_stays)
{
    struct run r;
    run(&r, "", false);
    CHECK_INT(r.values.top, 10);
    CHECK(r.values.name == NULL);
    CHECK_INT(r.values.steps.first, INT64_MIN);
    CHECK_INT(r.values.steps.last, INT64_MAX);
}

TEST(short_ones_stand_together)
{
    struct run r;
    run(&r, "-aqn5 a.db -m name", false);
    CHECK_INT(r.result, 0);
    CHECK(r.values.all && r.values.quiet);
    CHECK_INT(r.values.top, 5);
    CHECK_STR(r.values.name, "name");
    CHECK_INT(r.parse.argument_count, 1);
    CHECK_STR(r.arguments[0], "a.db");
    run(&r, "-n 6", false);
    CHECK_INT(r.values.top, 6);
}

TEST(two_dashes_end_the_options)
{
    struct run r;
    run(&r, "a --all -- --top b --", false);
    CHECK_INT(r.result, 0);
    CHECK(r.values.all);
    CHECK_INT(r.parse.argument_count, 4);
    CHECK_STR(r.arguments[1], "--top");
    CHECK_STR(r.arguments[3], "--");
    run(&r, "- _", false);
    CHECK_INT(r.parse.argument_count, 2);
    CHECK_STR(r.arguments[0], "-");
    CHECK_STR(r.arguments[1], "");
}

TEST(a_comment_is_no_option)
{
    struct run r;
    char name[] = "a.db", one[] = "-- what is\nSELECT 1", two[] = "--\nSELECT 2", all[] = "--all";
    char *argv[] = {name, one, two, all};
    run(&r, "", false);
    CHECK_INT(options_parse(&r.parse, 4, argv), 0);
    CHECK_INT(r.parse.argument_count, 3);
    CHECK_STR(r.arguments[1], "-- what is\nSELECT 1");
    CHECK_STR(r.arguments[2], "--\nSELECT 2");
    CHECK(r.values.all);
}

TEST(another_programs_options_are_its_own)
{
    struct run r;
    run(&r, "--all python3 --top x -- --help", true);
    CHECK_INT(r.result, 0);
    CHECK(r.values.all);
    CHECK(!r.parse.help);
    CHECK_INT(r.parse.argument_count, 5);
    CHECK_STR(r.arguments[3], "--");
    run(&r, "-- --all --", true);
    CHECK_INT(r.result, 0);
    CHECK(!r.values.all);
    CHECK_INT(r.parse.argument_count, 2);
}

TEST(the_later_value_counts)
{
    struct run r;
    run(&r, "--top 1 --top=2", false);
    CHECK_INT(r.values.top, 2);
}

TEST(of_some_options_all_values_count)
{
    struct run r;
    run(&r, "-t a --text b --text=c", false);
    CHECK_INT(r.result, 0);
    REQUIRE(r.values.texts.count == 3);
    CHECK_STR(r.values.texts.texts[0], "a");
    CHECK_STR(r.values.texts.texts[2], "c");
    run(&r, "-tabcdefghijklmnopqrstu", false);
    CHECK_INT(r.values.texts.count, 1);

    char line[OPTION_TEXTS_MOST * 4 + 8] = "";
    for (int i = 0; i <= OPTION_TEXTS_MOST; i++)
        snprintf(line + strlen(line), sizeof line - strlen(line), "-t%c ", 'a' + i);
    struct options_parse *parse = &r.parse;
    char *argv[OPTION_TEXTS_MOST + 1], *save = NULL;
    int argc = 0;
    for (char *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save))
        argv[argc++] = word;
    r.values.texts.count = 0;
    CHECK_INT(options_parse(parse, argc, argv), ERR_ARG);
    CHECK_STR(parse->message, "--text can be passed 16 times");
}

TEST(help_wins_over_what_follows)
{
    struct run r;
    run(&r, "--top 3 --help --nonsense", false);
    CHECK_INT(r.result, 0);
    CHECK(r.parse.help);
    run(&r, "-ah", false);
    CHECK_INT(r.result, 0);
    CHECK(r.parse.help);
}

TEST(mistakes_are_named_with_what_would_be_right)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"--tpo 3", "unknown option '--tpo'; did you mean '--top'?"},
        {"--hepl", "unknown option '--hepl'; did you mean '--help'?"},
        {"--stesp=3", "unknown option '--stesp'; did you mean '--steps'?"},
        {"--wibble", "unknown option '--wibble'"},
        {"-z", "unknown option '-z'"},
        {"-az", "unknown option '-z'"},
        {"--top", "--top needs a value: N"},
        {"-n", "-n needs a value: N"},
        {"--top many", "--top needs a number, not 'many'"},
        {"--top 0", "--top must be at least 1, not 0"},
        {"--all=1", "--all takes no value"},
        {"--size 3Q", "--size needs a size such as 24GiB or 512M, not '3Q'"},
        {"--format cvs", "--format is table, csv or json, not 'cvs'; did you mean 'csv'?"},
        {"--format yaml", "--format is table, csv or json, not 'yaml'"},
        {"--steps 5..3", "--steps needs A..B, A.., ..B or A with A <= B, not '5..3'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        run(&r, cases[i].line, false);
        CHECK_INT(r.result, ERR_ARG);
        CHECK_STR(r.parse.message, cases[i].message);
    }
}

TEST(numbers_are_whole_and_fit)
{
    int64_t n = 0;
    CHECK(option_read_int("-12", &n));
    CHECK_INT(n, -12);
    CHECK(option_read_int("9223372036854775807", &n));
    CHECK_INT(n, INT64_MAX);
    CHECK(!option_read_int("9223372036854775808", &n));
    CHECK(!option_read_int("", &n));
    CHECK(!option_read_int(" 1", &n));
    CHECK(!option_read_int("1 ", &n));
    CHECK(!option_read_int("1.5", &n));
    CHECK(!option_read_int("-", &n));
}

TEST(sizes_have_units)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } right[] = {
        {"0", 0},
        {"4096", 4096},
        {"12B", 12},
        {"1k", 1024},
        {"1KiB", 1024},
        {"1KB", 1000},
        {"512M", 512 << 20},
        {"1.5GiB", 1610612736},
        {"2 GB", 2000000000},
        {"1T", INT64_C(1) << 40},
    };
    static const char *const wrong[] = {"", "M", "-1", "1X", "1MiBs", "1e30", "9000000T", "nan"};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        int64_t bytes = -1;
        CHECK(option_read_size(right[i].text, &bytes));
        CHECK_INT(bytes, right[i].bytes);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int64_t bytes;
        CHECK(!option_read_size(wrong[i], &bytes));
    }
}

TEST(ranges_may_be_open)
{
    struct option_range range;
    CHECK(option_read_range("4", &range));
    CHECK(range.first == 4 && range.last == 4);
    CHECK(option_read_range("4..", &range));
    CHECK(range.first == 4 && range.last == INT64_MAX);
    CHECK(option_read_range("..4", &range));
    CHECK(range.first == INT64_MIN && range.last == 4);
    CHECK(option_read_range("-1..4", &range));
    CHECK(range.first == -1 && range.last == 4);
    range = (struct option_range){7, 8};
    CHECK(!option_read_range("..", &range));
    CHECK(!option_read_range("", &range));
    CHECK(!option_read_range("1...4", &range));
    CHECK(!option_read_range("4..1", &range));
    CHECK(!option_read_range("111111111111111111111111111111111111..2", &range));
    CHECK(range.last == 8);
}

TEST(distance_counts_slips_of_the_finger)
{
    CHECK_INT(suggest_distance("", ""), 0);
    CHECK_INT(suggest_distance("peak", "peak"), 0);
    CHECK_INT(suggest_distance("", "peak"), 4);
    CHECK_INT(suggest_distance("peak", ""), 4);
    CHECK_INT(suggest_distance("peka", "peak"), 1); /* a swap */
    CHECK_INT(suggest_distance("pek", "peak"), 1);
    CHECK_INT(suggest_distance("peaks", "peak"), 1);
    CHECK_INT(suggest_distance("leak", "peak"), 1);
    CHECK_INT(suggest_distance("kitten", "sitting"), 3);
    CHECK_INT(suggest_distance("ca", "abc"), 3);
}

TEST(distance_is_the_same_both_ways)
{
    uint64_t seed = 5;
    for (int i = 0; i < 2000; i++) {
        char a[12] = "", b[12] = "";
        for (size_t n = test_random(&seed) % 10, k = 0; k < n; k++)
            a[k] = (char)('a' + test_random(&seed) % 3);
        for (size_t n = test_random(&seed) % 10, k = 0; k < n; k++)
            b[k] = (char)('a' + test_random(&seed) % 3);
        unsigned distance = suggest_distance(a, b);
        size_t na = strlen(a), nb = strlen(b);
        if (distance != suggest_distance(b, a) || (distance == 0) != (strcmp(a, b) == 0) ||
            distance > (na > nb ? na : nb) || distance < (na > nb ? na - nb : nb - na))
            CHECK_STR(a, b);
    }
}

TEST(only_near_words_are_suggested)
{
    struct suggest s = {.word = "phaess"};
    suggest_offer(&s, "peak");
    suggest_offer(&s, "phases");
    suggest_offer(&s, "sql");
    CHECK_STR(s.best, "phases");
    s = (struct suggest){.word = "quux"};
    suggest_offer(&s, "peak");
    suggest_offer(&s, "sql");
    CHECK(s.best == NULL);
    s = (struct suggest){.word = "form"}; /* the beginning of a word */
    suggest_offer(&s, "format");
    CHECK_STR(s.best, "format");
    char longer[200];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    s = (struct suggest){.word = longer};
    suggest_offer(&s, "format");
    CHECK(s.best == NULL);
}

TEST_MAIN(TEST_CASE(every_kind_is_read), TEST_CASE(what_is_not_given_stays),
          TEST_CASE(short_ones_stand_together), TEST_CASE(two_dashes_end_the_options),
          TEST_CASE(a_comment_is_no_option), TEST_CASE(another_programs_options_are_its_own),
          TEST_CASE(the_later_value_counts), TEST_CASE(of_some_options_all_values_count),
          TEST_CASE(help_wins_over_what_follows),
          TEST_CASE(mistakes_are_named_with_what_would_be_right),
          TEST_CASE(numbers_are_whole_and_fit), TEST_CASE(sizes_have_units),
          TEST_CASE(ranges_may_be_open), TEST_CASE(distance_counts_slips_of_the_finger),
          TEST_CASE(distance_is_the_same_both_ways), TEST_CASE(only_near_words_are_suggested))
