#include "protobuf.h"

enum { WIRE_NUMBER = 0, WIRE_EIGHT = 1, WIRE_BYTES = 2, WIRE_FOUR = 5 };

static bool wrong(struct protobuf *in)
{
    in->wrong = true;
    in->at = in->end;
    return false;
}

/* Seven bits a byte, the lowest first; ten bytes at most. */
bool protobuf_number(struct protobuf *in, uint64_t *value)
{
    *value = 0;
    if (in->at == in->end)
        return false;
    for (unsigned shift = 0; shift < 70 && in->at < in->end; shift += 7) {
        unsigned char byte = *in->at++;
        if (shift < 64)
            *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return wrong(in);
}

static bool take_fixed(struct protobuf *in, unsigned bytes, uint64_t *value)
{
    *value = 0;
    if ((size_t)(in->end - in->at) < bytes)
        return wrong(in);
    for (unsigned i = 0; i < bytes; i++)
        *value |= (uint64_t)in->at[i] << 8 * i;
    in->at += bytes;
    return true;
}

static bool take_bytes(struct protobuf *in, struct protobuf_field *field)
{
    uint64_t count;
    if (in->at == in->end || !protobuf_number(in, &count) || count > (uint64_t)(in->end - in->at))
        return wrong(in);
    field->is_bytes = true;
    field->bytes = in->at;
    field->count = (size_t)count;
    in->at += count;
    return true;
}

bool protobuf_next(struct protobuf *in, struct protobuf_field *field)
{
    uint64_t key;
    *field = (struct protobuf_field){0};
    if (in->at == in->end)
        return false;
    if (!protobuf_number(in, &key) || key >> 3 == 0 || key >> 3 > UINT32_MAX)
        return wrong(in);
    field->number = (uint32_t)(key >> 3);
    switch (key & 7) {
    case WIRE_NUMBER:
        return in->at < in->end && protobuf_number(in, &field->value) ? true : wrong(in);
    case WIRE_EIGHT:
        return take_fixed(in, 8, &field->value);
    case WIRE_BYTES:
        return take_bytes(in, field);
    case WIRE_FOUR:
        return take_fixed(in, 4, &field->value);
    default:
        return wrong(in);
    }
}
