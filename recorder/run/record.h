/*
 * record.h - the whole of `tidemark record`: starts the program, records it and its descendants
 * into one database, and says how it went and how the caller is to exit.
 */
#ifndef TIDEMARK_RECORDER_RECORD_H
#define TIDEMARK_RECORDER_RECORD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch_wants.h"
#include "retention_options.h"
#include "summary.h"

enum record_wait {
    RECORD_WAIT_GRACE = 0, /* for descendants, up to 2 s after the program's own end */
    RECORD_WAIT_ALL,       /* for all descendants, however long */
    RECORD_WAIT_ROOT       /* for none */
};

/* How far a recording is, for those who watch it. */
struct record_progress {
    struct state_totals totals; /* some milliseconds old */
    uint64_t run_ns;
    uint64_t written; /* changes when a recorded process may have written something somewhere */
};

#define RECORD_DEFAULT_QUEUE (64ull * 1024 * 1024)

/* The program runs on stand-ins for CUDA's libraries (rehearsal/). */
struct record_rehearsal {
    const char *variable, *settings; /* of the program's environment, for the stand-ins */
    const char *library;             /* preloaded behind the guest */
    const char *folder;              /* where those lie that are opened by name */
    const char *gpu;                 /* what they stand for, in words */
    uint64_t memory, context;        /* bytes of each GPU, and what a context takes of them */
    bool context_measured;           /* of such a GPU; else it is computed */
    const char *context_from;        /* where the latter is known from */
    const char *targets;             /* what the program has kernels for; "" */
    const char *no_kernels;          /* why the program would fail on the GPU; "" */
};

struct record_options {
    const char *output;   /* NULL: tidemark.YYYYmmdd-HHMMSS-PID.db here */
    unsigned ring_bits;   /* 0: RING_DEFAULT_BITS */
    uint64_t arena_bytes; /* 0: RING_DEFAULT_ARENA */
    uint64_t queue_bytes; /* 0: RECORD_DEFAULT_QUEUE */
    enum record_wait wait;
    bool stage;         /* record in $TMPDIR and move at the end, as on a network file system */
    const char *guest;  /* path of libtidemark.so */
    const char *python; /* folder of the Python helper; NULL: there is none */
    struct launch_wants wants;
    struct retention_options retention;
    bool private; /* no command lines, folders and hosts in the database */
    const struct record_rehearsal *rehearsal; /* NULL: the program as it is */
    const char *metrics;                      /* place.h of metrics/ reads it; NULL: nowhere */
    int64_t most_steps;                       /* it is ended after so many, 0: it ends by itself */
    const struct armed *armed;                /* runs already, and `argv` is not started; NULL */
    const char *const *argv;
    const char *command; /* how the user called us, for the database; NULL: argv */
    /* A warning while the program runs; NULL: they are in the summary only. */
    void (*warn)(void *context, const char *text);
    /* What is to be known at that moment, and nothing to worry about; may be NULL. */
    void (*note)(void *context, const char *text);
    /* Some times a second while the program runs; with NULL when it has ended. NULL: never. */
    void (*progress)(void *context, const struct record_progress *now);
    void *context;
};

struct record_result {
    int exit_code; /* to exit with, if signal is 0 */
    int signal;    /* to die by: record_die_by */
    bool started;  /* the program ran; else `summary.failure` says why not */
    bool blocked;  /* signals are, until the closing lines are out; then `mask` holds */
    sigset_t mask;
    struct summary summary;
};

/* BASE_OK when the program ran, whatever became of the recording; else nothing was started, no file
 * was left, and *result has the text and the exit code all the same. Call it from the main thread,
 * once. */
int record_run(const struct record_options *options, struct record_result *result);
void record_result_clear(struct record_result *result);

/* EVENT_FORMAT, for commands, which do not see the ring. */
unsigned record_event_format(void);

/* Ends this process as the recorded one ended, but without a core file of our own. */
_Noreturn void record_die_by(int signal);

/* The closing lines, to stderr. A signal that comes before waits until they are out. */
void record_print_summary(const struct record_result *result);

#endif
