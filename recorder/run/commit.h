/*
 * commit.h - which commit of its repository the recorded program is of. Git is not run: HEAD, refs
 * and packed-refs are read, as they stand in .git, or where a worktree's or a submodule's .git,
 * which is a file, says. What was changed since the commit is not seen.
 */
#ifndef TIDEMARK_RECORDER_COMMIT_H
#define TIDEMARK_RECORDER_COMMIT_H

#include <stdbool.h>
#include <sys/types.h>

#include "buf.h"

/* What the environment says (TIDEMARK_COMMIT, else GITHUB_SHA, CI_COMMIT_SHA). TIDEMARK_COMMIT that
 * is empty: that none is to be stored. Else of the folder of the script, which is the first
 * argument that is a file; else of `folder`; else of the program's own, unless that is Python. False:
 * it is not known. */
bool commit_find(const char *folder, const char *const *argv, struct buf *out);
/* Of a folder, or one around it. */
bool commit_of_folder(const char *folder, struct buf *out);

#endif
