#include "check_limits.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "suggest.h"

static const struct option file_options[] = {
    CHECK_LIMIT_OPTIONS(0), CHECK_LIMIT(0, "device", OPT_TEXT, device, "NAME", "as --device"), {0}};

/* ---- numbers ---- */

/* 5, 5% and 5 %. */
static bool read_percent(const char *text, bool sign_needed, double *share)
{
    char *end;
    if (!isdigit((unsigned char)text[0]))
        return false;
    double value = strtod(text, &end);
    while (*end == ' ')
        end++;
    if ((*end == '%' ? end[1] != '\0' : *end != '\0' || sign_needed) || !isfinite(value))
        return false;
    *share = value / 100;
    return true;
}

/* A bare number might mean either, so it is neither; nothing is nothing. */
static bool read_increase(const char *text, struct check_increase *more)
{
    size_t length = strlen(text);
    more->is_share = read_percent(text, true, &more->share);
    if (more->is_share || strcmp(text, "0") == 0)
        return true;
    return length && isalpha((unsigned char)text[length - 1]) &&
           option_read_size(text, &more->bytes);
}

bool check_limits_settle(struct check_limits *limits, char *message, size_t size)
{
    limits->max_fragmentation = CHECK_NONE;
    limits->max_increase = (struct check_increase){0};
    if (limits->fragmentation &&
        (!read_percent(limits->fragmentation, false, &limits->max_fragmentation) ||
         limits->max_fragmentation > 1)) {
        snprintf(message, size, "max-fragmentation needs a percentage from 0 to 100, not '%.60s'",
                 limits->fragmentation);
        return false;
    }
    if (limits->increase && !read_increase(limits->increase, &limits->max_increase)) {
        snprintf(message, size,
                 "max-increase needs a percentage such as 5%% or a size such as 200MiB, not "
                 "'%.60s'",
                 limits->increase);
        return false;
    }
    return true;
}

bool check_limits_any(const struct check_limits *limits)
{
    return limits->max_peak != CHECK_NONE || limits->max_reserved != CHECK_NONE ||
           limits->max_growth != CHECK_NONE || limits->fragmentation || limits->baseline ||
           limits->increase || limits->no_oom || limits->no_lost;
}

bool check_limits_fit(const struct check_limits *limits, char *message, size_t size)
{
    const char *wrong = NULL;
    if (!check_limits_any(limits))
        wrong = "give a limit, such as --max-peak 20GiB, or --limits FILE";
    else if (limits->baseline && !limits->increase)
        wrong = "--baseline needs --max-increase, such as 2%";
    else if (!limits->baseline && limits->increase)
        wrong = "--max-increase needs --baseline FILE";
    if (wrong)
        snprintf(message, size, "%s", wrong);
    return !wrong;
}

/* ---- lines ---- */

struct line {
    const char *path;
    int number;
    char *message;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static int wrong(const struct line *line, const char *format,
                                                       ...)
{
    char text[320];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    snprintf(line->message, line->size, "%.200s:%d: %s", line->path, line->number, text);
    return ERR_ARG;
}

/* Cuts blanks off both ends; the text shrinks in place. */
static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

static void drop_comment(char *text)
{
    for (char *at = text; *at; at++) {
        if (*at == '#' && (at == text || isspace((unsigned char)at[-1]))) {
            *at = '\0';
            return;
        }
    }
}

static const struct option *find(const struct line *line, const char *name)
{
    struct suggest near = {.word = name};
    for (const struct option *o = file_options; o->name; o++) {
        if (strcmp(o->name, name) == 0)
            return o;
        suggest_offer(&near, o->name);
    }
    if (near.best)
        wrong(line, "unknown limit '%.60s'; did you mean '%s'?", name, near.best);
    else
        wrong(line, "unknown limit '%.60s'", name);
    return NULL;
}

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words && strcmp(word, *words) != 0)
        words++;
    return *words != NULL;
}

static int set_flag(const struct line *line, const struct option *option, const char *value,
                    struct check_limits *limits)
{
    static const char *const yes[] = {"yes", "true", "on", "1", NULL};
    static const char *const no[] = {"no", "false", "off", "0", NULL};
    bool *flag = (bool *)((char *)limits + option->at);
    if (!is_one_of(value, yes) && !is_one_of(value, no))
        return wrong(line, "%s is yes or no, not '%.60s'", option->name, value);
    *flag = is_one_of(value, yes);
    return 0;
}

/* As on the command line. */
static int set_value(const struct line *line, const struct option *option, char *value,
                     struct check_limits *limits)
{
    struct options_parse parse = {.target = limits, .plain = true};
    char text[320];
    if (options_set(&parse, option, value) < 0)
        return wrong(line, "%s", parse.message);
    if (!check_limits_settle(limits, text, sizeof text))
        return wrong(line, "%s", text);
    return 0;
}

static int read_line(const struct line *line, char *text, struct check_limits *limits)
{
    drop_comment(text);
    char *name = trim(text), *equals = strchr(name, '=');
    if (!*name)
        return 0;
    if (!equals)
        return wrong(line, "a line is 'name = value', not '%.60s'", name);
    *equals = '\0';
    char *value = trim(equals + 1);
    const struct option *option = find(line, trim(name));
    if (!option)
        return ERR_ARG;
    if (!*value)
        return wrong(line, "%s has no value", option->name);
    return option->kind == OPT_FLAG ? set_flag(line, option, value, limits)
                                    : set_value(line, option, value, limits);
}

/* ---- the file ---- */

static int find_beside(const char *path, struct check_limits *limits, struct check_file *file)
{
    const char *slash = strrchr(path, '/');
    if (!limits->baseline || limits->baseline[0] == '/' || !slash)
        return 0;
    size_t folder = (size_t)(slash - path) + 1, name = strlen(limits->baseline);
    if (!(file->baseline = mem_alloc(folder + name + 1, 1)))
        return ERR_NOMEM;
    memcpy(file->baseline, path, folder);
    memcpy(file->baseline + folder, limits->baseline, name + 1);
    limits->baseline = file->baseline;
    return 0;
}

int check_file_read(const char *path, const char *text, size_t bytes, struct check_limits *limits,
                    struct check_file *file, char *message, size_t size)
{
    struct line line = {path, 0, message, size};
    int err = 0;
    *file = (struct check_file){.words = mem_copy(text, bytes)};
    if (!file->words)
        return ERR_NOMEM;
    for (char *at = file->words, *end = at + bytes, *next; at < end && err == 0; at = next) {
        char *feed = memchr(at, '\n', (size_t)(end - at));
        next = feed ? feed + 1 : end;
        if (feed)
            *feed = '\0';
        line.number++;
        if (strlen(at) != (size_t)((feed ? feed : end) - at))
            err = wrong(&line, "this is not text: it has a zero byte");
        else
            err = read_line(&line, at, limits);
    }
    return err < 0 ? err : find_beside(path, limits, file);
}

void check_file_clear(struct check_file *file)
{
    mem_free(file->words);
    mem_free(file->baseline);
    *file = (struct check_file){0};
}
