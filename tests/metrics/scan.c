#include "scan.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 20000
#define SEEN_MAX 512

struct scan {
    bool openmetrics, ended;
    char family[128], type[32];
    bool has_help;
    char seen[SEEN_MAX][128]; /* families that are over, or going on */
    size_t seen_count;
    char **samples; /* name and labels */
    size_t sample_count;
};

static char complaint[512];

__attribute__((format(printf, 1, 2))) static const char *complain(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(complaint, sizeof complaint, format, list);
    va_end(list);
    return complaint;
}

static size_t name_bytes(const char *text, bool colon)
{
    size_t n = 0;
    while (isalpha((unsigned char)text[n]) || text[n] == '_' || (colon && text[n] == ':') ||
           (n > 0 && isdigit((unsigned char)text[n])))
        n++;
    return n;
}

static bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

static bool ends(const char *text, const char *word)
{
    size_t all = strlen(text), n = strlen(word);
    return all >= n && strcmp(text + all - n, word) == 0;
}

/* ---- # HELP, # TYPE, # UNIT ---- */

static const char *begin_family(struct scan *scan, const char *name)
{
    if (strcmp(scan->family, name) == 0)
        return NULL;
    for (size_t i = 0; i < scan->seen_count; i++)
        if (strcmp(scan->seen[i], name) == 0)
            return complain("family %s comes twice", name);
    if (scan->seen_count == SEEN_MAX)
        return complain("too many families");
    snprintf(scan->family, sizeof scan->family, "%s", name);
    snprintf(scan->seen[scan->seen_count++], sizeof scan->seen[0], "%s", name);
    scan->type[0] = 0;
    scan->has_help = false;
    return NULL;
}

static const char *take_comment(struct scan *scan, const char *line)
{
    char word[16], name[128], rest[256];
    if (scan->openmetrics && strcmp(line, "# EOF") == 0) {
        scan->ended = true;
        return NULL;
    }
    if (sscanf(line, "# %15s %127s %255[^\n]", word, name, rest) != 3)
        return complain("a comment: %s", line);
    if (name_bytes(name, true) != strlen(name))
        return complain("a name: %s", name);
    const char *bad = begin_family(scan, name);
    if (bad)
        return bad;
    if (strcmp(word, "HELP") == 0)
        scan->has_help = true;
    else if (strcmp(word, "TYPE") == 0)
        snprintf(scan->type, sizeof scan->type, "%.31s", rest);
    else if (strcmp(word, "UNIT") != 0 || !scan->openmetrics)
        return complain("a keyword: %s", line);
    else if (!ends(name, rest))
        return complain("%s is not of the unit %s", name, rest);
    return NULL;
}

/* ---- samples ---- */

static size_t utf8_bytes(const char *at)
{
    unsigned char c = (unsigned char)*at;
    size_t n = c < 0x80                ? 1
               : c >= 0xC2 && c < 0xE0 ? 2
               : c >= 0xE0 && c < 0xF0 ? 3
               : c >= 0xF0 && c < 0xF5 ? 4
                                       : 0;
    for (size_t i = 1; i < n; i++)
        if (((unsigned char)at[i] & 0xC0) != 0x80)
            return 0;
    return n;
}

/* Behind the closing quote; NULL: it is not well formed. */
static const char *value_end(const char *at)
{
    while (*at && *at != '"') {
        size_t n = utf8_bytes(at);
        if (*at == '\\')
            n = at[1] == '\\' || at[1] == '"' || at[1] == 'n' ? 2 : 0;
        if (!n)
            return NULL;
        at += n;
    }
    return *at ? at + 1 : NULL;
}

static const char *labels_end(const char *at)
{
    if (*at != '{')
        return at;
    do {
        size_t n = name_bytes(++at, false);
        if (!n || at[n] != '=' || at[n + 1] != '"' || !(at = value_end(at + n + 2)))
            return NULL;
    } while (*at == ',');
    return *at == '}' ? at + 1 : NULL;
}

static const char *check_name(const struct scan *scan, const char *name)
{
    char want[160];
    bool counter = strcmp(scan->type, "counter") == 0;
    if (!scan->has_help || (!counter && strcmp(scan->type, "gauge") != 0))
        return complain("%s has no HELP or no TYPE of ours before it", name);
    if (counter != ends(name, "_total"))
        return complain("%s is a %s", name, scan->type);
    snprintf(want, sizeof want, "%s%s", scan->family, counter && scan->openmetrics ? "_total" : "");
    return strcmp(name, want) == 0 ? NULL : complain("%s stands in family %s", name, scan->family);
}

static const char *take_sample(struct scan *scan, const char *line)
{
    char name[128];
    size_t n = name_bytes(line, true);
    const char *end = n && n < sizeof name ? labels_end(line + n) : NULL;
    char *number_end;
    if (!end || *end != ' ')
        return complain("a sample: %s", line);
    snprintf(name, sizeof name, "%.*s", (int)n, line);
    strtod(end + 1, &number_end);
    if (number_end == end + 1 || *number_end)
        return complain("a value: %s", line);
    for (size_t i = 0; i < scan->sample_count; i++)
        if (strlen(scan->samples[i]) == (size_t)(end - line) &&
            memcmp(scan->samples[i], line, (size_t)(end - line)) == 0)
            return complain("twice: %s", line);
    scan->samples[scan->sample_count++] = strndup(line, (size_t)(end - line));
    return check_name(scan, name);
}

const char *scan_check(const char *text, bool openmetrics)
{
    struct scan *scan = calloc(1, sizeof *scan);
    char *copy = strdup(text), *rest = copy, *line;
    const char *bad = *text && !ends(text, "\n") ? "the last line has no end" : NULL;
    scan->openmetrics = openmetrics;
    scan->samples = calloc(LINES_MAX, sizeof *scan->samples);
    while (!bad && (line = strsep(&rest, "\n")) && rest) {
        if (scan->ended)
            bad = complain("behind the end: %s", line);
        else if (begins(line, "#"))
            bad = take_comment(scan, line);
        else
            bad = scan->sample_count < LINES_MAX ? take_sample(scan, line) : "too many";
    }
    if (!bad && openmetrics && !scan->ended)
        bad = "there is no # EOF";
    while (scan->sample_count > 0)
        free(scan->samples[--scan->sample_count]);
    free(scan->samples);
    free(scan);
    free(copy);
    return bad;
}

/* ---- what is there ---- */

double scan_value(const char *text, const char *name, const char *labels)
{
    size_t n = strlen(name), m = strlen(labels);
    for (const char *at = text; at && *at; at = strchr(at, '\n'), at += at != NULL)
        if (strncmp(at, name, n) == 0 && strncmp(at + n, labels, m) == 0 && at[n + m] == ' ')
            return strtod(at + n + m, NULL);
    return -1;
}

size_t scan_count(const char *text, const char *name)
{
    size_t count = 0, n = strlen(name);
    for (const char *at = text; at && *at; at = strchr(at, '\n'), at += at != NULL)
        count += strncmp(at, name, n) == 0 && (at[n] == '{' || at[n] == ' ');
    return count;
}
