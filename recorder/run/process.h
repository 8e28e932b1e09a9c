/*
 * process.h - the processes that a run knows: who is alive, who was whose parent, how each ended.
 *
 * The supervisor's table holds living process images by pid. An exec in the same pid keeps the
 * entry and gives it a new key: keys are the numbers by which supervisor and drain speak of an
 * image, they count from 1 and are never used again.
 *
 * Invariants (process_table_is_valid): one entry for each pid; keys are unique, not 0, and at most
 * last_key; parent < key.
 */
#ifndef TIDEMARK_RECORDER_PROCESS_H
#define TIDEMARK_RECORDER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "buf.h"
#include "map.h"

/* ---- what the kernel says (process_proc.c) ---- */

struct proc_stat { /* of /proc/PID/stat */
    char state;    /* 'R', 'S', 'Z', ... */
    pid_t ppid;
    uint64_t start_time; /* clock ticks since boot: with the pid, a process's identity */
    int wait_status;     /* of a zombie, as waitpid gives it; 0 if we may not know */
};

/* The text of a stat file; the command name in it may hold anything, parentheses too. */
bool proc_stat_parse(struct proc_stat *out, const char *text);
bool proc_stat_read(struct proc_stat *out, pid_t pid); /* false: there is no such process */
#define PROC_NAME 16
/* What the kernel calls it: the first 15 bytes of its file's name, unless it chose another; of a
 * zombie too. "" if that is not told. */
void proc_name_read(char name[PROC_NAME], pid_t pid);
/* A number for the file that it executes, 0 if that is not told; and its path. */
uint64_t proc_image_read(pid_t pid, char *path, size_t room);
bool proc_thread_exists(pid_t pid, uint32_t thread);
/* The child's environment says NAME=VALUE; false also if we may not read it. */
bool proc_environ_has(pid_t pid, const char *name, const char *value);
/* Its value in the environment that the process was started with: 0, or an errno; ENOENT: it has
 * none. What does not fit in `room` is no value of ours. */
int proc_environ_get(pid_t pid, const char *name, char *value, size_t room);
/* Puts at most max pids of living processes of our user, this one excepted, that were started with
 * NAME=VALUE in their environment. Returns how many. */
size_t proc_find_by_environ(const char *name, const char *value, pid_t *pids, size_t max);

/* Bytes that it handed to the kernel with write() and its kin so far; where that cannot be known, a
 * number that is another one each time. */
uint64_t proc_written(pid_t pid);
bool proc_is_descendant(pid_t pid); /* of this process; parents that have ended are not followed */

int proc_open_pidfd(pid_t pid);  /* -1 if the kernel has none, or the process is gone */
int proc_peer_pidfd(int socket); /* of the other end of a Unix socket, or -1 */

struct process_end {   /* how one ended; the words of table process */
    const char *ended; /* 'exit', 'signal', 'unknown' */
    int64_t exit_code; /* PROCESS_NOT_KNOWN */
    int64_t signal;
};
#define PROCESS_NOT_KNOWN INT64_MIN

struct process_end process_end_of_status(int wait_status);

/* ---- the table (process.c) ---- */

struct process {
    uint64_t key;
    uint64_t parent; /* key, 0 = not recorded */
    pid_t pid;
    int pidfd;           /* -1: looked at from time to time, or the root */
    uint64_t start_time; /* 0 = not known */
    bool root;           /* our own child: waitid tells how it ended */
    bool said_hello;
    bool fetched;            /* it has a ring */
    bool refused;            /* it asked for one in vain */
    bool other;              /* it was seen to be another image than the one that said hello */
    uint64_t image;          /* that said hello, as proc_image_read has it */
    char said[2][PROC_NAME]; /* its first two arguments, cut as a name is */
};

struct process_table {
    struct process **list; /* in no order */
    size_t count, cap;
    struct map by_pid; /* to the index in list */
    uint64_t last_key;
};

void process_table_clear(struct process_table *table); /* closes the pidfds, frees all */
bool process_table_is_valid(const struct process_table *table);
struct process *process_find(const struct process_table *table, pid_t pid);
/* A new entry with a new key; takes pidfd over, on failure too. NULL without memory. */
struct process *process_add(struct process_table *table, pid_t pid, int pidfd);
void process_new_image(struct process_table *table, struct process *process);
/* The image that speaks, with its arguments: `bytes` of them, each ended by NUL. */
void process_said(struct process *process, const char *arguments, size_t bytes);
/* By now the process seems to be another image, which said nothing; *what gets "became PATH", or
 * for a zombie "seems to have become NAME": a program can choose its name itself. */
bool process_is_other(const struct process *process, struct buf *what);
void process_remove(struct process_table *table, struct process *process);
/* The pid's process is gone, or is another one by now. Never true for the root. */
bool process_is_dead(const struct process *process);
/* Asks, in this order: the pidfd, the zombie, the pidfd again (it may have been reaped between). */
struct process_end process_how_it_ended(const struct process *process);

/* ---- arguments (process_argv.c) ---- */

/* Adds one argument as a shell would need it. Control characters and bytes that are
 * not UTF-8 become '?'. */
void argv_quote(struct buf *out, const char *argument, size_t bytes);
/* `bytes` of arguments, each ended by NUL; " ..." is added when there were `total` > bytes. */
void argv_text(struct buf *out, const char *arguments, size_t bytes, uint64_t total);
void argv_text_of(struct buf *out, const char *const *argv);

#endif
