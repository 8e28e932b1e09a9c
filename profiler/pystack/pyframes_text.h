/* pyframes_text.h - a str of Python as UTF-8. */
#ifndef TIDEMARK_PROFILER_PYFRAMES_TEXT_H
#define TIDEMARK_PROFILER_PYFRAMES_TEXT_H

#include <stddef.h>

#include "pyframes_layout.h"

#define PYFRAMES_TEXT 2048 /* bytes of one name that are kept */

/* Whether `object` is a str whose characters can be read. */
bool pyframes_is_text(const struct pyframes_layout *layout, const void *object);

/* Writes at most `room` bytes of whole characters, no NUL behind them; returns how many. What UTF-8
 * cannot hold, a lone surrogate, becomes '?', and so does a NUL. `object` passed the test above. */
size_t pyframes_text(const struct pyframes_layout *layout, const void *object, char *out,
                     size_t room);

#endif
