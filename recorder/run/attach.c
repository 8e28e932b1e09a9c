/* attach.c - see attach.h. */
#include "attach.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attach_helper.h"
#include "attach_site.h"
#include "attach_stop.h"
#include "clock.h"
#include "error.h"
#include "hello.h"
#include "hello_server.h"
#include "process.h"

#define ANSWER_NS (60 * NS_PER_S)
#define LONG_NS (5 * NS_PER_S)
#define LOOK_MS 20
#define NOTHING "/dev/null" /* a script that nobody can change */
#define OPENED_NS 200000000 /* from the name of a script to its file: microseconds */

/* What is being done to the program. */
struct attaching {
    const struct attach *attach;
    struct armed *armed;
    struct buf *why;
    struct attach_site site;
    struct attach_stop stop;
    char interpreter[4096];
    bool awaited; /* the program may come to the script yet */
};

__attribute__((format(printf, 3, 4))) static bool say_no(struct buf *why, pid_t pid,
                                                         const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    buf_print(why, "process %d %s", (int)pid, text);
    return false;
}

/* Whether the path is the same file in the program's root folder. */
static bool sees(pid_t pid, const char *path)
{
    char theirs[4200];
    struct stat here, there;
    int n = snprintf(theirs, sizeof theirs, "/proc/%d/root%s", (int)pid, path);
    return n > 0 && n < (int)sizeof theirs && stat(path, &here) == 0 && stat(theirs, &there) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* ---- what it is ---- */

/* Root, too, would have to execute the user's interpreter, and to follow what is in a folder that
 * the user can change meanwhile. */
static bool is_ours(pid_t pid, struct buf *why)
{
    struct stat owner;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    if (stat(path, &owner) != 0)
        return say_no(why, pid, "is not there");
    if (owner.st_uid != geteuid())
        return say_no(why, pid, "belongs to another user (%u): run tidemark attach as that user",
                      (unsigned)owner.st_uid);
    if (armed_is_elsewhere(pid))
        return say_no(why, pid, "is in another network namespace: run tidemark attach in there");
    return true;
}

static bool is_recorded(pid_t pid, struct buf *why)
{
    char value[HELLO_SERVER_NAME];
    int failed = proc_environ_get(pid, HELLO_ARMED_ENV, value, sizeof value);
    if (failed == EACCES || failed == EPERM)
        return !say_no(why, pid, "belongs to another user");
    if (!failed)
        return !say_no(why, pid, "was started by tidemark record --armed: run tidemark arm %d",
                       (int)pid);
    if (proc_environ_get(pid, HELLO_ENV, value, sizeof value) == 0)
        return !say_no(why, pid, "was started by tidemark record");
    return false;
}

/* The path of its interpreter; false: it has none that is a file here. */
static bool find_interpreter(pid_t pid, char *path, size_t room, struct buf *why)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    ssize_t n = readlink(link, path, room - 1);
    if (n < 0)
        return say_no(why, pid, errno == EACCES ? "belongs to another user" : "is not there");
    path[n] = '\0';
    const char *name = strrchr(path, '/');
    if (strncmp(name ? name + 1 : path, "python", 6) != 0)
        return say_no(why, pid,
                      "is no Python but %s: start it by tidemark record --armed, and run tidemark "
                      "arm",
                      path);
    if (!sees(pid, path))
        return say_no(why, pid,
                      "has another root folder, or its interpreter was replaced: run tidemark "
                      "attach where it runs");
    return true;
}

static bool can_load(pid_t pid, const struct attach *attach, struct buf *why)
{
    if (!attach->guest || !attach->helper)
        buf_text(why, "libtidemark.so was not found beside the command: name it in TIDEMARK_GUEST");
    else if (!sees(pid, attach->guest) || !sees(pid, attach->helper))
        say_no(why, pid, "does not see %s: run tidemark attach where it runs", attach->guest);
    return why->count == 0;
}

/* ---- the script ---- */

/* Any bytes, as Python writes them. */
static void put_bytes(struct buf *text, const char *bytes)
{
    buf_text(text, "b'");
    for (; *bytes; bytes++)
        buf_print(text, "\\x%02x", (unsigned char)*bytes);
    buf_text(text, "'");
}

/* CPython executes a script wherever the main thread is, and a handler of a signal that comes
 * meanwhile may raise an exception, which then ends the script, and is lost to the program. So the
 * script is two calls, and what takes longer is done by a thread, in which no handler runs. */
static const char script_begin[] =
    "import _thread\n"
    "_thread.start_new_thread(exec, (b'''\n"
    "try:\n"
    "    import ctypes\n"
    "    import os\n"
    "    with open(os.path.join(helper, b'tidemark', b'_attach.py'), 'rb') as file:\n"
    "        code = compile(file.read(), 'tidemark/_attach.py', 'exec')\n"
    "    library = ctypes.PyDLL(os.fsdecode(guest), ctypes.RTLD_GLOBAL)\n"
    "    arm = library.tidemark_py_arm\n"
    "    arm.restype = ctypes.c_char_p\n"
    "    arm.argtypes = [ctypes.c_char_p]\n"
    "    got = arm(name)\n"
    "    if got:\n"
    "        scope = {'library': library, 'first': got == name}\n"
    "        exec(code, scope)\n"
    "        text = (b'deaf ' if scope['deaf'] else b'armed ') + got\n"
    "    else:\n"
    "        text = b'recorded'\n"
    "except BaseException as error:\n"
    "    text = b'failed ' + str(error).encode('utf-8', 'backslashreplace')\n"
    "try:\n"
    "    with open(answer + b'.new', 'wb') as file:\n"
    "        file.write(text + bytes([10]))\n"
    "    os.rename(answer + b'.new', answer)\n"
    "except OSError:\n"
    "    pass\n"
    "''', {'guest': ";

static bool write_script(const struct attaching *attaching)
{
    struct buf text = {0};
    buf_text(&text, script_begin);
    put_bytes(&text, attaching->attach->guest);
    buf_text(&text, ", 'helper': ");
    put_bytes(&text, attaching->attach->helper);
    buf_text(&text, ", 'name': ");
    put_bytes(&text, attaching->armed->socket);
    buf_text(&text, ", 'answer': ");
    put_bytes(&text, attaching->site.answer);
    buf_text(&text, "}))\n");
    bool written =
        !text.broken && attach_site_write(&attaching->site, buf_string(&text), text.count);
    buf_clear(&text);
    return written;
}

static bool make_site(struct attaching *attaching)
{
    if (!attach_site_make(&attaching->site, attaching->armed))
        return false;
    if (write_script(attaching))
        return true;
    int failed = errno;
    attach_site_remove(&attaching->site);
    errno = failed;
    return false;
}

/* Gives the program another script, an empty one, in place of the one that it may come to. False:
 * it may have read already which file it is to open. */
static bool withdraw(struct attaching *attaching)
{
    struct proc_stat stat;
    struct buf unheard = {0};
    pid_t pid = attaching->armed->pid;
    bool awaited = true;
    attach_site_empty(&attaching->site);
    bool done = sees(pid, NOTHING) &&
                attach_helper_run(attaching->interpreter, pid, NOTHING, NULL, &awaited, &unheard);
    buf_clear(&unheard);
    if (done)
        nanosleep(&(struct timespec){0, OPENED_NS}, NULL);
    return done && (!proc_stat_read(&stat, pid) || !strchr("TtD", stat.state));
}

/* What stays, attach_site_sweep removes later. */
static void clear_site(struct attaching *attaching)
{
    if (!attaching->awaited || !armed_lives(attaching->armed) || withdraw(attaching))
        attach_site_remove(&attaching->site);
}

/* ---- the answer ---- */

static bool wait_for_answer(struct attaching *attaching, char text[ATTACH_ANSWER])
{
    const struct attach *attach = attaching->attach;
    uint64_t start = clock_now_ns();
    bool said = false;
    while (!attach_site_answer(&attaching->site, text)) {
        uint64_t waited = clock_now_ns() - start;
        if (waited > ANSWER_NS || !armed_lives(attaching->armed) ||
            attach_stop_wait(&attaching->stop, LOOK_MS))
            return false;
        if (waited > LONG_NS && !said && attach->waits)
            attach->waits(attach->context);
        said = waited > LONG_NS;
    }
    return true;
}

/* The name may be another one: it was armed before. */
static bool take_name(struct armed *armed, const char *text, const char *word)
{
    size_t bytes = strlen(word);
    if (strncmp(text, word, bytes) != 0 ||
        strncmp(text + bytes, HELLO_SERVER_PREFIX, sizeof HELLO_SERVER_PREFIX - 1) != 0 ||
        strlen(text + bytes) >= sizeof armed->socket)
        return false;
    memcpy(armed->socket, text + bytes, strlen(text + bytes) + 1);
    return true;
}

static bool take_answer(struct armed *armed, const char *text, struct buf *why)
{
    armed->deaf = take_name(armed, text, "deaf ");
    if (armed->deaf || take_name(armed, text, "armed "))
        return true;
    if (strcmp(text, "recorded") == 0)
        return say_no(why, armed->pid, "is being recorded, or there is no memory for its blocks");
    const char *reason = strncmp(text, "failed ", 7) == 0 ? text + 7 : "unknown answer";
    return say_no(why, armed->pid, "could not load the library: %s", reason);
}

static bool inject(struct attaching *attaching)
{
    char text[ATTACH_ANSWER];
    struct armed *armed = attaching->armed;
    if (!attach_helper_run(attaching->interpreter, armed->pid, attaching->site.script,
                           &attaching->stop, &attaching->awaited, attaching->why))
        return false;
    if (wait_for_answer(attaching, text)) {
        attaching->awaited = false;
        return take_answer(armed, text, attaching->why);
    }
    if (attaching->stop.signal)
        return false;
    if (!armed_lives(armed))
        return say_no(attaching->why, armed->pid, "has ended");
    return say_no(attaching->why, armed->pid,
                  "did not answer within a minute: its main thread is in no Python code, or waits");
}

static bool inject_by_site(struct attaching *attaching)
{
    const struct armed *armed = attaching->armed;
    if (!make_site(attaching)) {
        buf_print(attaching->why, "cannot write a script for the program under /tmp: %s",
                  strerror(errno));
        return false;
    }
    bool seen = sees(armed->pid, attaching->site.script), done = seen && inject(attaching);
    clear_site(attaching);
    attach_site_sweep(done ? armed : NULL);
    return seen ? done
                : say_no(attaching->why, armed->pid,
                         "has another /tmp: run tidemark attach where it runs");
}

/* Signals that ask to stop wait until nothing is left of it. */
static bool inject_in_peace(struct attaching *attaching)
{
    if (!attach_stop_open(&attaching->stop)) {
        buf_print(attaching->why, "cannot start: %s", strerror(errno));
        return false;
    }
    bool done = inject_by_site(attaching);
    attach_stop_wait(&attaching->stop, 0); /* one that came behind the answer */
    attach_stop_close(&attaching->stop);
    return done;
}

bool attach_program(const struct attach *attach, struct armed *out, pid_t pid, int *signal,
                    struct buf *why)
{
    struct proc_stat stat;
    struct attaching attaching = {.attach = attach, .armed = out, .why = why};
    *signal = 0;
    out->pid = pid;
    out->attached = true;
    if (!proc_stat_read(&stat, pid) || strchr("ZX", stat.state))
        return say_no(why, pid, "is not there");
    out->start_time = stat.start_time;
    if (!is_ours(pid, why) ||
        !find_interpreter(pid, attaching.interpreter, sizeof attaching.interpreter, why) ||
        is_recorded(pid, why) || !can_load(pid, attach, why))
        return false;
    int err = hello_server_think_up(out->socket, out->key);
    if (err != 0) {
        buf_text(why, base_err_text(err));
        return false;
    }
    bool done = inject_in_peace(&attaching);
    *signal = attaching.stop.signal;
    return done && !*signal;
}
