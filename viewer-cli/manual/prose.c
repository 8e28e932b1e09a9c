/*
 * The text is read line by line. What stands in `words` is the paragraph or the item so far, one
 * blank between its lines; it is written when something else begins. roff reads commands from lines
 * that begin with a dot or a quote, so each line that we begin with text begins with "\&" if the
 * text does so; long paragraphs are broken, for roff and its checkers want short lines.
 */
#include "prose.h"

#include <stdio.h>
#include <string.h>

enum { ROFF_WIDTH = 72 };

/* A page has 80 columns, its text begins in the eighth, and code four further in. */
enum { CODE_COLUMNS = 80 - 7 - 4 };

enum block { BLOCK_NONE, BLOCK_PARAGRAPH, BLOCK_ITEM, BLOCK_CODE };

struct reader {
    struct buf *out;
    const struct prose *prose;
    struct buf *message;
    struct buf words; /* of the block, if it is a paragraph or an item */
    enum block block;
    bool after_list; /* the block before was an item */
    bool wide;       /* the code has lines that do not fit where code begins */
    int blank_lines; /* within code, not yet written */
    int line;
};

static bool refuse(struct buf *message, const char *file, int line, const char *what)
{
    buf_print(message, "%s:%d: %s", file, line, what);
    return false;
}

/* ---- parts ---- */

static size_t line_length(const char *text)
{
    return strcspn(text, "\n");
}

static bool begin_part(struct prose *prose, const char *heading, size_t length, int line,
                       struct buf *message)
{
    if (prose->count == PROSE_PARTS)
        return refuse(message, prose->file, line, "too many headings");
    struct prose_part *part = &prose->parts[prose->count++];
    if (length >= sizeof part->heading)
        return refuse(message, prose->file, line, "the heading is too long");
    memcpy(part->heading, heading, length);
    part->heading[length] = '\0';
    part->length = 0;
    part->line = line + 1;
    return true;
}

bool prose_split(struct prose *prose, const char *file, const char *text, struct buf *message)
{
    int line = 1;
    prose->file = file;
    prose->count = 0;
    if (strncmp(text, "# ", 2) != 0)
        return refuse(message, file, line, "the first line is to be '# ' and the title");
    if (!begin_part(prose, "", 0, line, message))
        return false;
    text += line_length(text);
    text += *text == '\n';
    prose->parts[0].text = text;
    while (*text) {
        struct prose_part *part = &prose->parts[prose->count - 1];
        size_t length = line_length(text);
        line++;
        if (strncmp(text, "## ", 3) == 0) {
            part->length = (size_t)(text - part->text);
            if (!begin_part(prose, text + 3, length - 3, line, message))
                return false;
            text += length + (text[length] == '\n');
            prose->parts[prose->count - 1].text = text;
            continue;
        }
        text += length + (text[length] == '\n');
    }
    struct prose_part *last = &prose->parts[prose->count - 1];
    last->length = (size_t)(text - last->text);
    return true;
}

const struct prose_part *prose_find(const struct prose *prose, const char *heading)
{
    for (int i = 0; i < prose->count; i++)
        if (strcmp(prose->parts[i].heading, heading) == 0)
            return &prose->parts[i];
    return NULL;
}

/* ---- text ---- */

/* A character beyond ASCII by its number: what roff reads is one byte each. Returns its bytes. */
static size_t put_wide(struct buf *out, const char *text, size_t length)
{
    static const unsigned char masks[] = {0, 0, 0x1f, 0x0f, 0x07};
    unsigned char first = (unsigned char)text[0];
    size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    unsigned code = first & masks[bytes];
    if (bytes > length)
        return length;
    for (size_t i = 1; i < bytes; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    buf_print(out, "\\[u%04X]", code);
    return bytes;
}

/* One character of text; returns its bytes. A hyphen is written as a minus, which copies as what
 * was typed. */
static size_t put_char(struct buf *out, const char *text, size_t length)
{
    if ((unsigned char)*text >= 0x80)
        return put_wide(out, text, length);
    switch (*text) {
    case '\\':
        buf_text(out, "\\e");
        break;
    case '-':
        buf_text(out, "\\-");
        break;
    case '`':
        buf_text(out, "\\(ga");
        break;
    case '^':
        buf_text(out, "\\(ha");
        break;
    case '~':
        buf_text(out, "\\(ti");
        break;
    case '\'':
        buf_text(out, "\\(aq");
        break;
    default:
        buf_add(out, text, 1);
    }
    return 1;
}

static void guard_line(struct buf *out, char first)
{
    if (first == '.')
        buf_text(out, "\\&");
}

void roff_text(struct buf *out, const char *text, size_t length)
{
    if (length)
        guard_line(out, text[0]);
    for (size_t i = 0; i < length;)
        i += put_char(out, text + i, length - i);
}

/* Begins a paragraph, unless nothing has stood since the heading. */
static void begin_paragraph(struct buf *out)
{
    const char *last = buf_string(out);
    size_t length = out->count ? out->count - 1 : 0;
    const char *end = memrchr(last, '\n', length);
    last = end ? end + 1 : last;
    if (strncmp(last, ".S", 2) != 0 && strncmp(last, ".PP", 3) != 0)
        buf_text(out, ".PP\n");
}

/* "tidemark-peak(1)" for peak.md, " (docs/fit.md)" for other places of the tree. */
static void put_link(struct buf *out, const char *target, size_t length)
{
    const char *end = memchr(target, '#', length);
    if (end)
        length = (size_t)(end - target);
    if (!length || (length > 4 && memcmp(target, "http", 4) == 0))
        return;
    bool above = length > 6 && memcmp(target, "../../", 6) == 0;
    bool beside = !above && length > 3 && memcmp(target, "../", 3) == 0;
    size_t skip = above ? 6 : beside ? 3 : 0;
    if (skip) {
        buf_print(out, " (%s", beside ? "docs/" : "");
        roff_text(out, target + skip, length - skip);
        buf_text(out, ")");
    } else if (length > 3 && memcmp(target + length - 3, ".md", 3) == 0) {
        buf_text(out, "(1)");
    }
}

struct inline_text {
    struct buf *out;
    size_t column;
    bool strong, code;
};

static void put_font(struct inline_text *to)
{
    buf_text(to->out, to->strong || to->code ? "\\fB" : "\\fR");
}

/* The paragraph's text with its `code`, **strong** and [links](to). */
static bool put_inline(struct inline_text *to, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const char *at = text + i;
        size_t left = length - i;
        if (*at == '`') {
            to->code = !to->code;
            put_font(to);
        } else if (!to->code && left > 1 && at[0] == '*' && at[1] == '*') {
            to->strong = !to->strong;
            put_font(to);
            i++;
        } else if (!to->code && *at == '*' && left > 1 && at[1] != ' ') {
            return false;
        } else if (!to->code && *at == '[') {
            const char *middle = memmem(at, left, "](", 2);
            const char *end = middle ? memchr(middle, ')', left - (size_t)(middle - at)) : NULL;
            if (!end)
                return false;
            bool page = memchr(middle, '/', (size_t)(end - middle)) == NULL &&
                        (size_t)(end - middle) > 5 && memcmp(end - 3, ".md", 3) == 0;
            if (page)
                buf_text(to->out, "\\fB\\%");
            if (!put_inline(to, at + 1, (size_t)(middle - at - 1)))
                return false;
            if (page)
                put_font(to);
            put_link(to->out, middle + 2, (size_t)(end - middle - 2));
            i += (size_t)(end - at);
        } else if (*at == ' ' && to->column >= ROFF_WIDTH) {
            buf_text(to->out, "\n");
            to->column = 0;
        } else {
            if (to->column == 0)
                guard_line(to->out, *at);
            i += put_char(to->out, at, length - i) - 1;
            to->column++;
        }
    }
    return true;
}

static bool put_words(struct reader *reader)
{
    struct inline_text to = {.out = reader->out};
    const char *text = buf_string(&reader->words);
    size_t length = reader->words.count;
    bool item = reader->block == BLOCK_ITEM;
    const char *term = item && strncmp(text, "**", 2) == 0 ? strstr(text + 2, "**: ") : NULL;

    if (term) {
        buf_text(reader->out, ".TP\n");
        if (!put_inline(&to, text, (size_t)(term - text + 2)))
            goto wrong;
        buf_text(reader->out, "\n");
        to.column = 0;
        length -= (size_t)(term + 4 - text);
        text = term + 4;
    } else {
        if (item)
            buf_text(reader->out, ".IP \\(bu 2\n");
        else
            begin_paragraph(reader->out);
    }
    if (!put_inline(&to, text, length) || to.code || to.strong)
        goto wrong;
    buf_text(reader->out, "\n");
    return true;
wrong:
    return refuse(reader->message, reader->prose->file, reader->line - 1,
                  "above, a `, ** or [ is not closed, or a * stands alone");
}

/* ---- blocks ---- */

static bool end_block(struct reader *reader)
{
    bool fine = true;
    if (reader->block == BLOCK_CODE)
        buf_text(reader->out, reader->wide ? ".EE\n.in\n" : ".EE\n.RE\n");
    else if (reader->block != BLOCK_NONE)
        fine = put_words(reader);
    buf_clear(&reader->words);
    if (reader->block != BLOCK_NONE)
        reader->after_list = reader->block == BLOCK_ITEM;
    reader->block = BLOCK_NONE;
    reader->blank_lines = 0;
    return fine;
}

static bool is_code(const char *text, size_t length)
{
    return length > 4 && memcmp(text, "    ", 4) == 0;
}

/* Whether the code that begins here has too long a line. */
static bool is_wide(const char *text)
{
    while (*text) {
        size_t length = line_length(text), columns = 0;
        if (length && !is_code(text, length))
            return false;
        for (size_t i = 4; i < length; i++)
            columns += ((unsigned char)text[i] & 0xc0) != 0x80;
        if (columns > CODE_COLUMNS)
            return true;
        text += length + (text[length] == '\n');
    }
    return false;
}

static bool take_code(struct reader *reader, const char *text, size_t length)
{
    if (reader->block != BLOCK_CODE) {
        if (!end_block(reader))
            return false;
        if (reader->after_list)
            return refuse(reader->message, reader->prose->file, reader->line,
                          "code right behind a list: on the web it would be text of the list");
        begin_paragraph(reader->out);
        reader->wide = is_wide(text);
        buf_text(reader->out, reader->wide ? ".in 2n\n.EX\n" : ".RS 4\n.EX\n");
        reader->block = BLOCK_CODE;
    }
    for (; reader->blank_lines > 0; reader->blank_lines--)
        buf_text(reader->out, "\n");
    roff_text(reader->out, text + 4, length - 4);
    buf_text(reader->out, "\n");
    return true;
}

static void take_words(struct reader *reader, const char *text, size_t length)
{
    while (length && *text == ' ') {
        text++;
        length--;
    }
    if (reader->words.count)
        buf_text(&reader->words, " ");
    buf_add(&reader->words, text, length);
}

static bool is_strange(const char *text, size_t length)
{
    static const char *const begins[] = {"```", "|", "> ", "* ", "+ ", "#", "<", "\t"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(text, begins[i], strlen(begins[i])) == 0)
            return true;
    size_t digits = strspn(text, "0123456789");
    return digits && digits + 1 < length && text[digits] == '.' && text[digits + 1] == ' ';
}

static bool take_line(struct reader *reader, const char *text, size_t length)
{
    if (length == 0) {
        reader->blank_lines++;
        return reader->block == BLOCK_CODE || end_block(reader);
    }
    if (is_code(text, length) && (reader->block == BLOCK_NONE || reader->block == BLOCK_CODE))
        return take_code(reader, text, length);
    if (strncmp(text, "### ", 4) == 0) {
        if (!end_block(reader))
            return false;
        reader->after_list = false;
        buf_text(reader->out, ".SS ");
        roff_text(reader->out, text + 4, length - 4);
        buf_text(reader->out, "\n");
        return true;
    }
    if (is_strange(text, length))
        return refuse(reader->message, reader->prose->file, reader->line,
                      "is nothing that viewer-cli/manual/prose.h knows");
    bool item = strncmp(text, "- ", 2) == 0;
    if (item || reader->block == BLOCK_CODE || reader->block == BLOCK_NONE) {
        if (!end_block(reader))
            return false;
        reader->block = item ? BLOCK_ITEM : BLOCK_PARAGRAPH;
    }
    take_words(reader, text + (item ? 2 : 0), length - (item ? 2 : 0));
    return true;
}

bool prose_roff(struct buf *out, const struct prose *prose, const struct prose_part *part,
                struct buf *message)
{
    struct reader reader = {.out = out, .prose = prose, .message = message, .line = part->line};
    const char *end = part->text + part->length;
    bool fine = true;
    for (const char *at = part->text; fine && at < end; reader.line++) {
        size_t length = line_length(at);
        fine = take_line(&reader, at, length);
        at += length + (at + length < end);
    }
    fine = fine && end_block(&reader);
    buf_clear(&reader.words);
    return fine;
}

void roff_help(struct buf *out, const char *text)
{
    bool code = false, begin = true;
    while (*text) {
        size_t length = line_length(text);
        if (*text == ' ') {
            if (!code)
                buf_text(out, ".PP\n.RS 4\n.EX\n");
            roff_text(out, text + 2, length - 2);
            buf_text(out, "\n");
            code = true;
        } else if (length) {
            struct inline_text to = {.out = out};
            if (code)
                buf_text(out, ".EE\n.RE\n");
            if (code || begin)
                begin_paragraph(out);
            for (size_t i = 0; i < length; i++) {
                if (text[i] == ' ' && to.column >= ROFF_WIDTH) {
                    buf_text(out, "\n");
                    to.column = 0;
                    continue;
                }
                if (to.column++ == 0)
                    guard_line(out, text[i]);
                i += put_char(out, text + i, length - i) - 1;
            }
            buf_text(out, "\n");
            code = false;
        }
        begin = length == 0;
        text += length + (text[length] == '\n');
    }
    if (code)
        buf_text(out, ".EE\n.RE\n");
}
