/*
 * record_watch.h - the supervisor: the main thread's part while the program runs. It hears hellos,
 * makes rings, sees processes end, forwards signals (record_signals.h), and decides when the
 * recording is over.
 *
 *     RUNNING --root ended--> WAITING --nobody left, 2 s, or told to stop--> over
 *
 * It owns the process table, the rings and the sockets; what happens it tells the drain.
 */
#ifndef TIDEMARK_RECORDER_RECORD_WATCH_H
#define TIDEMARK_RECORDER_RECORD_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "armed.h"
#include "drain.h"
#include "hello_server.h"
#include "process.h"
#include "record.h"
#include "signals.h"

struct watch_options {
    enum record_wait wait;
    unsigned ring_bits;
    uint64_t arena_bytes;
    struct hello_server *server;
    struct drain *drain;
    int signal_fd;
    struct witness *witness;
    int wake_fd; /* the drain's */
    const char *const *argv;
    const struct armed *armed; /* what is recorded runs already: there is no root; NULL */
    const char *host;
    const char *missing;  /* what no process will tell, and why; NULL: nothing */
    const char *no_guest; /* why no process will say hello; NULL: they will */
};

enum watch_over { /* why a recording ended */
                  WATCH_ALL_ENDED,
                  WATCH_LEFT_RUNNING, /* the program ended, others live on */
                  WATCH_STOPPED       /* we were told to, the program lives on */
};

struct watch {
    struct watch_options options;
    struct process_table table;
    pid_t root_pid;
    struct process *root; /* NULL once it has ended */
    bool root_known;      /* its row was begun */
    bool root_heard;      /* it has said hello in one image at least */
    int root_status;      /* of waitid */
    uint64_t root_end_ns;
    uint64_t start_ns; /* when the root was started */
    struct signals signals;
    unsigned terms;        /* requests to end by SIGTERM */
    uint64_t terms_ns;     /* SIGTERMs that were read before belong to the last of them */
    int root_stop;         /* the signal that stopped the root, while we did not follow; 0 */
    uint64_t root_stop_ns; /* when that was seen */
    pid_t given;           /* the terminal, to this group (foreground.h); 0 */
    bool stop;             /* a signal said so after the root had ended, or three of them before */
    int stop_signal;
    int epoll;
    uint64_t muted_until; /* the hello server, after it ran out of descriptors */
    uint64_t scan_ns;     /* the last look for descendants that did not say hello */
    bool unheard;         /* it found some */
    uint64_t images;      /* rows of table process; known at the end */
    uint64_t rings;       /* made, and not yet back */
    struct buf silent;    /* why the root did not say hello before others did, or its end came */
    struct buf became;    /* what the root is that said hello as something else; empty: itself */
    struct buf strayed;   /* the same of the first other process, with its number; empty: none */
    uint64_t image_ns;    /* the last look for such changes */
    struct buf refusal;   /* why a process got no ring: the first one's reason */
    uint64_t refused;     /* processes that got none */
    uint64_t forgotten;   /* what somebody said was lost for want of memory, so many times */
    struct buf left;      /* pids left running, separated by spaces */
    bool warned;
    uint64_t ending_ns; /* since when the program is to end, for we said so; 0: it is not */
    unsigned endings;   /* signals sent for that */
    enum watch_over over;
    void (*on_failure)(void *context); /* the drain has failed; called once */
    void (*on_tick)(void *context);    /* some times a second; NULL */
    bool counts_steps;                 /* a tick decides whether the program is to go on */
    uint64_t tick_ns;                  /* the last time */
    void *context;
};

/* Ready to hear; the program is started after this. */
int watch_open(struct watch *watch, const struct watch_options *options);
/* From the start of the program until the recording is over. Everybody's end has been told. */
void watch_run(struct watch *watch, pid_t root);
/* Until nobody of an armed program is left, or it was told to stop. Until then nobody is known who
 * has not looked for us yet. */
void watch_run_armed(struct watch *watch);
/* A number that changes when a process of the table writes something by a system call: to the
 * terminal, or elsewhere. */
uint64_t watch_written(const struct watch *watch);
/* Takes back all rings (after drain_stop) and closes; may be called again. */
void watch_close(struct watch *watch);

#endif
