#include "follow.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "loss.h"
#include "clock.h"
#include "error.h"
#include "log.h"
#include "mem.h"
#include "newest.h"
#include "query.h"

#define ROUND_NS 500000000 /* the recorder commits each second */
#define REST 4             /* times what a look took: at most a fifth of a core goes into looking */
#define REST_MOST_NS (60 * INT64_C(1000000000))
#define NAMELESS_ROUNDS 6 /* that a recording may have without the name of its recorder */

static volatile sig_atomic_t asked;
static unsigned nameless;
static uint64_t woke_ns; /* CPU time when the look began: a reader of our output may be slow */

static uint64_t used_ns(void)
{
    return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void ask(int number)
{
    asked = number;
}

void follow_begin(void)
{
    struct sigaction action = {.sa_handler = ask};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    asked = 0;
    nameless = 0;
    woke_ns = used_ns();
}

/* A recorder makes the file, and fills it at once. A folder that is not there it does not make. */
static bool is_to_come(const char *named)
{
    struct stat info;
    char *newest = NULL;
    if (!named) {
        bool none = newest_recording(".", &newest) == ERR_NOTFOUND;
        mem_free(newest);
        return none;
    }
    if (stat(named, &info) == 0)
        return S_ISREG(info.st_mode) && info.st_size == 0;
    const char *end = strrchr(named, '/');
    if (errno != ENOENT || !*named || (end && !end[1]))
        return false;
    char *folder = end ? mem_copy(named, (size_t)(end - named) + 1) : NULL;
    bool there = !end || (folder && stat(folder, &info) == 0);
    mem_free(folder);
    return there;
}

bool follow_await(const char *named)
{
    bool said = false;
    follow_begin();
    for (; is_to_come(named); said = true) {
        if (!said && named)
            log_say(LOG_NOTE, "waiting for %s: there is no such recording yet; Ctrl-C ends", named);
        else if (!said)
            log_say(LOG_NOTE, "waiting for a tidemark.*.db in this folder; Ctrl-C ends");
        if (!follow_wait())
            return false;
    }
    return !said || follow_wait(); /* the recorder is left alone while it makes the file */
}

/* So long, after a look that took `look_ns` of CPU time. */
static int64_t rest_ns(int64_t look_ns)
{
    int64_t rest = look_ns > REST_MOST_NS / REST ? REST_MOST_NS : look_ns * REST;
    return rest > ROUND_NS ? rest : ROUND_NS;
}

bool follow_wait(void)
{
    int64_t rest = rest_ns((int64_t)(used_ns() - woke_ns));
    struct timespec left = {.tv_sec = rest / 1000000000, .tv_nsec = rest % 1000000000};
    if (fflush(stdout) != 0 || ferror(stdout))
        return false;
    /* A signal that came before is seen here, one that comes now ends the sleep; the instant
     * between the two costs one round. */
    if (!asked)
        nanosleep(&left, NULL);
    /* The terminal shows "^C" where the cursor is; what is typed next begins below it. */
    if (asked == SIGINT && isatty(STDOUT_FILENO) == 1)
        putchar('\n');
    woke_ns = used_ns();
    return !asked;
}

void follow_home(void)
{
    /* Clearing all of the screen at once would push it into what the terminal can scroll back to.
     */
    fputs("\033[2;1H\033[J\033[H\033[K", stdout);
}

/* Only a recorder of this machine can be looked for. A private recording names none: it is taken to
 * be of this one. */
static bool is_gone(const char *host, int64_t pid)
{
    char here[256] = "";
    if (*host && (gethostname(here, sizeof here - 1) != 0 || strcmp(here, host) != 0))
        return false;
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

int follow_is_over(struct db *db, bool *over)
{
    int64_t last_ns, pid;
    char host[256];
    int err = loss_read_finished(db, over, &last_ns);
    if (err < 0 || *over)
        return err;
    err = query_first(db,
                      "SELECT p.value AS pid, h.value AS host FROM meta p"
                      " LEFT JOIN meta h ON h.key = 'host' WHERE p.key = 'recorder_pid'",
                      Q_NOTHING, Q_OUT(Q_INT(pid), Q_CHARS(host)));
    /* Nobody writes what names no recorder; but the name comes with the first commit. */
    if (err == DB_DONE)
        *over = ++nameless >= NAMELESS_ROUNDS;
    else
        *over = err == DB_ROW && is_gone(host, pid);
    return err < 0 ? err : 0;
}
