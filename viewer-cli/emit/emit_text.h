/*
 * emit_text.h - text for a screen: measured in columns, cut, wrapped, and made harmless.
 */
#ifndef TIDEMARK_VIEWER_EMIT_TEXT_H
#define TIDEMARK_VIEWER_EMIT_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "buf.h"

/* Text for a screen: control characters and broken UTF-8 become visible escapes, so that a name in
 * a recording cannot steer the terminal. Returns the columns it takes. */
unsigned emit_put_safe(struct buf *out, const char *text, size_t bytes);
/* How many bytes of safe text fit into `width` columns. */
size_t emit_fit(const char *text, size_t bytes, unsigned width);
unsigned emit_columns_of(const char *text, size_t bytes);
/* Length of the well-formed UTF-8 sequence at text, 0 if there is none. */
size_t emit_utf8(const char *text, size_t bytes, uint32_t *code);
/* A string of JSON, with its quotes: what is not UTF-8 becomes U+FFFD. */
void emit_json_string(struct buf *out, const char *text, size_t bytes);
/* Lines of at most `width` columns, 0 = any, ended at blanks; all but the first are indented. */
void emit_put_wrapped(struct buf *out, const char *text, size_t bytes, unsigned width,
                      unsigned indent);

#endif
