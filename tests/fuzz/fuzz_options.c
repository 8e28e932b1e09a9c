/*
 * Command lines: the first line of the input names a command, the others are its words, parsed by
 * the tables of the real command. Each word is also read as every kind of value, and all behind the
 * first line as a file of limits.
 */
#include "check_limits.h"
#include "instant.h"
#include "commands.h"
#include "error.h"
#include "fuzz.h"
#include "report.h"

#define MOST_WORDS 64
#define TARGET_BYTES 16384 /* more than any command's options */

static void read_values(const char *text, size_t length)
{
    int64_t number;
    struct option_range range;
    option_read_int(text, &number);
    if (option_read_size(text, &number))
        MUST(number >= 0);
    if (option_read_range(text, &range))
        MUST(range.first <= range.last);
    char *first = malloc(length + 1), *second = malloc(length + 1);
    MUST(first && second);
    bool pair = instant_pair(text, first, second);
    if (pair)
        MUST(strlen(first) + strlen(second) + 2 <= length);
    instant_is_name(text);
    free(first);
    free(second);
}

/* Text that options point to is one of the words, or stands inside of one. */
static void parse(const struct command *command, char **words, int count)
{
    static _Alignas(16) unsigned char target[TARGET_BYTES];
    char *arguments[MOST_WORDS + 1];
    struct options_parse parse = {
        .tables = {command->options, command_shared_options(command)},
        .target = target,
        .first_argument_ends = command->takes == TAKES_PROGRAM,
        .arguments = arguments,
    };
    for (size_t t = 0; t < OPTIONS_TABLES; t++)
        for (const struct option *o = parse.tables[t]; o && o->name; o++)
            MUST(o->at + sizeof(struct option_range) <= sizeof target);
    memset(target, 0, sizeof target);
    int err = options_parse(&parse, count, words);
    MUST(err == BASE_OK || err == ERR_ARG);
    MUST((err == ERR_ARG) == (parse.message[0] != '\0'));
    MUST(parse.argument_count <= count);
    for (int i = 0; i < parse.argument_count; i++)
        MUST(strlen(arguments[i]) < SIZE_MAX);
}

static void read_limits(const char *text, size_t bytes)
{
    struct check_limits limits = CHECK_LIMITS;
    struct check_file file = {0};
    char message[320] = "";
    int err = check_file_read("some/limits", text, bytes, &limits, &file, message, sizeof message);
    MUST(err == BASE_OK || (err == ERR_ARG && message[0]));
    if (err == BASE_OK && check_limits_settle(&limits, message, sizeof message)) {
        MUST(limits.max_peak >= CHECK_NONE && limits.max_growth >= CHECK_NONE);
        check_limits_fit(&limits, message, sizeof message);
        check_limits_any(&limits);
    }
    check_file_clear(&file);
}

static int cut_words(char *text, char **words, int most)
{
    int count = 0;
    for (char *next = text; next && count < most;) {
        words[count++] = next;
        next = strchr(next, '\n');
        if (next)
            *next++ = '\0';
    }
    return count;
}

/* Each word in memory of its own, so that a read behind its end is seen. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    char *words[MOST_WORDS] = {0};
    const char *near;
    char *text = malloc(count + 1);
    MUST(text);
    memcpy(text, bytes, count);
    text[count] = '\0';
    const char *line = memchr(text, '\n', count);
    size_t first = line ? (size_t)(line + 1 - text) : count;
    read_limits(text + first, count - first);
    int word_count = cut_words(text, words, MOST_WORDS);
    for (int i = 0; i < word_count; i++) {
        words[i] = strdup(words[i]);
        MUST(words[i]);
        read_values(words[i], strlen(words[i]));
    }
    const struct command *command = command_find(words[0], &near);
    if (command)
        parse(command, words + 1, word_count - 1);
    else
        for (const struct command *const *at = commands; *at; at++)
            parse(*at, words + 1, word_count - 1);
    for (int i = 0; i < word_count; i++)
        free(words[i]);
    free(text);
    return 0;
}
