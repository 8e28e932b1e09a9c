/*
 * prog_moments.c - reports from every moment at which a program can: before main, from handlers of
 * signals that interrupt a report, from the ends of threads, after all descriptors are closed, from
 * atexit and destructors, from children.
 *
 *     prog_moments PLUGIN HOW        HOW: exit, quick, _exit, fork, exec, raise, thread
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "moments.h"

void moments_of_part(long value);
#if HAVE_CXX
void moments_of_cxx(void);
#endif

enum { STORM = 200, REPORTS = 10 };

static _Atomic long handled, made;
static _Atomic bool calm;
static pthread_key_t key;
static sigjmp_buf way_out;

__attribute__((constructor(101))) static void first_of_all(void)
{
    moment("constructor", 1);
}

__attribute__((destructor(101))) static void last_of_all(void)
{
    moment("destructor", 2);
}

/* ---- signals ---- */

static void handler(int number)
{
    int saved = errno;
    (void)number;
    moment_report("handler", atomic_fetch_add(&handled, 1));
    errno = saved;
}

static void *send_storm(void *argument)
{
    const pthread_t *target = argument;
    for (long i = 0; i < STORM; i++) {
        while (atomic_load(&made) < i * REPORTS) /* the target is on its way again */
            continue;
        pthread_kill(*target, SIGUSR1);
        while (atomic_load(&handled) <= i) /* each is handled, none merges with the next */
            sched_yield();
    }
    atomic_store(&calm, true);
    return NULL;
}

/* Reports that are interrupted by reports, in one thread. */
static void storm(void)
{
    pthread_t self = pthread_self(), sender;
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, NULL);
    if (pthread_create(&sender, NULL, send_storm, &self) != 0)
        _exit(91);
    while (!atomic_load(&calm)) {
        if (atomic_load(&made) < (atomic_load(&handled) + 2) * REPORTS)
            moment_report("interrupted", atomic_fetch_add(&made, 1));
        else
            sched_yield();
    }
    pthread_join(sender, NULL);
    moment_note("handlers", atomic_load(&handled));
    moment_note("interruptions", atomic_load(&made));
}

/* A handler that never returns: the phase that it left open is ended by hand. */
static void jump(int number)
{
    moment("jumping handler", number);
    siglongjmp(way_out, 1);
}

static void leave_by_jump(void)
{
    struct sigaction action = {.sa_handler = jump};
    sigaction(SIGUSR2, &action, NULL);
    if (sigsetjmp(way_out, 1) == 0) {
        tidemark_phase_begin("jumped out of");
        raise(SIGUSR2);
        _exit(92);
    }
    tidemark_phase_end("jumped out of");
    moment("after the jump", 1);
}

/* ---- threads ---- */

static void end_of_thread(void *value)
{
    moment("end of a thread", (long)(intptr_t)value);
}

static void *thread(void *argument)
{
    pthread_setspecific(key, argument);
    moment("thread", (long)(intptr_t)argument);
    if ((intptr_t)argument % 2)
        pthread_exit(NULL);
    return NULL;
}

static void *cancelled(void *argument)
{
    pthread_setspecific(key, argument);
    moment_report("to be cancelled", 1); /* never a point at which a thread is cancelled */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    moment_note("to be cancelled", 1);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    for (;;)
        pause();
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[6];
    pthread_key_create(&key, end_of_thread);
    for (intptr_t i = 0; i < 5; i++)
        pthread_create(&threads[i], NULL, thread, (void *)(i + 1));
    pthread_create(&threads[5], NULL, cancelled, (void *)(intptr_t)99);
    pthread_cancel(threads[5]);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
}

/* ---- libraries ---- */

static void use_plugin(const char *path)
{
    for (long i = 0; i < 3; i++) {
        void (*moments)(long);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        void *symbol = library ? dlsym(library, "moments_of_part") : NULL;
        if (!symbol)
            _exit(93);
        memcpy(&moments, &symbol, sizeof moments);
        moments(i);
        dlclose(library);
    }
}

/* ---- ends ---- */

static void at_exit(void)
{
    moment("atexit", 1);
}

static void at_quick_exit_too(void)
{
    moment("at_quick_exit", 1);
}

static void close_all(void)
{
    for (int fd = 0; fd < 1024; fd++)
        close(fd);
    moment("without descriptors", 1);
}

static void in_child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        moment("child", 1);
        exit(7); /* by way of the handlers and destructors */
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    moment("child ended", status >> 8);
    pid = vfork(); /* shares our memory, and must not be taken for us or for a child of its own */
    if (pid == 0)
        _exit(8);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    moment("vfork ended", status >> 8);
}

static void *ends_last(void *argument)
{
    pthread_join(*(pthread_t *)argument, NULL); /* main is gone, the process is not */
    moment("after main's thread", 1);
    exit(5);
}

static void leave(const char *how, char **argv)
{
    static pthread_t main_thread;
    pthread_t last;
    if (strcmp(how, "quick") == 0)
        quick_exit(3);
    if (strcmp(how, "_exit") == 0)
        _exit(4);
    if (strcmp(how, "fork") == 0)
        in_child();
    if (strcmp(how, "raise") == 0)
        raise(SIGTERM);
    if (strcmp(how, "exec") == 0) {
        argv[2] = (char *)(uintptr_t) "again";
        execv(argv[0], argv);
        _exit(94);
    }
    if (strcmp(how, "thread") == 0) {
        main_thread = pthread_self();
        pthread_create(&last, NULL, ends_last, &main_thread);
        pthread_exit(NULL);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    moment("main", argc);
    atexit(at_exit);
    at_quick_exit(at_quick_exit_too);
    moments_of_part(1);
    if (strcmp(argv[2], "again") != 0) {
        use_plugin(argv[1]);
#if HAVE_CXX
        moments_of_cxx();
#endif
        run_threads();
        storm();
        leave_by_jump();
        close_all();
    }
    leave(argv[2], argv);
    return 0;
}
