/*
 * Where names are broken: call sites "A.f (a.py:1) > B.g (b.py:2)", modules
 * "model.layers[0-3].mlp", paths. Best after an inner call's " > ", then before " (", then at
 * another blank, then after a dot or a slash; a file and its line in brackets stay together, and so
 * does an identifier as long as there is any other place.
 */
#include <string.h>

#include "emit_parts.h"

enum name_break { NO_BREAK, AT_UNDERSCORE, IN_PATH, AT_BLANK, BEFORE_FILE, AFTER_CALL };

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '<' || c & 0x80;
}

/* "py:12" of "train.py:12". */
static bool is_file_type(const char *text, size_t bytes)
{
    size_t n = 0;
    while (n < bytes && is_word(text[n]))
        n++;
    return n + 1 < bytes && text[n] == ':' && text[n + 1] >= '0' && text[n + 1] <= '9';
}

/* How good a break before text[at] is; `depth` brackets are open there. */
static enum name_break break_of(const char *text, size_t bytes, size_t at, int depth)
{
    char before = text[at - 1], next = text[at];
    if (next == ' ') {
        if (before == '>' && at > 1 && text[at - 2] == ' ')
            return AFTER_CALL;
        if (at + 1 < bytes && text[at + 1] == '>')
            return NO_BREAK; /* it stays with what calls */
        return at + 1 < bytes && text[at + 1] == '(' ? BEFORE_FILE : AT_BLANK;
    }
    if (before == '_' && is_word(next) && next != '_' && next != '>')
        return AT_UNDERSCORE;
    if (!is_word(next) || next == '>')
        return NO_BREAK;
    bool path = before == '/' || (before == ':' && at > 1 && text[at - 2] == ':');
    bool inner = before == '.' && !depth && at > 1 && !is_file_type(text + at, bytes - at);
    return path || inner ? IN_PATH : NO_BREAK;
}

static int deeper(int depth, char c)
{
    return depth + (c == '(') - (c == ')' && depth > 0);
}

size_t emit_name_at(const char *text, size_t bytes, unsigned width)
{
    size_t fits = emit_fit(text, bytes, width), best = 0;
    enum name_break found = NO_BREAK;
    int depth = 0;
    if (fits == bytes)
        return bytes;
    for (size_t at = 1; at <= fits; at++) {
        depth = deeper(depth, text[at - 1]);
        enum name_break here = break_of(text, bytes, at, depth);
        if (here == NO_BREAK)
            continue;
        /* A worse one is taken where the better one leaves half of the line empty. */
        if (here >= found || (here > AT_UNDERSCORE && best * 2 < fits)) {
            best = at;
            found = here;
        }
    }
    return best ? best : fits ? fits : 1;
}

unsigned emit_piece_of(const char *text, size_t bytes, bool name)
{
    unsigned most = 0;
    size_t begin = 0;
    int depth = 0;
    for (size_t at = 1; at <= bytes; at++) {
        depth = deeper(depth, text[at - 1]);
        bool ends = at == bytes || text[at] == ' ' || text[at] == '\n';
        if (name && at < bytes && text[at] != '\n')
            ends = break_of(text, bytes, at, depth) > AT_UNDERSCORE;
        if (!ends)
            continue;
        unsigned columns = emit_columns_of(text + begin, at - begin);
        most = columns > most ? columns : most;
        while (at < bytes && (text[at] == ' ' || text[at] == '\n'))
            at++;
        begin = at;
    }
    return most;
}

size_t emit_line_of(const struct emit_column *column, const char *text, size_t bytes,
                    unsigned width)
{
    const char *end = bytes ? memchr(text, '\n', bytes) : NULL;
    bytes = end ? (size_t)(end - text) : bytes;
    return column->flags & EMIT_NAME ? emit_name_at(text, bytes, width)
                                     : emit_wrap_at(text, bytes, width);
}

unsigned emit_lines_of(const struct emit_column *column, const char *text, size_t bytes,
                       unsigned width)
{
    unsigned lines = 1;
    while (bytes && (emit_columns_of(text, bytes) > width || memchr(text, '\n', bytes))) {
        size_t n = emit_line_of(column, text, bytes, width);
        while (n < bytes && (text[n] == ' ' || text[n] == '\n'))
            n++;
        text += n;
        bytes -= n;
        lines += bytes > 0;
    }
    return lines;
}
