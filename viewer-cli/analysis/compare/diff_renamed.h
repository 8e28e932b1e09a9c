/*
 * diff_renamed.h - the program's script of two recordings under two names, as train.py and
 * train_v2.py: taken for one where each run has call sites in its own and none in the other's, and
 * where more than half of the functions of the one that has fewer are in both; and where no other
 * file of a run has the name of its script.
 *
 * Invariant: both names are there, and differ, or none is.
 */
#ifndef TIDEMARK_ANALYSIS_DIFF_RENAMED_H
#define TIDEMARK_ANALYSIS_DIFF_RENAMED_H

#include "diff.h"

/* File names without folders, to be freed by the caller; NULL: not renamed. 0 or an error, which
 * the side that it came from has in `err`. */
int diff_find_renamed(struct diff_side sides[DIFF_SIDES], char *names[DIFF_SIDES]);
/* B's name becomes A's in "f (train_v2.py) > g (model.py)". False without memory. */
bool diff_rename(char *const names[DIFF_SIDES], char **text);

#endif
