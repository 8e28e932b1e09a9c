/*
 * terminal.h - whether a terminal may be drawn to: others have it, too.
 */
#ifndef TIDEMARK_BASE_TERMINAL_H
#define TIDEMARK_BASE_TERMINAL_H

#include <stdbool.h>

/* Nobody else has it: we are in its foreground, if it has one for us, and it takes whole lines,
 * which it echoes. A shell's prompt, an editor, a pager and who asks for a password do not. */
bool terminal_is_ours(int fd);

#endif
