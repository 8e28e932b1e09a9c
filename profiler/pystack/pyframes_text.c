/*
 * pyframes_text.c - see pyframes_text.h. The state word of a str, low bits first: some of no
 * interest, three bits of kind (bytes of a character), compact, ascii.
 */
#include "pyframes_text.h"

#define KIND(state) ((state)&7)
#define COMPACT (1u << 3)
#define ASCII (1u << 4)

static uint32_t state_of(const struct pyframes_layout *layout, const void *object)
{
    uint64_t at = pyframes_part(layout, PY_STR_STATE);
    return (uint32_t)pyframes_int(object, at) >> layout->str_state;
}

static const void *data_of(const struct pyframes_layout *layout, const void *object)
{
    uint32_t state = state_of(layout, object);
    if (!(state & COMPACT)) /* a subclass of str */
        return pyframes_pointer(object, layout->compact_data);
    return (const char *)object + (state & ASCII ? layout->ascii_data : layout->compact_data);
}

bool pyframes_is_text(const struct pyframes_layout *layout, const void *object)
{
    const void *type = object ? pyframes_type_of(layout, object) : NULL;
    if (!type || !(pyframes_word(type, pyframes_part(layout, PY_TYPE_FLAGS)) & PY_FLAG_STR))
        return false;
    uint32_t kind = KIND(state_of(layout, object));
    return (kind == 1 || kind == 2 || kind == 4) && data_of(layout, object) &&
           pyframes_size_of(layout, object) < (1ull << 31);
}

static uint32_t character(const void *data, uint32_t kind, uint64_t at)
{
    uint16_t two;
    uint32_t four;
    switch (kind) {
    case 1:
        return ((const uint8_t *)data)[at];
    case 2:
        memcpy(&two, (const char *)data + at * 2, 2);
        return two;
    default:
        memcpy(&four, (const char *)data + at * 4, 4);
        return four;
    }
}

/* Writes one character; returns its bytes. */
static size_t encode(uint32_t c, char out[4])
{
    if (c == 0 || (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff)
        c = '?';
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t lead[] = {0, 0xc0, 0xe0, 0xf0};
    for (size_t i = more; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 63));
    out[0] = (char)(lead[more] | c);
    return more + 1;
}

size_t pyframes_text(const struct pyframes_layout *layout, const void *object, char *out,
                     size_t room)
{
    uint64_t length = pyframes_size_of(layout, object);
    uint32_t kind = KIND(state_of(layout, object));
    const void *data = data_of(layout, object);
    size_t used = 0;
    for (uint64_t i = 0; i < length; i++) {
        char bytes[4];
        size_t count = encode(character(data, kind, i), bytes);
        if (count > room - used)
            break;
        memcpy(out + used, bytes, count);
        used += count;
    }
    return used;
}
