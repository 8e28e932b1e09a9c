/*
 * schema_text.h - the SQL of schema/ *.sql as the build embeds it, in the order of its numbers.
 */
#ifndef TIDEMARK_SCHEMA_TEXT_H
#define TIDEMARK_SCHEMA_TEXT_H

extern const char schema_text[]; /* ends with a NUL */
extern const char views_text[];  /* its last part, the views, once more by itself */

#endif
