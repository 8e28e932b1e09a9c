/*
 * asked.h - what the reports say, as json: each is the command itself, so that the page has no
 * figure of its own.
 */
#ifndef TIDEMARK_HTML_ASKED_H
#define TIDEMARK_HTML_ASKED_H

#include "buf.h"
#include "report.h"

/* {"info": {...}, "peak": {...}, ...} of one recording, null for a report that has nothing to say;
 * with another recording, {"diff": {...}} of the two. 0, or the exit code after the message was
 * printed. */
int asked_reports(const char *path, const struct report_options *options, struct buf *out);
int asked_diff(const char *path, const char *other, const struct report_options *options,
               struct buf *out);

#endif
