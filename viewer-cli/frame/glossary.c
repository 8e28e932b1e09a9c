/* glossary.c - see glossary.h. */
#include "glossary.h"

#include <stdbool.h>
#include <string.h>

enum { WIDTH = 79, INDENT = 2 };

/* One word at a time: the marks around a term and around code are left out. */
struct wrap {
    FILE *out;
    size_t column;
};

static size_t put_word(struct wrap *wrap, const char *word, size_t bytes, bool print)
{
    size_t columns = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (word[i] == '*' || word[i] == '`')
            continue;
        if (print)
            fputc(word[i], wrap->out);
        columns += ((unsigned char)word[i] & 0xc0) != 0x80;
    }
    return columns;
}

static void add_words(struct wrap *wrap, const char *line, size_t bytes)
{
    for (size_t at = 0, n; at < bytes; at += n) {
        n = strspn(line + at, " ");
        if (n)
            continue;
        n = strcspn(line + at, " \n");
        size_t columns = put_word(wrap, line + at, n, false);
        bool fits = wrap->column + (wrap->column ? 1 : 0) + columns <= WIDTH;
        if (wrap->column)
            fputs(fits ? " " : "\n  ", wrap->out);
        wrap->column = (wrap->column && fits ? wrap->column + 1
                        : wrap->column       ? INDENT
                                             : 0) +
                       columns;
        put_word(wrap, line + at, n, true);
    }
}

static void end_line(struct wrap *wrap)
{
    if (wrap->column)
        fputc('\n', wrap->out);
    wrap->column = 0;
}

void glossary_print(FILE *out)
{
    struct wrap wrap = {.out = out};
    for (const char *line = glossary_text; *line;) {
        size_t bytes = strcspn(line, "\n");
        size_t marks = strspn(line, "#-");
        if (!bytes || marks)
            end_line(&wrap);
        if (*line == '#')
            fputs(line == glossary_text ? "" : "\n", out);
        if (bytes)
            add_words(&wrap, line + marks, bytes - marks);
        if (*line == '#')
            end_line(&wrap);
        line += bytes + (line[bytes] == '\n');
    }
    end_line(&wrap);
}
