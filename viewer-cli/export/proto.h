/*
 * proto.h - messages of protocol buffers, as bytes: what pprof and Perfetto read.
 *
 * A message is its fields one after the other; a field is its number and kind, then its value. A
 * message inside of another is made in a buf of its own first, for its length stands before it. No
 * library: five functions write all that is needed, and a schema's generated code would bring a
 * compiler and a runtime with it.
 *
 * Invariants of what is written: numbers of fields are 1 or more; a text is UTF-8 whatever came in
 * (what is not becomes U+FFFD), as readers of proto3 refuse others.
 */
#ifndef TIDEMARK_EXPORT_PROTO_H
#define TIDEMARK_EXPORT_PROTO_H

#include <stdint.h>

#include "buf.h"

void proto_uint(struct buf *message, unsigned field, uint64_t value);
void proto_int(struct buf *message, unsigned field,
               int64_t value); /* int64: negative is 10 bytes */
void proto_double(struct buf *message, unsigned field, double value);
void proto_text(struct buf *message, unsigned field, const char *text);
/* All of `inner`, as a message or as bytes, and empties it, keeping its memory. */
void proto_message(struct buf *message, unsigned field, struct buf *inner);

/* The text with what is not UTF-8 made U+FFFD. */
void proto_utf8(struct buf *out, const char *text, size_t bytes);

#endif
