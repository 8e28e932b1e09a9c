/*
 * check_limits.h - the limits of `tidemark check`: options, or the lines of a file that has the
 * same names.
 *
 *     # the card has 24 GiB
 *     max-peak = 20GiB
 *     no-oom = yes
 *
 * A line without anything but blanks, or that begins with #, says nothing; so does what follows a
 * blank and a #. Flags are yes or no. A file that `baseline` names is looked for beside the limits.
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

/* The options of a struct that has its limits `base` bytes behind its start. */
#define CHECK_LIMIT(base, member) ((base) + offsetof(struct check_limits, member))
#define CHECK_LIMIT_OPTIONS(base)                                                                  \
    {"max-peak", 0, OPT_SIZE, CHECK_LIMIT(base, max_peak), "SIZE", "the most allocated", NULL, 0}, \
        {"max-reserved", 0,                                                                        \
         OPT_SIZE,       CHECK_LIMIT(base, max_reserved),                                          \
         "SIZE",         "the most reserved from the device",                                      \
         NULL,           0},                                                                       \
        {"max-fragmentation",                                                                      \
         0,                                                                                        \
         OPT_TEXT,                                                                                 \
         CHECK_LIMIT(base, fragmentation),                                                         \
         "PERCENT",                                                                                \
         "the largest share of reserved that is\ninactive split, at the end of phases after\n"     \
         "the first step",                                                                         \
         NULL,                                                                                     \
         0},                                                                                       \
        {"max-growth",                                                                             \
         0,                                                                                        \
         OPT_SIZE,                                                                                 \
         CHECK_LIMIT(base, max_growth),                                                            \
         "SIZE",                                                                                   \
         "the most that a step may leave behind, and\nthat peaks may rise from step to step",      \
         NULL,                                                                                     \
         0},                                                                                       \
        {"baseline", 0,                                                                            \
         OPT_TEXT,   CHECK_LIMIT(base, baseline),                                                  \
         "DATABASE", "another recording; with --max-increase",                                     \
         NULL,       0},                                                                           \
        {"max-increase", 0,                                                                        \
         OPT_TEXT,       CHECK_LIMIT(base, increase),                                              \
         "MORE",         "how much higher than the baseline's the peak\nmay be: 5% or 200MiB",     \
         NULL,           0},                                                                       \
        {"no-oom", 0, OPT_FLAG, CHECK_LIMIT(base, no_oom), NULL, "no allocation may have failed",  \
         NULL,     0},                                                                             \
        {"no-lost", 0, OPT_FLAG, CHECK_LIMIT(base, no_lost), NULL, "no event may have been lost",  \
         NULL,      0},                                                                            \
    {                                                                                              \
        "allow-unknown", 0, OPT_FLAG, CHECK_LIMIT(base, allow_unknown), NULL,                      \
            "what the recording cannot tell is no failure", NULL, 0                                \
    }

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
