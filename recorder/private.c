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

/* The first byte of what is kept; 0 where the word stays as it is. A word of slashes stays. */
static size_t kept_part(const char *word, size_t bytes)
{
    size_t end = bytes, at;
    while (end > 1 && (word[end - 1] == '/' || word[end - 1] == ':' || word[end - 1] == '.'))
        end--;
    at = end;
    while (at && word[at - 1] != '/')
        at--;
    bool rooted = has_prefix(word, bytes, "/") || has_prefix(word, bytes, "./") ||
                  has_prefix(word, bytes, "../") || has_prefix(word, bytes, "~/");
    if (at >= end || !(rooted || names_a_file(word + at, end - at)))
        return 0;
    size_t library = library_part(word, bytes);
    return library < at ? library : at;
}

size_t private_shorten(char *text, size_t bytes)
{
    size_t to = 0;
    for (size_t from = 0; from < bytes;) {
        size_t end = from;
        while (end < bytes && !ends_word(text[end]))
            end++;
        from += kept_part(text + from, end - from);
        end += end < bytes; /* and what ended it */
        memmove(text + to, text + from, end - from);
        to += end - from;
        from = end;
    }
    return to;
}
