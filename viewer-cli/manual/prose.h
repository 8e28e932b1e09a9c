/*
 * prose.h - turns the kept text of a manual (docs/manual/NAME.md) into roff. It is a small part of
 * Markdown, so that the same file can be read on the web:
 *
 *     # tidemark NAME           the first line; the page's title comes from the tables
 *     ## Heading                a section; ### one below it
 *     text                      a paragraph, which ends with an empty line
 *     - text                    a list; lines that go on are indented by two blanks
 *     - **word**: text          the same, for what a column or a line of the output means
 *         text                  code, indented by four blanks; "$ " before a command, "> " before
 *                               its further lines, under it what it prints
 *     `code` **strong** [text](link)
 *
 * Code of more than 69 columns begins further to the left, so that 78 fit on a page of 80; a test
 * says which lines are longer.
 *
 * A link to NAME.md becomes tidemark-NAME(1); another one is followed by where it leads. Whatever
 * else Markdown has (tables, fences, numbers, quotes, *one star*) is refused with its line.
 */
#ifndef TIDEMARK_MANUAL_PROSE_H
#define TIDEMARK_MANUAL_PROSE_H

#include <stdbool.h>
#include <stdio.h>

#include "buf.h"

/* A part of a page: from one "## " to the next; the first part has no heading. */
struct prose_part {
    char heading[48]; /* "" = what stands before the first heading */
    const char *text; /* not terminated */
    size_t length;
    int line; /* of the file, where text begins; the first is 1 */
};

enum { PROSE_PARTS = 24 };

struct prose {
    const char *file; /* for messages */
    struct prose_part parts[PROSE_PARTS];
    int count;
};

/* Splits the text of a whole file, which has to outlive *prose. False: *message has why not, with
 * file and line. */
bool prose_split(struct prose *prose, const char *file, const char *text, struct buf *message);
const struct prose_part *prose_find(const struct prose *prose, const char *heading); /* or NULL */

/* Writes one part without its heading. False as above. */
bool prose_roff(struct buf *out, const struct prose *prose, const struct prose_part *part,
                struct buf *message);

/* Plain text as roff takes it literally; in the middle of a line. */
void roff_text(struct buf *out, const char *text, size_t length);
/* Paragraphs as --help has them: lines that begin with a blank are kept as they are. */
void roff_help(struct buf *out, const char *text);

#endif
