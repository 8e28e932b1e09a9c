/*
 * foreign.h - what a file seems to be, judged by its first bytes, for the message that refuses it.
 */
#ifndef TIDEMARK_SCHEMA_FOREIGN_H
#define TIDEMARK_SCHEMA_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

#define FOREIGN_HEAD_BYTES 512 /* more are never looked at */

bool foreign_is_sqlite(const unsigned char *head, size_t count);
/* A phrase that follows "it is ". Never NULL. */
const char *foreign_describe(const unsigned char *head, size_t count);
/* Zeros, or no kind that is known: what an overwritten header looks like. */
bool foreign_is_nameless(const unsigned char *head, size_t count);

#endif
