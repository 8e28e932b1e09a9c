#include "private.h"

#include <stdbool.h>
#include <string.h>

static bool ends_word(char letter)
{
    return letter != '\0' && strchr(" \t\n\"'`()[]{}<>,;=", letter);
}

static bool has_prefix(const char *word, size_t bytes, const char *prefix)
{
    size_t count = strlen(prefix);
    return bytes >= count && memcmp(word, prefix, count) == 0;
}

/* ".so.12" and "train.py:12" too: what follows a dot or a colon in the last part may be a number.
 */
static bool names_a_file(const char *name, size_t bytes)
{
    static const char *const kinds[] = {".py", ".pyc", ".pyx", ".so", ".c",  ".cc",   ".cpp",
                                        ".cu", ".h",   ".hpp", ".db", ".sh", ".ipynb"};
    for (size_t at = 0; at < bytes; at++) {
        for (size_t i = 0; name[at] == '.' && i < sizeof kinds / sizeof *kinds; i++) {
            size_t end = at + strlen(kinds[i]);
            if (has_prefix(name + at, bytes - at, kinds[i]) &&
                (end == bytes || name[end] == '.' || name[end] == ':'))
                return true;
        }
    }
    return false;
}

/* A part that begins with `name` and has at least one letter more, if `open`; its bytes, or 0. */
static size_t part_is(const char *at, size_t bytes, const char *name, bool open)
{
    const char *slash = memchr(at, '/', bytes);
    size_t count = slash ? (size_t)(slash - at) : 0, least = strlen(name);
    bool same = open ? count > least : count == least;
    return same && memcmp(at, name, least) == 0 ? count : 0;
}

/* "lib/python3/" or "lib64/python3.12/". */
static bool begins_python(const char *at, size_t bytes)
{
    size_t count = part_is(at, bytes, "lib", false);
    if (!count)
        count = part_is(at, bytes, "lib64", false);
    if (!count)
        return false;
    at += count + 1;
    bytes -= count + 1;
    return part_is(at, bytes, "python3", false) || part_is(at, bytes, "python3.", true);
}

static bool begins_library(const char *at, size_t bytes)
{
    return part_is(at, bytes, "site-packages", false) ||
           part_is(at, bytes, "dist-packages", false) || begins_python(at, bytes);
}

/* Where the part of Python's own or of an installed library's path begins, the innermost; `bytes`
 * where there is none. Behind "/../" or ":/" another folder begins, which can be anyone's. */
static size_t library_part(const char *word, size_t bytes)
{
    size_t found = bytes;
    for (size_t at = 0; at < bytes; at++) {
        bool begins = at == 0 || word[at - 1] == '/';
        if (begins && begins_library(word + at, bytes - at))
            found = at;
        else if (has_prefix(word + at, bytes - at, ":/") ||
                 has_prefix(word + at, bytes - at, ":~") ||
                 (begins && has_prefix(word + at, bytes - at, "../")))
            found = bytes;
    }
    return found;
}

static bool is_letter(char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

static bool is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}

/* What is kept of a word; all of it, if it is no path. */
struct kept {
    size_t from, end;
};

/* "tcp://host:1234" has no part but a machine: "tcp:" is left. */
static bool names_a_host(const char *word, size_t bytes, struct kept *kept)
{
    size_t colon = bytes;
    for (size_t at = 1; at < bytes; at++)
        if (has_prefix(word + at, bytes - at, "://") &&
            (is_letter(word[at - 1]) || is_digit(word[at - 1])))
            colon = at;
    if (colon == bytes)
        return false;
    size_t end = bytes, begin = colon;
    while (end > colon && strchr("/:.", word[end - 1]))
        end--;
    if (end <= colon + 3 || memchr(word + colon + 3, '/', end - colon - 3))
        return false;
    while (begin && word[begin - 1] != '/')
        begin--;
    *kept = (struct kept){begin, colon + 1};
    return true;
}

/* "user@host:x": where x begins, if it is more than a number, as in "forward@cuda:0"; or 0. Where x
 * is one again, too, the last: a long chain of them takes one pass. */
static size_t behind_a_login(const char *word, size_t bytes)
{
    const char *slash = memchr(word, '/', bytes);
    size_t plain = slash ? (size_t)(slash - word) : bytes, begin = 0;
    for (;;) {
        const char *name = word + begin;
        const char *colon = memchr(name, ':', plain - begin);
        const char *at = colon ? memchr(name, '@', (size_t)(colon - name)) : NULL;
        if (!at || at == name || at + 1 == colon)
            return begin;
        size_t behind = (size_t)(colon - word) + 1, digits = behind;
        while (digits < bytes && is_digit(word[digits]))
            digits++;
        if (digits == bytes)
            return begin;
        begin = behind;
    }
}

/* "C:\x", "..\x", "\\machine\x": what separates its parts. A word may begin with other text. */
static bool is_of_windows(const char *word, size_t bytes)
{
    for (size_t at = 1; at < bytes; at++)
        if (has_prefix(word + at, bytes - at, ":\\") && is_letter(word[at - 1]) &&
            (at == 1 || !(is_letter(word[at - 2]) || is_digit(word[at - 2]))))
            return true;
    return has_prefix(word, bytes, "\\\\") || has_prefix(word, bytes, ".\\") ||
           has_prefix(word, bytes, "..\\") || has_prefix(word, bytes, "~\\");
}

/* Another machine's, or behind a colon; "file:/x" and "file://host/x" too. */
static bool is_rooted(const char *word, size_t bytes)
{
    static const char *const begins[] = {"/", "./", "../", "~/"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (has_prefix(word, bytes, begins[i]))
            return true;
    for (size_t at = 0; at < bytes; at++)
        if (has_prefix(word + at, bytes - at, ":/") || has_prefix(word + at, bytes - at, ":~"))
            return true;
    return false;
}

/* A word of slashes stays. */
static struct kept kept_part(const char *word, size_t bytes)
{
    struct kept kept = {0, bytes};
    size_t end = bytes, login = behind_a_login(word, bytes);
    bool windows = is_of_windows(word, bytes);
    if (names_a_host(word, bytes, &kept))
        return kept;
    while (end > 1 && (strchr("/:.", word[end - 1]) || (windows && word[end - 1] == '\\')))
        end--;
    size_t at = end;
    while (at > login && word[at - 1] != '/' && !(windows && word[at - 1] == '\\'))
        at--;
    bool rooted = login || windows || is_rooted(word, bytes);
    if (at >= end || !(rooted || names_a_file(word + at, end - at)))
        return kept;
    size_t library = library_part(word, bytes);
    kept.from = library < at ? library : at;
    return kept;
}

/* What is left of a path can be one again: "/data/ann@host:x". */
static struct kept kept_at_last(const char *word, size_t bytes)
{
    struct kept kept = {0, bytes};
    for (;;) {
        size_t left = kept.end - kept.from;
        struct kept part = kept_part(word + kept.from, left);
        if (part.from == 0 && part.end == left)
            return kept;
        kept = (struct kept){kept.from + part.from, kept.from + part.end};
    }
}

size_t private_shorten(char *text, size_t bytes)
{
    size_t to = 0;
    for (size_t from = 0; from < bytes;) {
        size_t end = from;
        while (end < bytes && !ends_word(text[end]))
            end++;
        struct kept kept = kept_at_last(text + from, end - from);
        memmove(text + to, text + from + kept.from, kept.end - kept.from);
        to += kept.end - kept.from;
        if (end < bytes) /* what ended it */
            text[to++] = text[end++];
        from = end;
    }
    return to;
}
