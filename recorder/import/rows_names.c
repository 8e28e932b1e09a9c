/*
 * The words of a CREATE TABLE, without those of comments. A column is what stands between two
 * commas outside of parentheses: its name, its type, and words of which only those that say where
 * its values are stored count.
 */
#include "rows_names.h"

#include <string.h>
#include <strings.h>

#define WORD_BYTES 64u /* longer ones are none that is asked for */

enum word_kind { WORD_END, WORD_NAME, WORD_QUOTED, WORD_MARK, WORD_WRONG };

struct words {
    const char *at, *end;
    enum word_kind kind;
    char mark; /* of WORD_MARK */
    char text[WORD_BYTES];
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

static size_t left(const struct words *words)
{
    return (size_t)(words->end - words->at);
}

/* Blanks and comments; false: a comment does not end. */
static bool skip_blanks(struct words *words)
{
    for (;;) {
        while (left(words) && is_blank(*words->at))
            words->at++;
        if (left(words) >= 2 && memcmp(words->at, "--", 2) == 0) {
            const char *line = memchr(words->at, '\n', left(words));
            words->at = line ? line + 1 : words->end;
        } else if (left(words) >= 2 && memcmp(words->at, "/*", 2) == 0) {
            words->at += 2;
            while (left(words) >= 2 && memcmp(words->at, "*/", 2) != 0)
                words->at++;
            if (left(words) < 2)
                return false;
            words->at += 2;
        } else {
            return true;
        }
    }
}

static void keep(struct words *words, const char *from, size_t bytes)
{
    bool fits = bytes < WORD_BYTES;
    memcpy(words->text, from, fits ? bytes : 0);
    words->text[fits ? bytes : 0] = '\0';
}

/* Behind its opening mark. A mark that stands twice does not end it: no name has that. */
static void take_quoted(struct words *words, char close)
{
    const char *from = ++words->at;
    for (;; words->at++) {
        const char *found = memchr(words->at, close, left(words));
        if (!found) {
            words->kind = WORD_WRONG;
            return;
        }
        words->at = found;
        if (left(words) < 2 || found[1] != close || close == ']')
            break;
        words->at++;
    }
    keep(words, from, (size_t)(words->at - from));
    words->at++;
    words->kind = WORD_QUOTED;
}

static void next(struct words *words)
{
    words->text[0] = '\0';
    words->mark = '\0';
    words->kind = skip_blanks(words) ? WORD_END : WORD_WRONG;
    if (words->kind == WORD_WRONG || !left(words))
        return;
    char c = *words->at;
    if (c == '"' || c == '`' || c == '\'' || c == '[') {
        take_quoted(words, c == '[' ? ']' : c);
        return;
    }
    if (!is_letter(c)) {
        words->kind = WORD_MARK;
        words->mark = c;
        words->at++;
        return;
    }
    const char *from = words->at;
    while (left(words) && is_letter(*words->at))
        words->at++;
    keep(words, from, (size_t)(words->at - from));
    words->kind = WORD_NAME;
}

static bool is_word(const struct words *words, const char *text)
{
    return words->kind == WORD_NAME && strcasecmp(words->text, text) == 0;
}

static bool is_mark(const struct words *words, char mark)
{
    return words->kind == WORD_MARK && words->mark == mark;
}

static bool goes_on(const struct words *words)
{
    return words->kind != WORD_END && words->kind != WORD_WRONG;
}

/* A table's constraints stand behind its columns. */
static bool is_constraint(const struct words *words)
{
    static const char *const begins[] = {"CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (is_word(words, begins[i]))
            return true;
    return false;
}

/* What follows its name, up to the comma or the end of the list. */
static bool take_column(struct words *words, struct rows_table *table)
{
    unsigned depth = 0;
    bool primary = false;
    next(words);
    bool integer = is_word(words, "INTEGER"), first = true;
    for (; goes_on(words); next(words), first = false) {
        if (!depth && (is_mark(words, ',') || is_mark(words, ')')))
            break;
        if (is_mark(words, '('))
            depth++;
        if (is_mark(words, ')'))
            depth--;
        if (!depth && (is_word(words, "GENERATED") || is_word(words, "AS")))
            return false;
        if (!depth && is_word(words, "PRIMARY"))
            primary = true;
        /* "INTEGER UNSIGNED PRIMARY KEY" is no key of rows; nor is one that counts down. */
        if (!depth && !first && !primary && !is_word(words, "NOT") && !is_word(words, "NULL") &&
            !is_word(words, "CONSTRAINT"))
            integer = false;
        if (is_word(words, "DESC"))
            integer = false;
    }
    if (primary && integer)
        table->key = table->columns;
    return goes_on(words);
}

static void note_column(const char *name, const char *const *columns, struct rows_table *table)
{
    for (size_t i = 0; columns[i]; i++)
        if (strcasecmp(columns[i], name) == 0 && table->at[i] < 0)
            table->at[i] = table->columns;
}

static bool take_columns(struct words *words, const char *const *columns, struct rows_table *table)
{
    for (;;) {
        next(words);
        if (is_constraint(words))
            return true;
        if (words->kind != WORD_NAME && words->kind != WORD_QUOTED)
            return false;
        if (table->columns >= ROWS_COLUMNS)
            return false;
        note_column(words->text, columns, table);
        if (!take_column(words, table))
            return false;
        table->columns++;
        if (is_mark(words, ')'))
            return true;
    }
}

/* WITHOUT ROWID makes no difference here: its pages are of another kind, and say so. */
bool rows_names_read(const char *sql, size_t bytes, const char *const *columns,
                     struct rows_table *table)
{
    struct words words = {.at = sql, .end = sql + bytes};
    for (size_t i = 0; i < ROWS_ASKED; i++)
        table->at[i] = -1;
    table->columns = 0;
    table->key = -1;
    next(&words);
    if (!is_word(&words, "CREATE"))
        return false;
    next(&words);
    if (!is_word(&words, "TABLE"))
        return false;
    while (goes_on(&words) && !is_mark(&words, '('))
        next(&words);
    return is_mark(&words, '(') && take_columns(&words, columns, table);
}
