#include "json.h"

#include <string.h>

enum expect { VALUE, VALUE_OR_END, KEY_OR_END, KEY, COMMA_OR_END, NOTHING, WRONG };

#define NO_BYTE (-1)

void json_start(struct json *json, struct pickle_input *input)
{
    json->input = input;
    json->count = json->depth = 0;
    json->text[0] = '\0';
    json->cut = json->ended = false;
    json->trouble = NULL;
    json->expect = VALUE;
    json->ahead = NO_BYTE;
}

/* ---- bytes ---- */

static int next_byte(struct json *json)
{
    int ahead = json->ahead;
    if (ahead != NO_BYTE) {
        json->ahead = NO_BYTE;
        return ahead;
    }
    const unsigned char *byte = input_take(json->input, 1);
    return byte ? *byte : NO_BYTE;
}

static int next_visible(struct json *json)
{
    int byte = next_byte(json);
    while (byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t')
        byte = next_byte(json);
    return byte;
}

static enum json_token wrong(struct json *json, const char *trouble)
{
    json->expect = WRONG;
    json->trouble = trouble;
    return JSON_WRONG;
}

static enum json_token ended(struct json *json)
{
    json->ended = true;
    return wrong(json, "it is cut off");
}

static void put(struct json *json, int byte)
{
    if (json->count + 1 < JSON_TEXT_BYTES)
        json->text[json->count++] = (char)byte;
    else
        json->cut = true;
}

/* ---- strings ---- */

static int hex_of(int byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* Four digits behind \u; -1: they are none. */
static int32_t read_unit(struct json *json)
{
    int32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        int byte = next_byte(json), digit = byte == NO_BYTE ? -1 : hex_of(byte);
        if (digit < 0) {
            json->ahead = byte;
            return -1;
        }
        unit = unit << 4 | digit;
    }
    return unit;
}

static void put_character(struct json *json, int32_t c)
{
    if (c <= 0 || (c >= 0xd800 && c < 0xe000)) {
        put(json, '?');
    } else if (c < 0x80) {
        put(json, c);
    } else if (c < 0x800) {
        put(json, 0xc0 | c >> 6);
        put(json, 0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        put(json, 0xe0 | c >> 12);
        put(json, 0x80 | (c >> 6 & 0x3f));
        put(json, 0x80 | (c & 0x3f));
    } else {
        put(json, 0xf0 | c >> 18);
        put(json, 0x80 | (c >> 12 & 0x3f));
        put(json, 0x80 | (c >> 6 & 0x3f));
        put(json, 0x80 | (c & 0x3f));
    }
}

/* Behind \u. A half of a pair without the other one is '?'; the other one is read as it stands. */
static void read_unicode(struct json *json)
{
    int32_t first = read_unit(json), second;
    if (first < 0xd800 || first >= 0xdc00) {
        put_character(json, first);
        return;
    }
    int byte = next_byte(json);
    if (byte != '\\') {
        json->ahead = byte;
        put(json, '?');
        return;
    }
    byte = next_byte(json);
    if (byte != 'u') {
        put(json, '?');
        put(json, byte == NO_BYTE ? '?' : byte);
        return;
    }
    second = read_unit(json);
    bool pair = second >= 0xdc00 && second < 0xe000;
    put_character(json, pair ? 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00) : -1);
}

static void read_escape(struct json *json, int byte)
{
    static const char letters[] = "bfnrt", stand_for[] = "\b\f\n\r\t";
    const char *at = byte > 0 ? strchr(letters, byte) : NULL;
    if (byte == 'u')
        read_unicode(json);
    else
        put(json, at && *at ? stand_for[at - letters] : byte ? byte : '?');
}

/* No half of a character stays at the end of a text that was cut. */
static void trim(struct json *json)
{
    size_t at = json->count;
    while (json->cut && at && ((unsigned char)json->text[at - 1] & 0xc0) == 0x80)
        at--;
    if (json->cut && at && (unsigned char)json->text[at - 1] >= 0xc0)
        json->count = at - 1;
}

/* Behind its quote. False: there is no other one. */
static bool read_string(struct json *json)
{
    int byte;
    json->count = 0;
    json->cut = false;
    while ((byte = next_byte(json)) != '"') {
        if (byte == '\\') {
            byte = next_byte(json);
            if (byte != NO_BYTE)
                read_escape(json, byte);
        } else {
            put(json, byte ? byte : '?');
        }
        if (byte == NO_BYTE)
            return false;
    }
    trim(json);
    json->text[json->count] = '\0';
    return true;
}

/* ---- other values ---- */

static bool in_number(int byte)
{
    return (byte >= '0' && byte <= '9') || byte == '-' || byte == '+' || byte == '.' ||
           byte == 'e' || byte == 'E';
}

static enum json_token read_number(struct json *json, int byte)
{
    json->count = 0;
    json->cut = false;
    for (; in_number(byte); byte = next_byte(json))
        put(json, byte);
    json->ahead = byte;
    json->text[json->count] = '\0';
    return json->cut ? wrong(json, "it has a number of kilobytes") : JSON_NUMBER;
}

static enum json_token read_word(struct json *json, int byte)
{
    static const struct {
        const char *text;
        enum json_token token;
    } words[] = {{"true", JSON_TRUE},
                 {"false", JSON_FALSE},
                 {"null", JSON_NULL},
                 {"NaN", JSON_NULL},
                 {"Infinity", JSON_NULL}};
    char word[16];
    size_t count = 0;
    while (count + 1 < sizeof word &&
           ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z'))) {
        word[count++] = (char)byte;
        byte = next_byte(json);
    }
    word[count] = '\0';
    json->ahead = byte;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i].text) == 0)
            return words[i].token;
    return byte == NO_BYTE ? ended(json) : wrong(json, "it is not JSON");
}

static enum json_token open_container(struct json *json, bool object)
{
    if (json->depth == JSON_DEPTH)
        return wrong(json, "it nests too deep");
    json->in_object[json->depth++] = object;
    json->expect = object ? KEY_OR_END : VALUE_OR_END;
    return object ? JSON_OBJECT : JSON_ARRAY;
}

static void value_ends(struct json *json)
{
    if (json->expect != WRONG)
        json->expect = json->depth ? COMMA_OR_END : NOTHING;
}

static enum json_token close_container(struct json *json)
{
    bool object = json->in_object[--json->depth];
    value_ends(json);
    return object ? JSON_OBJECT_END : JSON_ARRAY_END;
}

static enum json_token read_value(struct json *json, int byte)
{
    enum json_token token;
    if (byte == '{' || byte == '[')
        return open_container(json, byte == '{');
    if (byte == '"')
        token = read_string(json) ? JSON_STRING : ended(json);
    else if (byte == NO_BYTE)
        token = ended(json);
    else if (in_number(byte) && byte != 'e' && byte != 'E')
        token = read_number(json, byte);
    else
        token = read_word(json, byte);
    value_ends(json);
    return token;
}

static enum json_token read_key(struct json *json, int byte)
{
    if (byte != '"')
        return byte == NO_BYTE ? ended(json) : wrong(json, "it is not JSON");
    if (!read_string(json))
        return ended(json);
    byte = next_visible(json);
    if (byte != ':')
        return byte == NO_BYTE ? ended(json) : wrong(json, "it is not JSON");
    json->expect = VALUE;
    return JSON_KEY;
}

/* ---- tokens ---- */

enum json_token json_next(struct json *json)
{
    if (json->expect == WRONG)
        return JSON_WRONG;
    if (json->expect == NOTHING)
        return JSON_END;
    int byte = next_visible(json);
    bool object = json->depth && json->in_object[json->depth - 1];
    bool may_end = json->expect != VALUE && json->expect != KEY;
    if (may_end && byte == (object ? '}' : ']'))
        return close_container(json);
    if (json->expect == COMMA_OR_END) {
        if (byte != ',')
            return byte == NO_BYTE ? ended(json) : wrong(json, "it is not JSON");
        json->expect = object ? KEY : VALUE;
        byte = next_visible(json);
    }
    if (json->expect == KEY || json->expect == KEY_OR_END)
        return read_key(json, byte);
    return read_value(json, byte);
}

bool json_skip(struct json *json, enum json_token first)
{
    if (first != JSON_OBJECT && first != JSON_ARRAY)
        return first != JSON_WRONG;
    size_t depth = json->depth;
    while (json->depth >= depth)
        if (json_next(json) == JSON_WRONG)
            return false;
    return true;
}
