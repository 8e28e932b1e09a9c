/*
 * safe.h - text that came from a recorded program, or from anybody, made fit for a screen.
 */
#ifndef TIDEMARK_BASE_SAFE_H
#define TIDEMARK_BASE_SAFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

/* Length of the well-formed UTF-8 sequence at text, 0 if there is none. */
size_t safe_utf8(const char *text, size_t bytes, uint32_t *code);
/* What a terminal obeys instead of showing it: C0, DEL, C1, and what turns the direction of
 * writing. */
bool safe_is_control(uint32_t code);
/* Columns of one character: the ranges that terminals agree on. */
unsigned safe_width(uint32_t code);
/* Control characters and broken UTF-8 become visible escapes. Returns the columns it takes. */
unsigned safe_put(struct buf *out, const char *text, size_t bytes);

#endif
