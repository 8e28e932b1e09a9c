/* utf8.h - text that a program gave us, made fit for a database. */
#ifndef TIDEMARK_RECORDER_UTF8_H
#define TIDEMARK_RECORDER_UTF8_H

#include <stddef.h>

/* Replaces each NUL and each byte that is not part of a UTF-8 character by '?', in place. */
void utf8_clean(unsigned char *text, size_t count);
/* The longest prefix of at most `max` bytes that cuts no character in two. */
size_t utf8_cut(const char *text, size_t max);

#endif
