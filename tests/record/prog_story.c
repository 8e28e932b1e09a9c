/*
 * prog_story.c - a program that does what its arguments say, one word after the other.
 *
 *     alloc N | churn N    N blocks of 1000 bytes that stay | N that are freed again
 *     begin NAME | end     a phase
 *     step N
 *     thread               a thread that begins a phase, allocates a block and dies in the phase
 *     sleep MS | exit N | _exit N | raise SIGNAL
 *     touch MIB            uses so much memory
 *     catch SIGNAL         says "ready", waits for it, goes on
 *     close                closes every descriptor
 *     user N               becomes that user, if root
 *     fork | spawn N       children without exec (they do the rest; the parent waits and leaves
 * with 0) | N children that execute the rest; the parent waits for them daemon               the
 * rest is done by a grandchild in a session of its own clear                empties the environment
 *     exec PROGRAM ...     in the same pid
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tidemark.h"

static tidemark_heap_t heap;
static uintptr_t next = 0x10000000;

static void alloc(long count)
{
    if (!heap)
        heap = tidemark_heap_open(TIDEMARK_DEVICE_VIRTUAL, 0, "story");
    for (; count > 0; count--, next += 0x1000)
        tidemark_alloc(heap, (void *)next, 1000);
}

static void churn(long count)
{
    for (; count > 0; count--) {
        alloc(1);
        tidemark_free(heap, (void *)(next - 0x1000));
    }
}

static void *dying_thread(void *unused)
{
    (void)unused;
    tidemark_phase_begin("abandoned");
    alloc(1);
    return NULL;
}

static void run_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, dying_thread, NULL) == 0)
        pthread_join(thread, NULL);
}

static void sleep_ms(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0)
        continue;
}

static void catch_signal(int number)
{
    sigset_t set;
    int got;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_BLOCK, &set, NULL);
    printf("ready\n");
    fflush(stdout);
    sigwait(&set, &got);
}

/* So many MiB of memory that is used. */
static void touch(long mib)
{
    for (long i = 0; i < mib; i++) {
        char *volatile block = malloc(1 << 20);
        if (block)
            memset(block, 1, 1 << 20);
    }
}

static void wait_for_all(void)
{
    while (wait(NULL) > 0)
        continue;
}

static void spawn(long count, char **rest)
{
    for (long i = 0; i < count; i++) {
        if (fork() == 0) {
            execvp(rest[0], rest);
            _exit(127);
        }
    }
    wait_for_all();
}

static void fork_once(void)
{
    if (fork() == 0)
        return;
    wait_for_all();
    exit(0);
}

/* Nobody's child, when it returns. */
static void become_daemon(void)
{
    if (fork() != 0)
        _exit(0);
    setsid();
    pid_t parent = getpid();
    if (fork() != 0)
        _exit(0);
    while (getppid() == parent)
        sleep_ms(1);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
}

static int is(const char *word, const char *want)
{
    return strcmp(word, want) == 0;
}

/* A word with one argument; 0: it is none of these. */
static int do_with_argument(const char *word, const char *argument)
{
    long number = argument ? atol(argument) : 0;
    if (is(word, "alloc"))
        alloc(number);
    else if (is(word, "churn"))
        churn(number);
    else if (is(word, "begin"))
        tidemark_phase_begin(argument);
    else if (is(word, "step"))
        tidemark_step_begin((uint64_t)number);
    else if (is(word, "sleep"))
        sleep_ms(number);
    else if (is(word, "touch"))
        touch(number);
    else if (is(word, "user") && (setgid((gid_t)number) != 0 || setuid((uid_t)number) != 0))
        exit(94);
    else if (is(word, "user"))
        return 1;
    else if (is(word, "exit"))
        exit((int)number);
    else if (is(word, "_exit"))
        _exit((int)number);
    else if (is(word, "raise"))
        raise((int)number);
    else if (is(word, "catch"))
        catch_signal((int)number);
    else
        return 0;
    return 1;
}

static void do_alone(const char *word)
{
    if (is(word, "end"))
        tidemark_phase_end(NULL);
    else if (is(word, "thread"))
        run_thread();
    else if (is(word, "close"))
        for (int fd = 0; fd < 1024; fd++)
            close(fd);
    else if (is(word, "fork"))
        fork_once();
    else if (is(word, "daemon"))
        become_daemon();
    else if (is(word, "clear"))
        clearenv();
    else
        exit(99);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (is(argv[i], "exec")) {
            execvp(argv[i + 1], argv + i + 1);
            return 127;
        }
        if (is(argv[i], "spawn")) {
            spawn(atol(argv[i + 1]), argv + i + 2);
            return 0;
        }
        if (do_with_argument(argv[i], argv[i + 1]))
            i++;
        else
            do_alone(argv[i]);
    }
    return 0;
}
