/*
 * newest.h - which recording is meant when none is named.
 */
#ifndef TIDEMARK_VIEWER_NEWEST_H
#define TIDEMARK_VIEWER_NEWEST_H

#include <stddef.h>

/* The tidemark.*.db in `folder` whose recording began last; a file that cannot say so counts by the
 * time it was written, one that is no recording not at all. *path is to be freed. ERR_NOTFOUND if
 * there is none. */
int newest_recording(const char *folder, char **path);
/* The same of all *.db, for a hint; and how many recordings there are. */
int newest_of_any_name(const char *folder, char **path, size_t *count);

#endif
