/* rmm.h - logs of RMM, into records. */
#ifndef TIDEMARK_IMPORT_RMM_H
#define TIDEMARK_IMPORT_RMM_H

#include "block_log.h"
#include "pickle_input.h"

/* Adds the lines to the log. A base_err: ERR_CORRUPT with the line's number in result->message. */
int rmm_read(struct pickle_input *input, int32_t device, struct block_log *log,
             struct import_result *result);

#endif
