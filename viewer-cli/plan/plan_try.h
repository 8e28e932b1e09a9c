/*
 * plan_try.h - one try: the program with some values, rehearsed or recorded by a child of ours, and
 * what came of it.
 *
 * The child is this very executable. What the program and it print goes to a file beside the
 * recording: NAME.db and NAME.log in the plan's folder, where both stay.
 */
#ifndef TIDEMARK_VIEWER_PLAN_TRY_H
#define TIDEMARK_VIEWER_PLAN_TRY_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "plan_read.h"
#include "plan_vary.h"

struct plan_run { /* what all tries have in common */
    const struct vary *vary;
    const char *folder;
    char *const *arguments;         /* the command, with its placeholders */
    const struct option_texts *env; /* NAME=TEXT, likewise */
    int64_t steps;                  /* 0: all */
    int64_t gpus;
    void (*wait)(void *context, const struct plan_run *run); /* some times a second; may be NULL */
    void *context;
    /* Of the try that runs: */
    const char *name;
    uint64_t began_ns;
};

struct plan_machine { /* what to rehearse on */
    const char *gpu;  /* as --gpu takes it; NULL: the program is recorded as it is */
    int64_t memory;   /* 0: what the profile has */
    bool named;       /* the files say on which it was */
};

enum try_result {
    TRY_FITS,
    TRY_REFUSED, /* does not fit: a request was refused */
    TRY_FAILED,  /* for another reason */
    TRY_UNUSED,  /* it was rehearsed, ended well and never used the GPU */
    TRY_UNSEEN,  /* it did, but none of its blocks is known */
    TRY_LEFT     /* we were asked to end meanwhile */
};

struct plan_try {
    struct vary_at at;
    size_t card; /* the caller's */
    char *name, *path, *log;
    enum try_result result;
    int status;  /* as waitpid has it */
    char *words; /* the last ones of the program; NULL: none */
    int64_t took_ns;
    struct plan_seen seen;
    struct plan_growth growth; /* against the next smaller try */
};

/* Runs it. 0, or an error if it could not even begin; plan_try_clear in both cases. */
int plan_try_run(struct plan_run *run, const struct plan_machine *machine, const struct vary_at *at,
                 struct plan_try *out);
void plan_try_clear(struct plan_try *it);
const char *try_result_text(enum try_result result);
/* "exit status 1", "killed by signal 9". */
void plan_try_status(const struct plan_try *it, char *text, size_t room);

/* From now on SIGINT and SIGTERM are noted: tries end early, as TRY_LEFT. */
void plan_try_watch(void);
int plan_try_signal(void); /* that came, 0: none */

/* The last line of a program, out of all that was printed; where it has none and `ours`, our own
 * first one. NULL: none. To be freed. */
char *plan_last_words(const char *printed, bool ours);
/* They say that memory of a GPU was refused, by somebody else than the allocator. */
bool plan_words_refuse(const char *printed);

#endif
