/*
 * launch_trial.c - do the libraries that are to be preloaded load here? Tried on a program that
 * does nothing, before the user's is started: the loader only says on stderr that it leaves out a
 * library that it cannot preload, and ends a program whose library lacks another one.
 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "error.h"
#include "hello_server.h"
#include "mem.h"

/* What is tried: the guest, which says hello, or a stand-in, which is silent. */
struct trial {
    const char *library;
    struct launch_words words;
    bool greets;
    pid_t pid;
    int said; /* the loader's complaints: the child's stderr */
    bool hello;
};

static int heard(void *context, const struct hello_said *said)
{
    struct trial *trial = context;
    if (said->pid == trial->pid && said->understood)
        trial->hello = true;
    if (said->pidfd >= 0)
        close(said->pidfd);
    return -1;
}

static const char *const idle_programs[][4] = {
    {"/bin/true"}, {"/usr/bin/true"}, {"/bin/sh", "-c", ":"}};

static pid_t start_trial(struct trial *trial, const struct hello_server *server,
                         const struct launch_origin *origin, int said)
{
    trial->words.socket = hello_server_name(server);
    trial->words.door = hello_server_door(server);
    char **env = launch_env(environ, &trial->words);
    pid_t pid = env ? fork() : -1;
    if (pid != 0) {
        mem_free(env);
        return pid;
    }
    launch_give_back_signals(origin);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
    for (size_t i = 0; i < sizeof idle_programs / sizeof *idle_programs; i++) {
        union {
            const char *const *in;
            char *const *out;
        } argv = {.in = idle_programs[i]};
        execve(argv.out[0], argv.out, env);
    }
    _exit(127);
}

static bool wait_for_trial(struct trial *trial, struct hello_server *server, uint64_t patience_ns,
                           int *status)
{
    uint64_t begin = clock_now_ns();
    bool ended = false;
    while (clock_now_ns() - begin < patience_ns && !(ended && trial->hello)) {
        struct pollfd wake = {.fd = hello_server_fd(server), .events = POLLIN};
        poll(&wake, 1, 2); /* the child's end comes without a descriptor */
        hello_server_handle(server, heard, trial);
        if (!ended && waitpid(trial->pid, status, WNOHANG) == trial->pid) {
            ended = true;
            hello_server_handle(server, heard, trial);
            if (!trial->hello)
                return true; /* all that it wanted to say has arrived */
        }
    }
    if (!ended) {
        kill(trial->pid, SIGKILL);
        waitpid(trial->pid, status, 0);
    }
    return ended;
}

/* True: REASON of the loader, of "object 'LIBRARY' from LD_PRELOAD cannot be preloaded (REASON):
 * ignored." or "error while loading shared libraries: REASON". Else the first line of what was
 * said; "": nothing was. */
static bool read_complaint(const struct trial *trial, char *text, size_t room)
{
    static const char left_out[] = " cannot be preloaded (", lacks[] = "shared libraries: ";
    char named[PATH_MAX + 16];
    ssize_t n = read(trial->said, text, room - 1);
    text[n > 0 ? n : 0] = '\0';
    snprintf(named, sizeof named, "object '%s' ", trial->library);
    char *at = strstr(text, named), *why = at ? strstr(at, left_out) : NULL;
    bool is_left_out = why != NULL, complains = true;
    if (is_left_out)
        why += strlen(left_out);
    else if ((why = strstr(text, lacks)) != NULL)
        why += strlen(lacks);
    else {
        why = text;
        complains = false;
    }
    memmove(text, why, strlen(why) + 1);
    text[strcspn(text, "\n")] = '\0';
    char *end = is_left_out ? strstr(text, "): ignored") : NULL;
    if (end)
        *end = '\0';
    return complains;
}

static void explain(const struct trial *trial, bool ended, int status, const char *said,
                    struct buf *why)
{
    const char *library = trial->library;
    if (!ended)
        buf_print(why, "/bin/true did not end with %s loaded", library);
    else if (WIFSIGNALED(status))
        buf_print(why, "/bin/true was killed with %s loaded: %s", library,
                  strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0)
        buf_print(why, "/bin/true failed with %s loaded, exit status %d", library,
                  WEXITSTATUS(status));
    else
        buf_print(why, "%s was loaded into /bin/true and did not say hello", library);
    if (*said)
        buf_print(why, " (%s)", said);
}

/* False: *why has the reason; *ended says that waiting longer would not have helped. */
static bool try_once(struct trial *trial, const struct launch_origin *origin, uint64_t patience_ns,
                     bool *ended, struct buf *why)
{
    struct hello_server *server = NULL;
    char said[2048];
    int pipe_fds[2], status = 0;
    bool good = false;
    *ended = false;
    if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) != 0) {
        buf_text(why, strerror(errno));
        return false;
    }
    trial->said = pipe_fds[0];
    trial->hello = false;
    trial->pid = -1;
    if (hello_server_open(&server) == BASE_OK)
        trial->pid = start_trial(trial, server, origin, pipe_fds[1]);
    if (trial->pid > 0) {
        *ended = wait_for_trial(trial, server, patience_ns, &status);
        bool complains = read_complaint(trial, said, sizeof said);
        good = *ended && (trial->hello || !trial->greets) && WIFEXITED(status) &&
               WEXITSTATUS(status) == 0 && !complains;
        if (complains)
            buf_print(why, "%s cannot be loaded: %s", trial->library, said);
        else if (!good)
            explain(trial, *ended, status, said, why);
    } else {
        buf_print(why, "%s could not be tried", trial->library);
    }
    hello_server_close(server);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    return good;
}

/* If it fails, once more. */
static bool try_it(struct trial *trial, const struct launch_origin *origin, uint64_t patience_ns,
                   struct buf *why)
{
    const char *library = trial->library;
    bool ended;
    if (access(library, R_OK) != 0) {
        buf_print(why, "%s: %s", library, strerror(errno));
        return false;
    }
    if (launch_is_foreign(library)) {
        buf_print(why, "%s is a library for another kind of machine", library);
        return false;
    }
    if (try_once(trial, origin, patience_ns, &ended, why))
        return true;
    if (!ended)
        return false;
    buf_clear(why);
    return try_once(trial, origin, patience_ns, &ended, why);
}

static bool is_listable(const char *library, struct buf *why)
{
    bool is = !strpbrk(library, " :\n\t");
    if (!is)
        buf_print(why,
                  "the path %s holds a space or a colon, which LD_PRELOAD cannot: install Tidemark "
                  "in another folder",
                  library);
    return is;
}

bool launch_try_guest(const char *guest, const struct launch_origin *origin, uint64_t patience_ns,
                      struct buf *why)
{
    struct trial trial = {.library = guest, .words.guest = guest, .greets = true};
    if (!is_listable(guest, why))
        return false;
    bool good = try_it(&trial, origin, patience_ns, why);
    if (!good)
        buf_text(why, "; install Tidemark again, or name another libtidemark.so in TIDEMARK_GUEST");
    return good;
}

bool launch_try_stand_in(const char *library, const struct launch_origin *origin,
                         uint64_t patience_ns, struct buf *why)
{
    struct trial trial = {.library = library, .words.stand_in = library};
    if (!is_listable(library, why))
        return false;
    bool good = try_it(&trial, origin, patience_ns, why);
    if (!good)
        buf_text(why, "; install Tidemark again");
    return good;
}
