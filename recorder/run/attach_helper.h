/* attach_helper.h - a process of the program's own interpreter, which has it execute a script. */
#ifndef TIDEMARK_RECORDER_ATTACH_HELPER_H
#define TIDEMARK_RECORDER_ATTACH_HELPER_H

#include <stdbool.h>
#include <sys/types.h>

#include "attach_stop.h"
#include "buf.h"

/* True: the program will come to the script. `awaited`: it may, also where nothing was heard.
 * `stop` ends the wait; NULL: nothing does. */
bool attach_helper_run(const char *interpreter, pid_t pid, const char *script,
                       struct attach_stop *stop, bool *awaited, struct buf *why);

#endif
