/*
 * pack.h - numbers and texts as the page reads them: seven bits a byte, the lowest first.
 */
#ifndef TIDEMARK_HTML_PACK_H
#define TIDEMARK_HTML_PACK_H

#include <stdint.h>

#include "buf.h"

#define PACK_NONE INT64_MIN
#define PACK_TEXT_MOST 480u /* bytes of a text: what is behind them is cut off, with a mark */

void pack_number(struct buf *out, uint64_t value);
/* Of either sign: 0, -1, 1, -2, ... */
void pack_signed(struct buf *out, int64_t value);
/* 0 is PACK_NONE, else one more than a number that is not negative. */
void pack_known(struct buf *out, int64_t value);
/* Length and UTF-8; what a screen would obey, and what is not UTF-8, is a visible escape (safe.h);
 * NULL is "". */
void pack_text(struct buf *out, const char *text);
void pack_bytes(struct buf *out, const char *bytes, size_t count);

/* Letters, digits, '+', '/' and '=': nothing in it can end a script or begin a tag. */
void pack_base64(struct buf *out, const char *bytes, size_t count);

#endif
