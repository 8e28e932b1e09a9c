#include "pickle_put.h"

#include <assert.h>
#include <string.h>

#include "proto.h"

static void put_byte(struct pickle_put *pickle, unsigned value)
{
    unsigned char byte = (unsigned char)value;
    out_put(pickle->out, &byte, 1);
}

/* An opcode, and a number behind it, the lowest byte first. */
static void put_op(struct pickle_put *pickle, char op, uint64_t value, unsigned bytes)
{
    unsigned char text[9] = {(unsigned char)op};
    for (unsigned i = 0; i < bytes; i++)
        text[1 + i] = (unsigned char)(value >> 8 * i);
    out_put(pickle->out, text, 1 + bytes);
}

void pickle_begin(struct pickle_put *pickle, struct export_out *out)
{
    *pickle = (struct pickle_put){.out = out};
    put_op(pickle, '\x80', 4, 1);
}

void pickle_end(struct pickle_put *pickle)
{
    assert(pickle->depth == 0);
    put_byte(pickle, '.');
    buf_clear(&pickle->text);
}

void pickle_int(struct pickle_put *pickle, int64_t value)
{
    if (value >= 0 && value <= UINT8_MAX)
        put_op(pickle, 'K', (uint64_t)value, 1);
    else if (value >= 0 && value <= UINT16_MAX)
        put_op(pickle, 'M', (uint64_t)value, 2);
    else if (value >= INT32_MIN && value <= INT32_MAX)
        put_op(pickle, 'J', (uint64_t)value, 4);
    else {
        put_op(pickle, '\x8a', 8, 1);
        for (unsigned i = 0; i < 8; i++)
            put_byte(pickle, (unsigned)((uint64_t)value >> 8 * i));
    }
}

void pickle_uint(struct pickle_put *pickle, uint64_t value)
{
    if (value <= INT64_MAX) {
        pickle_int(pickle, (int64_t)value);
        return;
    }
    put_op(pickle, '\x8a', 9, 1); /* the ninth byte says that it is not negative */
    for (unsigned i = 0; i < 8; i++)
        put_byte(pickle, (unsigned)(value >> 8 * i));
    put_byte(pickle, 0);
}

void pickle_bool(struct pickle_put *pickle, bool value)
{
    put_byte(pickle, value ? 0x88 : 0x89);
}

void pickle_text(struct pickle_put *pickle, const char *text)
{
    struct buf *clean = &pickle->text;
    proto_utf8(clean, text, strlen(text));
    assert(clean->count <= UINT32_MAX);
    if (clean->count <= UINT8_MAX)
        put_op(pickle, '\x8c', clean->count, 1);
    else
        put_op(pickle, 'X', clean->count, 4);
    out_buf(pickle->out, clean);
}

void pickle_pair(struct pickle_put *pickle, uint64_t first, uint64_t second)
{
    pickle_uint(pickle, first);
    pickle_uint(pickle, second);
    put_byte(pickle, 0x86);
}

void pickle_list(struct pickle_put *pickle)
{
    assert(pickle->depth < PICKLE_DEPTH);
    put_byte(pickle, ']');
    pickle->in_batch[pickle->depth++] = 0;
}

static void end_batch(struct pickle_put *pickle)
{
    unsigned *in_batch = &pickle->in_batch[pickle->depth - 1];
    if (*in_batch)
        put_byte(pickle, 'e');
    *in_batch = 0;
}

void pickle_item(struct pickle_put *pickle)
{
    assert(pickle->depth > 0);
    unsigned *in_batch = &pickle->in_batch[pickle->depth - 1];
    if (*in_batch == PICKLE_BATCH)
        end_batch(pickle);
    if (*in_batch == 0)
        put_byte(pickle, '(');
    ++*in_batch;
}

void pickle_list_end(struct pickle_put *pickle)
{
    assert(pickle->depth > 0);
    end_batch(pickle);
    pickle->depth--;
}

void pickle_dict(struct pickle_put *pickle)
{
    put_byte(pickle, '}');
    put_byte(pickle, '(');
}

void pickle_dict_end(struct pickle_put *pickle)
{
    put_byte(pickle, 'u');
}

uint32_t pickle_remember(struct pickle_put *pickle)
{
    put_byte(pickle, 0x94);
    return pickle->memos++;
}

void pickle_again(struct pickle_put *pickle, uint32_t memo)
{
    assert(memo < pickle->memos);
    if (memo <= UINT8_MAX)
        put_op(pickle, 'h', memo, 1);
    else
        put_op(pickle, 'j', memo, 4);
}
