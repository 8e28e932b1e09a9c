/*
 * rehearse_closing.h - the last line of `tidemark rehearse`: whether the run fits the GPU that was
 * stood in for.
 */
#ifndef TIDEMARK_VIEWER_REHEARSE_CLOSING_H
#define TIDEMARK_VIEWER_REHEARSE_CLOSING_H

#include <stdbool.h>

#include "buf.h"
#include "profile.h"

struct rehearse_closing {
    const char *path; /* of the recording */
    const char *gpu;  /* as --gpu has it */
    const struct profile *profile;
    bool no_kernels;
    int exit_code, signal; /* the program's, but for a signal of ours; 0 */
};

/* "tidemark: fits: peak 12.9 GiB of 39.0 GiB usable on a100-40gb"; nothing if the recording cannot
 * be read. */
void rehearse_closing_put(const struct rehearse_closing *closing, struct buf *out);

#endif
