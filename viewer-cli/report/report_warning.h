/*
 * report_warning.h - what keeps a report from being the whole truth.
 *
 * Whoever notices something adds it to the report's list, with what was found. report_end prints
 * the list: kind after kind, of one kind as they came, each by its line in the one table of texts.
 * What is said of moments stands above the report's notes, what is said of the whole below.
 */
#ifndef TIDEMARK_VIEWER_REPORT_WARNING_H
#define TIDEMARK_VIEWER_REPORT_WARNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "instant.h"
#include "loss.h"
#include "options.h"
#include "unheard.h"

enum report_warning_kind {                       /* in the order in which they are printed */
                           WARNING_MISSED,       /* a moment that was asked for was thinned out */
                           WARNING_MISSED_MORE,  /* and in more processes than are named */
                           WARNING_UNHEARD,      /* the driver was not observed for a while */
                           WARNING_UNFINISHED,   /* the recording is not finished */
                           WARNING_MIDDLE,       /* it began in the middle of the program */
                           WARNING_UNSEEN,       /* an allocator that reports nothing */
                           WARNING_DAMAGED,      /* blocks are missing */
                           WARNING_REPAIRED,     /* rows of other tables are */
                           WARNING_LOST,         /* events were lost */
                           WARNING_THINNED_HERE, /* a moment that was looked at: blocks that were
                                                    soon freed are not in it */
                           WARNING_THINNED,      /* of what the report needs all of */
                           WARNING_KINDS
};

/* In the list of the report whose recording it is. */
struct report_warning {
    enum report_warning_kind kind;
    union {
        struct { /* MISSED */
            struct instant moment;
            struct option_range kept; /* the steps around it, where the moment is a step */
            int64_t process;
            char device[32]; /* "": there is but one */
        } missed;
        struct { /* UNHEARD */
            struct unheard gaps;
            int64_t process;
        } unheard;
        struct { /* UNFINISHED */
            struct db *db;
            int64_t last_ns; /* what is there reaches so far */
        } unfinished;
        struct { /* MIDDLE: what was live before, of all processes that are reported on */
            int64_t blocks, bytes;
        } middle;
        struct {                  /* UNSEEN */
            int64_t first, count; /* processes */
            bool driver;          /* of what the driver gave them something is known */
        } unseen;
        struct loss loss; /* DAMAGED, LOST */
        struct {          /* THINNED */
            const char *what;
            int64_t count;
            bool of_steps; /* of those that were asked for */
        } thinned;
    };
};

struct report_warnings { /* all zero is empty */
    struct report_warning *list;
    size_t count, cap;
    bool broken; /* one found no memory */
};

struct report;
void report_notice(struct report *report, const struct report_warning *warning);
/* How many there are, and the last of them; NULL: there is none. */
size_t report_noticed(const struct report *report, enum report_warning_kind kind,
                      const struct report_warning **last);

#endif
