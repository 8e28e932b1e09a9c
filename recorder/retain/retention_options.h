/* retention_options.h - what is asked for, apart from retention.h, so that commands need no more.
 */
#ifndef TIDEMARK_RECORDER_RETENTION_OPTIONS_H
#define TIDEMARK_RECORDER_RETENTION_OPTIONS_H

#include <stdint.h>

/* Of max_bytes: some commits and their log. (tests/inject has a smaller recorder.) */
#ifndef RETENTION_SMALLEST
#define RETENTION_SMALLEST ((int64_t)16 << 20)
#endif

#define RETENTION_LEAST 3 /* units at the end that stay, whatever the limit */

struct retention_options {
    int64_t keep_steps; /* 0: all */
    int64_t max_bytes;  /* of the file and its log; 0: no limit */
};

#endif
