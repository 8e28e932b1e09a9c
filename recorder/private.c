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

/* The first byte of the last part; 0 where the word stays as it is. A word of slashes stays. */
static size_t last_part(const char *word, size_t bytes)
{
    size_t end = bytes, at;
    while (end > 1 && (word[end - 1] == '/' || word[end - 1] == ':' || word[end - 1] == '.'))
        end--;
    at = end;
    while (at && word[at - 1] != '/')
        at--;
    bool rooted = has_prefix(word, bytes, "/") || has_prefix(word, bytes, "./") ||
                  has_prefix(word, bytes, "../") || has_prefix(word, bytes, "~/");
    return at < end && (rooted || names_a_file(word + at, end - at)) ? at : 0;
}

size_t private_shorten(char *text, size_t bytes)
{
    size_t to = 0;
    for (size_t from = 0; from < bytes;) {
        size_t end = from;
        while (end < bytes && !ends_word(text[end]))
            end++;
        from += last_part(text + from, end - from);
        end += end < bytes; /* and what ended it */
        memmove(text + to, text + from, end - from);
        to += end - from;
        from = end;
    }
    return to;
}
