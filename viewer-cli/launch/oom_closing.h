/*
 * oom_closing.h - what `tidemark record` adds to its closing lines where an allocation failed.
 *
 * It is quick whatever was recorded: one event is explained, from the segments and blocks that
 * lived then, and replayed only if few enough events came before it.
 */
#ifndef TIDEMARK_VIEWER_OOM_CLOSING_H
#define TIDEMARK_VIEWER_OOM_CLOSING_H

#include "oom_fit.h"
#include "buf.h"

enum { OOM_CLOSING_EVENTS = 500000 };

/* The lines, each begun by "tidemark: ", about the newest failure in the recording; none if there
 * is none, or if the recording cannot be read. */
void oom_closing_text(const char *path, struct buf *out);
/* The same of what was read already. */
void oom_closing_put(const struct oom_place *place, const struct oom *oom,
                     const struct oom_fit *fit, const char *path, struct buf *out);

#endif
