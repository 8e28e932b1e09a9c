/*
 * page.h - the page: the texts of web/, made one at build time, with the data in their middle.
 *
 * Of what was recorded nothing stands in the page but as base64.
 */
#ifndef TIDEMARK_HTML_PAGE_H
#define TIDEMARK_HTML_PAGE_H

#include <stdio.h>

#include "buf.h"

extern const char page_text[]; /* web/, joined; made */

/* 0 or an error: ERR_IO, with errno. */
int page_write(FILE *file, const struct buf *data);

#endif
