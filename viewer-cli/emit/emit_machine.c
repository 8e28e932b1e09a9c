/*
 * The emitter's formats for programs: csv and json.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emit_parts.h"

/* Is there a column for programs before this one? Then a comma stands between. */
static bool is_first(const struct emit *emit, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (!(emit->columns[i].flags & EMIT_PEOPLE))
            return false;
    return true;
}

/* ---- csv ---- */

/* Quoted where a reader could take it for something else: a comma, a quote, a new line, nothing at
 * all, or what begins like a line of ours. */
static void csv_text(struct buf *out, const char *text, size_t bytes)
{
    bool plain = bytes > 0 && text[0] != '#' && text[0] != ' ' && text[bytes - 1] != ' ';
    for (size_t i = 0; i < bytes && plain; i++)
        plain = text[i] != ',' && text[i] != '"' && text[i] != '\n' && text[i] != '\r';
    if (plain) {
        buf_add(out, text, bytes);
        return;
    }
    buf_text(out, "\"");
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '"')
            buf_text(out, "\"");
        buf_add(out, text + i, 1);
    }
    buf_text(out, "\"");
}

/* What a terminal would obey is escaped first, so that nothing in it asks for quotes but what did
 * before, and lines of a text are one. */
static void put_text(struct emit *emit, const char *text, size_t bytes)
{
    struct buf safe = {0};
    if (!emit->safe) {
        csv_text(&emit->out, text, bytes);
        return;
    }
    emit_put_safe(&safe, text, bytes);
    csv_text(&emit->out, buf_string(&safe), safe.count);
    emit->out.broken = emit->out.broken || safe.broken;
    buf_clear(&safe);
}

/* A lone section has no line of its own: its output is plain csv. Whether it is alone is known when
 * the second one comes; so the first one's line is put before it then. */
void emit_csv_open(struct emit *emit, const char *key)
{
    struct buf *out = &emit->out;
    if (emit->sections == 2 && !emit->stream) {
        struct buf whole = {0};
        size_t first = strcspn(emit->keys.data ? emit->keys.data : "", "\n");
        buf_print(&whole, "# %.*s\n", (int)first, buf_string(&emit->keys));
        buf_add(&whole, buf_string(out), out->count);
        whole.broken = whole.broken || out->broken;
        buf_clear(out);
        *out = whole;
    }
    if (emit->sections > 1)
        buf_print(out, "\n# %s\n", key);
    for (size_t i = 0; i < emit->column_count; i++) {
        if (emit->columns[i].flags & EMIT_PEOPLE)
            continue;
        buf_text(out, is_first(emit, i) ? "" : ",");
        put_text(emit, emit->columns[i].key, strlen(emit->columns[i].key));
    }
    buf_text(out, "\n");
}

void emit_csv_value(struct emit *emit, const struct emit_value *value)
{
    buf_text(&emit->out, is_first(emit, emit->at) ? "" : ",");
    if (value->kind == VALUE_INT)
        buf_print(&emit->out, "%" PRId64, value->integer);
    else if (value->kind == VALUE_REAL)
        emit_put_real(&emit->out, value->real);
    else if (value->kind == VALUE_TEXT)
        put_text(emit, value->text, value->bytes);
}

void emit_csv_end(struct emit *emit)
{
    const char *at = buf_string(&emit->notes);
    for (; *at; at += strcspn(at, "\n") + 1)
        if (*at == 'w')
            buf_print(&emit->out, "# %.*s\n", (int)strcspn(at + 1, "\n"), at + 1);
}

/* ---- json ---- */

void emit_json_string(struct buf *out, const char *text, size_t bytes)
{
    buf_text(out, "\"");
    for (size_t at = 0; at < bytes;) {
        uint32_t code = 0;
        size_t n = emit_utf8(text + at, bytes - at, &code);
        if (n == 0)
            buf_text(out, "\xef\xbf\xbd");
        else if (code == '"' || code == '\\')
            buf_print(out, "\\%c", (char)code);
        else if (code == '\n')
            buf_text(out, "\\n");
        else if (code < 0x20 || (code >= 0x7f && code < 0xa0))
            buf_print(out, "\\u%04" PRIx32, code);
        else
            buf_add(out, text + at, n);
        at += n ? n : 1;
    }
    buf_text(out, "\"");
}

static void put_string(struct buf *out, const char *text)
{
    emit_json_string(out, text, strlen(text));
}

void emit_json_begin(struct emit *emit)
{
    buf_text(&emit->out, "{\"command\": ");
    put_string(&emit->out, emit->command);
    buf_text(&emit->out, ",\n \"database\": ");
    if (emit->database)
        put_string(&emit->out, emit->database);
    else
        buf_text(&emit->out, "null");
    buf_text(&emit->out, ",\n \"tables\": {");
}

void emit_json_open(struct emit *emit, const char *key)
{
    buf_text(&emit->out, emit->sections > 1 ? ",\n  " : "\n  ");
    put_string(&emit->out, key);
    buf_text(&emit->out, ": [");
}

void emit_json_value(struct emit *emit, const struct emit_value *value)
{
    struct buf *out = &emit->out;
    bool first = is_first(emit, emit->at);
    if (first)
        buf_text(out, emit->rows ? ",\n   {" : "\n   {");
    else
        buf_text(out, ", ");
    put_string(out, emit->columns[emit->at].key);
    buf_text(out, ": ");
    if (value->kind == VALUE_INT)
        buf_print(out, "%" PRId64, value->integer);
    else if (value->kind == VALUE_REAL)
        emit_put_real(out, value->real);
    else if (value->kind == VALUE_TEXT)
        emit_json_string(out, value->text, value->bytes);
    else
        buf_text(out, "null");
}

void emit_json_close(struct emit *emit)
{
    buf_text(&emit->out, emit->rows ? "\n  ]" : "]");
}

void emit_json_end(struct emit *emit)
{
    struct buf *out = &emit->out;
    const char *at = buf_string(&emit->notes);
    buf_text(out, emit->sections ? "\n },\n \"notes\": [" : "},\n \"notes\": [");
    for (bool first = true; *at; at += strcspn(at, "\n") + 1, first = false) {
        buf_text(out, first ? "\n  " : ",\n  ");
        emit_json_string(out, at + 1, strcspn(at + 1, "\n"));
    }
    buf_text(out, buf_string(&emit->notes)[0] ? "\n ]}\n" : "]}\n");
}
