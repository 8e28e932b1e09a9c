#include "emit.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "emit_parts.h"
#include "error.h"
#include "mem.h"

enum { STREAM_BYTES = 1 << 16, NARROWEST = 20 };

/* COLUMNS wins over the terminal's own word, 80 is what is left. */
static unsigned terminal_width(void)
{
    const char *set = getenv("COLUMNS");
    unsigned long asked = set ? strtoul(set, NULL, 10) : 0;
    struct winsize size;
    if (asked >= NARROWEST && asked < 10000)
        return (unsigned)asked;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= NARROWEST)
        return size.ws_col;
    return 80;
}

static bool wants_colour(void)
{
    const char *no = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    return !(no && *no) && !(terminal && strcmp(terminal, "dumb") == 0);
}

void emit_begin(struct emit *emit, enum emit_format format, enum emit_colour colour,
                const char *command, const char *database)
{
    bool terminal = isatty(STDOUT_FILENO) == 1;
    *emit = (struct emit){
        .format = format,
        .colour = colour == EMIT_COLOUR_ALWAYS ||
                  (colour == EMIT_COLOUR_AUTO && terminal && wants_colour()),
        .safe = terminal && format == EMIT_CSV,
        .width = terminal && format == EMIT_TABLE ? terminal_width() : 0,
        .command = command,
        .database = database,
    };
    if (format == EMIT_JSON)
        emit_json_begin(emit);
}

void emit_stream(struct emit *emit, FILE *stream)
{
    emit->stream = stream;
}

bool emit_is_valid(const struct emit *emit)
{
    if (emit->at && emit->at >= emit->column_count)
        return false;
    if (!emit->columns && (emit->at || emit->cell_count))
        return false;
    size_t whole = emit->column_count ? emit->cell_count % emit->column_count : 0;
    if (emit->format == EMIT_TABLE && whole != emit->at)
        return false;
    if (emit->format != EMIT_TABLE && emit->cell_count)
        return false;
    for (size_t i = 0; i < emit->cell_count; i++)
        if (emit->cells[i].text + emit->cells[i].bytes > emit->text.count)
            return false;
    return true;
}

static void write_out(struct emit *emit, FILE *file)
{
    if (emit->out.count)
        fwrite(emit->out.data, 1, emit->out.count, file);
    emit->out.count = 0;
}

void emit_flush(struct emit *emit, FILE *file)
{
    if (emit->format == EMIT_TABLE && emit->columns && emit->rows > 0)
        emit_table_flush(emit);
    if (!emit->out.broken)
        write_out(emit, file);
}

/* ---- sections ---- */

void emit_close(struct emit *emit)
{
    if (!emit->columns)
        return;
    assert(emit->at == 0 || emit->out.broken);
    if (emit->format == EMIT_TABLE)
        emit_table_close(emit);
    else if (emit->format == EMIT_JSON)
        emit_json_close(emit);
    emit->columns = NULL;
    emit->column_count = 0;
}

static bool is_open_key(const struct emit *emit, const char *key)
{
    size_t n = strlen(key);
    const struct buf *keys = &emit->keys;
    return emit->columns && keys->count >= n + 1 && keys->data[keys->count - 1] == '\n' &&
           memcmp(keys->data + keys->count - 1 - n, key, n) == 0 &&
           (keys->count == n + 1 || keys->data[keys->count - n - 2] == '\n');
}

void emit_section(struct emit *emit, const char *key, const char *title, enum emit_style style,
                  const struct emit_column *columns, size_t count)
{
    if (emit->format != EMIT_TABLE && is_open_key(emit, key))
        return;
    emit_close(emit);
    buf_print(&emit->keys, "%s\n", key);
    emit->columns = columns;
    emit->column_count = count;
    emit->style = style;
    emit->rows = 0;
    emit->sections++;
    if (emit->format == EMIT_TABLE)
        emit_table_open(emit, title);
    else if (emit->format == EMIT_CSV)
        emit_csv_open(emit, key);
    else
        emit_json_open(emit, key);
}

/* ---- cells ---- */

static void push(struct emit *emit, const struct emit_value *value)
{
    assert(emit->columns && emit->at < emit->column_count);
    if (emit->format == EMIT_TABLE)
        emit_table_value(emit, value);
    else if (emit->columns[emit->at].flags & EMIT_PEOPLE)
        ;
    else if (emit->format == EMIT_CSV)
        emit_csv_value(emit, value);
    else
        emit_json_value(emit, value);
    if (++emit->at < emit->column_count)
        return;
    emit->at = 0;
    emit->rows++;
    if (emit->format == EMIT_TABLE)
        emit_table_row(emit);
    else
        buf_text(&emit->out, emit->format == EMIT_CSV ? "\n" : "}");
    if (emit->stream && emit->out.count >= STREAM_BYTES)
        write_out(emit, emit->stream);
}

void emit_text(struct emit *emit, const char *text)
{
    if (text)
        emit_text_n(emit, text, strlen(text));
    else
        emit_null(emit);
}

void emit_text_n(struct emit *emit, const char *text, size_t bytes)
{
    push(emit, &(struct emit_value){.kind = VALUE_TEXT, .text = text, .bytes = bytes});
}

void emit_int(struct emit *emit, int64_t value)
{
    push(emit, &(struct emit_value){.kind = VALUE_INT, .integer = value});
}

void emit_real(struct emit *emit, double value)
{
    push(emit, &(struct emit_value){.kind = VALUE_REAL, .real = value});
}

void emit_null(struct emit *emit)
{
    push(emit, &(struct emit_value){.kind = VALUE_NULL});
}

void emit_known(struct emit *emit, int64_t value)
{
    if (value == INT64_MIN)
        emit_null(emit);
    else
        emit_int(emit, value);
}

void emit_blob(struct emit *emit, const void *bytes, size_t count)
{
    struct buf hex = {0};
    const unsigned char *at = bytes;
    buf_text(&hex, "x'");
    for (size_t i = 0; i < count; i++) {
        static const char digits[] = "0123456789abcdef";
        buf_add(&hex, (char[]){digits[at[i] >> 4], digits[at[i] & 15]}, 2);
    }
    buf_text(&hex, "'");
    emit->out.broken = emit->out.broken || hex.broken;
    emit_text_n(emit, buf_string(&hex), hex.count);
    buf_clear(&hex);
}

/* ---- lines and notes ---- */

__attribute__((format(printf, 2, 0))) static void print_list(struct buf *out, const char *format,
                                                             va_list list)
{
    char text[1024];
    int n = vsnprintf(text, sizeof text, format, list);
    if (n > 0)
        emit_put_safe(out, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

void emit_heading(struct emit *emit, const char *format, ...)
{
    if (emit->format != EMIT_TABLE)
        return;
    emit_close(emit);
    if (emit->more)
        buf_text(&emit->out, "\n");
    buf_text(&emit->out, emit->colour ? "\033[1m" : "");
    va_list list;
    va_start(list, format);
    print_list(&emit->out, format, list);
    va_end(list);
    buf_text(&emit->out, emit->colour ? "\033[0m\n" : "\n");
    emit->more = true;
    emit->headed = true;
}

void emit_line(struct emit *emit, const char *format, ...)
{
    if (emit->format != EMIT_TABLE)
        return;
    emit_close(emit);
    struct buf line = {0};
    va_list list;
    va_start(list, format);
    print_list(&line, format, list);
    va_end(list);
    emit_put_wrapped(&emit->out, buf_string(&line), line.count, emit->width, 0);
    emit->out.broken = emit->out.broken || line.broken;
    buf_clear(&line);
    buf_text(&emit->out, "\n");
    emit->more = true;
    emit->headed = true;
}

void emit_picture(struct emit *emit, const struct buf *lines)
{
    emit->out.broken = emit->out.broken || lines->broken;
    if (emit->format != EMIT_TABLE)
        return;
    emit_close(emit);
    buf_add(&emit->out, buf_string(lines), lines->count);
    emit->more = true;
    emit->headed = true;
}

__attribute__((format(printf, 3, 0))) static void add_note(struct emit *emit, const char *kind,
                                                           const char *format, va_list list)
{
    buf_text(&emit->notes, kind);
    print_list(&emit->notes, format, list);
    buf_text(&emit->notes, "\n");
}

void emit_note(struct emit *emit, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    add_note(emit, "n", format, list);
    va_end(list);
}

void emit_warning(struct emit *emit, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    add_note(emit, "w", format, list);
    va_end(list);
}

/* ---- places ---- */

static unsigned count_lines(const struct buf *text)
{
    unsigned lines = 0;
    for (size_t i = 0; i < text->count; i++)
        lines += text->data[i] == '\n';
    return lines;
}

struct emit_mark emit_here(struct emit *emit)
{
    emit_close(emit);
    return (struct emit_mark){
        .bytes = emit->out.count,
        .keys = emit->keys.count,
        .spared = emit->spared.count,
        .sections = emit->sections,
        .unknown = emit->unknown,
        .more = emit->more,
        .headed = emit->headed,
    };
}

unsigned emit_lines(struct emit *emit)
{
    emit_close(emit);
    return count_lines(&emit->out);
}

static void cut_back(struct buf *text, size_t count)
{
    text->count = count;
    if (text->data)
        text->data[count] = '\0';
}

void emit_back(struct emit *emit, const struct emit_mark *mark)
{
    emit_close(emit);
    cut_back(&emit->out, mark->bytes);
    cut_back(&emit->keys, mark->keys);
    cut_back(&emit->spared, mark->spared);
    emit->sections = mark->sections;
    emit->unknown = mark->unknown;
    emit->more = mark->more;
    emit->headed = mark->headed;
}

/* Lines go from the end of what stands above the notes, which begin at `notes`. */
static void fit_lines(struct emit *emit, size_t notes)
{
    struct buf *out = &emit->out;
    unsigned lines = count_lines(out);
    size_t at = notes;
    if (!emit->most_lines || out->broken || lines <= emit->most_lines)
        return;
    for (unsigned more = lines - emit->most_lines; more && at; more--)
        for (at--; at && out->data[at - 1] != '\n'; at--)
            ;
    memmove(out->data + at, out->data + notes, out->count - notes);
    cut_back(out, out->count - (notes - at));
}

/* ---- the end ---- */

void emit_drop(struct emit *emit)
{
    buf_clear(&emit->out);
    buf_clear(&emit->text);
    buf_clear(&emit->keys);
    buf_clear(&emit->notes);
    buf_clear(&emit->spared);
    mem_free(emit->cells);
    mem_free(emit->layout);
    *emit = (struct emit){0};
}

static bool is_broken(const struct emit *emit)
{
    return emit->out.broken || emit->text.broken || emit->keys.broken || emit->notes.broken;
}

int emit_finish(struct emit *emit, FILE *file)
{
    emit_close(emit);
    if (!is_broken(emit)) { /* else the notes may be cut short */
        size_t body = emit->out.count;
        if (emit->format == EMIT_TABLE)
            emit_table_end(emit);
        else if (emit->format == EMIT_CSV)
            emit_csv_end(emit);
        else
            emit_json_end(emit);
        if (emit->format == EMIT_TABLE)
            fit_lines(emit, body);
    }
    bool broken = is_broken(emit);
    if (!broken)
        write_out(emit, file);
    emit_drop(emit);
    return broken ? ERR_NOMEM : 0;
}
