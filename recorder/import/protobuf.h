/*
 * protobuf.h - the fields of a message of protocol buffers, one after the other. Nothing of it is
 * trusted: a field that does not end inside of the message is wrong, and so is a group.
 */
#ifndef TIDEMARK_IMPORT_PROTOBUF_H
#define TIDEMARK_IMPORT_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct protobuf {
    const unsigned char *at, *end;
    bool wrong;
};

struct protobuf_field {
    uint32_t number;
    bool is_bytes;              /* of variable length: text, a message, packed numbers */
    uint64_t value;             /* else */
    const unsigned char *bytes; /* with is_bytes */
    size_t count;
};

/* NULL, of no bytes, is an empty message. */
static inline struct protobuf protobuf_of(const unsigned char *bytes, size_t count)
{
    static const unsigned char none[1];
    const unsigned char *at = bytes ? bytes : none;
    return (struct protobuf){at, at + (bytes ? count : 0), false};
}

/* False: the message has ended, or is wrong. */
bool protobuf_next(struct protobuf *in, struct protobuf_field *field);
/* A number as it stands in packed ones; false likewise. */
bool protobuf_number(struct protobuf *in, uint64_t *value);

#endif
