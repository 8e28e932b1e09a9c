#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "error.h"
#include "suggest.h"

/* ---- values ---- */

bool option_read_int(const char *text, int64_t *value)
{
    char *end;
    if (!isdigit((unsigned char)text[0]) && text[0] != '-' && text[0] != '+')
        return false;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (errno || end == text || *end)
        return false;
    *value = n;
    return true;
}

static bool read_unit(const char *text, double *factor)
{
    static const char letters[] = "kmgt";
    if (*text == '\0' || strcasecmp(text, "b") == 0) {
        *factor = 1;
        return true;
    }
    const char *letter = strchr(letters, tolower((unsigned char)*text));
    if (!letter)
        return false;
    double step = 1024;
    if (strcasecmp(text + 1, "b") == 0)
        step = 1000;
    else if (text[1] && strcasecmp(text + 1, "ib") != 0)
        return false;
    *factor = 1;
    for (const char *at = letters; at <= letter; at++)
        *factor *= step;
    return true;
}

bool option_read_size(const char *text, int64_t *value)
{
    char *end;
    double factor;
    if (!isdigit((unsigned char)text[0]))
        return false;
    double n = strtod(text, &end);
    while (*end == ' ')
        end++;
    if (end == text || !read_unit(end, &factor))
        return false;
    if (n * factor >= 9.2e18)
        return false;
    *value = (int64_t)(n * factor);
    return true;
}

bool option_read_range(const char *text, struct option_range *value)
{
    char first[32];
    const char *dots = strstr(text, "..");
    if (!dots) {
        if (!option_read_int(text, &value->first))
            return false;
        value->last = value->first;
        return true;
    }
    size_t n = (size_t)(dots - text);
    if (n >= sizeof first || strlen(text) == 2)
        return false;
    memcpy(first, text, n);
    first[n] = '\0';
    struct option_range read = OPTION_RANGE_ALL;
    if (n && !option_read_int(first, &read.first))
        return false;
    if (dots[2] && !option_read_int(dots + 2, &read.last))
        return false;
    if (read.first > read.last)
        return false;
    *value = read;
    return true;
}

/* ---- messages ---- */

#define SAY(parse, ...) (snprintf((parse)->message, sizeof(parse)->message, __VA_ARGS__), ERR_ARG)
#define SAY_OF(parse, option, format, ...)                                                         \
    SAY(parse, "%s%s " format, (parse)->plain ? "" : "--", (option)->name, __VA_ARGS__)

static int say_choice(struct options_parse *parse, const struct option *option, const char *text)
{
    char list[128] = "";
    size_t used = 0;
    struct suggest near = {.word = text};
    for (size_t i = 0; option->choices[i]; i++) {
        const char *join = i == 0 ? "" : option->choices[i + 1] ? ", " : " or ";
        int n = snprintf(list + used, sizeof list - used, "%s%s", join, option->choices[i]);
        used += n > 0 && (size_t)n < sizeof list - used ? (size_t)n : 0;
        suggest_offer(&near, option->choices[i]);
    }
    if (near.best)
        return SAY_OF(parse, option, "is %s, not '%.60s'; did you mean '%s'?", list, text,
                      near.best);
    return SAY_OF(parse, option, "is %s, not '%.60s'", list, text);
}

static int say_unknown(struct options_parse *parse, const char *typed, size_t length)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(length > 60 ? 60 : length), typed);
    struct suggest near = {.word = name};
    for (size_t t = 0; t < OPTIONS_TABLES; t++)
        for (const struct option *o = parse->tables[t]; o && o->name; o++)
            suggest_offer(&near, o->name);
    suggest_offer(&near, "help");
    if (near.best)
        return SAY(parse, "unknown option '--%s'; did you mean '--%s'?", name, near.best);
    return SAY(parse, "unknown option '--%s'", name);
}

/* ---- one option ---- */

static int add_text(struct options_parse *parse, const struct option *option,
                    struct option_texts *list, const char *text)
{
    if (list->count == OPTION_TEXTS_MOST)
        return SAY_OF(parse, option, "can be passed %d times", OPTION_TEXTS_MOST);
    list->texts[list->count++] = text;
    return 0;
}

int options_set(struct options_parse *parse, const struct option *option, const char *text)
{
    char *base = parse->target;
    void *at = base + option->at;
    int64_t number;
    struct option_range range;

    switch (option->kind) {
    case OPT_FLAG:
        *(bool *)at = true;
        return 0;
    case OPT_TEXT:
    case OPT_FILE:
    case OPT_DATABASE:
        *(const char **)at = text;
        return 0;
    case OPT_TEXTS:
        return add_text(parse, option, at, text);
    case OPT_INT:
        if (!option_read_int(text, &number))
            return SAY_OF(parse, option, "needs a number, not '%.60s'", text);
        if (number < option->least)
            return SAY_OF(parse, option, "must be at least %lld, not %lld",
                          (long long)option->least, (long long)number);
        *(int64_t *)at = number;
        return 0;
    case OPT_SIZE:
        if (!option_read_size(text, &number))
            return SAY_OF(parse, option, "needs a size such as 24GiB or 512M, not '%.60s'", text);
        *(int64_t *)at = number;
        return 0;
    case OPT_RANGE:
        if (!option_read_range(text, &range))
            return SAY_OF(parse, option, "needs A..B, A.., ..B or A with A <= B, not '%.60s'",
                          text);
        if (range.last < option->least || (range.first != INT64_MIN && range.first < option->least))
            return SAY_OF(parse, option, "begins at %lld, so it cannot be '%.60s'",
                          (long long)option->least, text);
        *(struct option_range *)at = range;
        return 0;
    case OPT_CHOICE:
        for (int i = 0; option->choices[i]; i++) {
            if (strcmp(option->choices[i], text) == 0) {
                *(int *)at = i;
                return 0;
            }
        }
        return say_choice(parse, option, text);
    }
    return SAY(parse, "--%s cannot be read", option->name);
}

static const struct option *find(const struct options_parse *parse, const char *name, size_t length,
                                 char letter)
{
    for (size_t t = 0; t < OPTIONS_TABLES; t++) {
        for (const struct option *o = parse->tables[t]; o && o->name; o++) {
            if (letter ? o->letter == letter
                       : strlen(o->name) == length && memcmp(o->name, name, length) == 0)
                return o;
        }
    }
    return NULL;
}

/* "--name", "--name=value" and "--name value". */
static int take_long(struct options_parse *parse, int argc, char **argv, int *i)
{
    const char *name = argv[*i] + 2;
    const char *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct option *option = find(parse, name, length, 0);

    if (!option)
        return say_unknown(parse, name, length);
    if (option->kind == OPT_FLAG) {
        if (equals)
            return SAY(parse, "--%s takes no value", option->name);
        return options_set(parse, option, NULL);
    }
    if (!equals && *i + 1 >= argc)
        return SAY(parse, "--%s needs a value: %s", option->name, option->value);
    return options_set(parse, option, equals ? equals + 1 : argv[++*i]);
}

/* "-x", "-xvalue" and "-x value"; flags can stand together. */
static int take_short(struct options_parse *parse, int argc, char **argv, int *i)
{
    for (const char *at = argv[*i] + 1; *at; at++) {
        if (*at == 'h') {
            parse->help = true;
            return 0;
        }
        const struct option *option = find(parse, NULL, 0, *at);
        if (!option)
            return SAY(parse, "unknown option '-%c'", *at);
        if (option->kind == OPT_FLAG) {
            options_set(parse, option, NULL);
            continue;
        }
        if (!at[1] && *i + 1 >= argc)
            return SAY(parse, "-%c needs a value: %s", *at, option->value);
        return options_set(parse, option, at[1] ? at + 1 : argv[++*i]);
    }
    return 0;
}

/* SQL that begins with a comment: no name of an option begins with a blank. */
static bool is_comment(const char *word)
{
    return word[0] == '-' && word[1] == '-' && word[2] && strchr(" \t\n", word[2]);
}

int options_parse(struct options_parse *parse, int argc, char **argv)
{
    bool ended = false;

    parse->argument_count = 0;
    parse->help = false;
    parse->message[0] = '\0';
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (ended || word[0] != '-' || word[1] == '\0') {
            parse->arguments[parse->argument_count++] = argv[i];
            ended = ended || parse->first_argument_ends;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            ended = true;
            continue;
        }
        if (is_comment(word)) {
            parse->arguments[parse->argument_count++] = argv[i];
            continue;
        }
        if (strcmp(word, "--help") == 0) {
            parse->help = true;
            return 0;
        }
        int err =
            word[1] == '-' ? take_long(parse, argc, argv, &i) : take_short(parse, argc, argv, &i);
        if (err || parse->help)
            return err;
    }
    return 0;
}
