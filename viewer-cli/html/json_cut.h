/*
 * json_cut.h - json whose texts are cut: a name of megabytes, in each row of a report, must not
 * make a page of gigabytes.
 */
#ifndef TIDEMARK_HTML_JSON_CUT_H
#define TIDEMARK_HTML_JSON_CUT_H

#include <stddef.h>

#include "buf.h"

/* Adds it to `out`; of each string, names of members among them, so many bytes stay, and a mark in
 * place of the rest. Never in the middle of an escape or of a character. */
void json_cut(struct buf *out, const char *json, size_t count, size_t most);

#endif
