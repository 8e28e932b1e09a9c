/*
 * check_limits.h - the limits of `tidemark check`: options, or the lines of a file that has the
 * same names.
 *
 *     # the card has 24 GiB
 *     max-peak = 20GiB
 *     no-oom = yes
 *
 * A file may say `device`, too, for --device. A line without anything but blanks, or that begins
 * with
 * #, says nothing; so does what follows a blank and a #. Flags are yes or no. A file that
 * `baseline` names is looked for beside the limits.
 */
#ifndef TIDEMARK_ANALYSIS_CHECK_LIMITS_H
#define TIDEMARK_ANALYSIS_CHECK_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check.h"
#include "options.h"

#define CHECK_NONE (-1) /* this limit was not given */

struct check_limits {
    int64_t max_peak, max_reserved, max_growth; /* bytes, CHECK_NONE */
    const char *fragmentation;                  /* as they were typed; NULL */
    const char *increase;
    const char *baseline; /* a database; NULL */
    const char *device;   /* of a file alone: an option of every report has that name; NULL */
    bool no_oom, no_lost, allow_unknown;
    double
        max_fragmentation; /* a share, CHECK_NONE; this and what follows by check_limits_settle */
    struct check_increase max_increase;
};
#define CHECK_LIMITS                                                                               \
    {                                                                                              \
        .max_peak = CHECK_NONE, .max_reserved = CHECK_NONE, .max_growth = CHECK_NONE,              \
        .max_fragmentation = CHECK_NONE                                                            \
    }

#define CHECK_LIMIT(base, name, kind, member, value, help)                                         \
    {                                                                                              \
        name, 0, kind, (base) + offsetof(struct check_limits, member), value, help, NULL, 0        \
    }
/* The options of a struct that has its limits `base` bytes behind its start. */
#define CHECK_LIMIT_OPTIONS(base)                                                                  \
    CHECK_LIMIT(base, "max-peak", OPT_SIZE, max_peak, "SIZE", "the most allocated"),               \
        CHECK_LIMIT(base, "max-reserved", OPT_SIZE, max_reserved, "SIZE",                          \
                    "the most reserved from the device"),                                          \
        CHECK_LIMIT(base, "max-fragmentation", OPT_TEXT, fragmentation, "PERCENT",                 \
                    "the largest share of reserved that is\n"                                      \
                    "inactive split, at the end of phases after\nthe first step"),                 \
        CHECK_LIMIT(base, "max-growth", OPT_SIZE, max_growth, "SIZE",                              \
                    "the most that a step may leave behind, and\n"                                 \
                    "that peaks may rise from step to step"),                                      \
        CHECK_LIMIT(base, "baseline", OPT_DATABASE, baseline, "DATABASE",                          \
                    "another recording; with --max-increase"),                                     \
        CHECK_LIMIT(base, "max-increase", OPT_TEXT, increase, "MORE",                              \
                    "how much higher than the baseline's the\npeak may be: 5% or 200MiB"),         \
        CHECK_LIMIT(base, "no-oom", OPT_FLAG, no_oom, NULL, "no allocation may have failed"),      \
        CHECK_LIMIT(base, "no-lost", OPT_FLAG, no_lost, NULL, "no event may have been lost"),      \
        CHECK_LIMIT(base, "allow-unknown", OPT_FLAG, allow_unknown, NULL,                          \
                    "what the recording cannot tell may pass")

bool check_limits_any(const struct check_limits *limits); /* there is something to check */

/* Reads the numbers in its texts. False: `message` says what is wrong. */
bool check_limits_settle(struct check_limits *limits, char *message, size_t size);

/* The whole of it makes sense together. False: `message` says what is wrong. */
bool check_limits_fit(const struct check_limits *limits, char *message, size_t size);

struct check_file { /* texts that limits point to */
    char *words;
    char *baseline;
};

/* Reads `bytes` of a file called `path` into the limits. 0; ERR_ARG: `message` has the line and
 * what is wrong with it; ERR_NOMEM. check_file_clear in any case, when the limits are not used
 * anymore. */
int check_file_read(const char *path, const char *text, size_t bytes, struct check_limits *limits,
                    struct check_file *file, char *message, size_t size);
void check_file_clear(struct check_file *file);

#endif
