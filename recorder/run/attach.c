/* attach.c - see attach.h. */
#include "attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attach_helper.h"
#include "clock.h"
#include "hello.h"
#include "hello_server.h"
#include "process.h"

#define ANSWER_NS (60 * NS_PER_S)
#define LONG_NS (5 * NS_PER_S)
#define LOOK_MS 20
#define ANSWER_MAX 512

/* The folder and what is in it. Both belong to the user who runs the program, and this command. */
struct site {
    char folder[64], script[96], answer[96];
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
    "    if got == name:\n"
    "        exec(code, {'library': library})\n"
    "    text = b'armed ' + got if got else b'recorded'\n"
    "except BaseException as error:\n"
    "    text = b'failed ' + str(error).encode()\n"
    "with open(answer + b'.new', 'wb') as file:\n"
    "    file.write(text + bytes([10]))\n"
    "os.rename(answer + b'.new', answer)\n"
    "''', {'guest': ";

static bool write_script(const struct site *site, const char *guest, const char *helper,
                         const char *name)
{
    struct buf text = {0};
    buf_text(&text, script_begin);
    put_bytes(&text, guest);
    buf_text(&text, ", 'helper': ");
    put_bytes(&text, helper);
    buf_text(&text, ", 'name': ");
    put_bytes(&text, name);
    buf_text(&text, ", 'answer': ");
    put_bytes(&text, site->answer);
    buf_text(&text, "}))\n");
    int fd = open(site->script, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool written =
        fd >= 0 && !text.broken && write(fd, buf_string(&text), text.count) == (ssize_t)text.count;
    if (fd >= 0)
        written = close(fd) == 0 && written;
    buf_clear(&text);
    return written;
}

/* A script that the program may still come to does nothing from now on, and stays: else somebody
 * could put another one there. */
static void clear_site(const struct site *site)
{
    if (site->awaited) {
        int fd = open(site->script, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0)
            close(fd);
        return;
    }
    unlink(site->script);
    unlink(site->answer);
    rmdir(site->folder);
}

static bool make_site(struct site *site, const struct attach *attach, const char *name)
{
    *site = (struct site){.folder = "/tmp/tidemark-attach-XXXXXX"};
    if (!mkdtemp(site->folder))
        return false;
    snprintf(site->script, sizeof site->script, "%s/attach.py", site->folder);
    snprintf(site->answer, sizeof site->answer, "%s/answer", site->folder);
    if (write_script(site, attach->guest, attach->helper, name))
        return true;
    int failed = errno;
    clear_site(site);
    errno = failed;
    return false;
}

/* ---- the answer ---- */

static bool read_answer(const struct site *site, char text[ANSWER_MAX])
{
    int fd = open(site->answer, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, ANSWER_MAX - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return true;
}

static bool wait_for_answer(const struct attach *attach, const struct site *site,
                            const struct armed *armed, char text[ANSWER_MAX])
{
    const struct timespec pause = {0, LOOK_MS * 1000000};
    uint64_t start = clock_now_ns();
    bool said = false;
    while (!read_answer(site, text)) {
        uint64_t waited = clock_now_ns() - start;
        if (waited > ANSWER_NS || !armed_lives(armed))
            return false;
        if (waited > LONG_NS && !said && attach->waits)
            attach->waits(attach->context);
        said = waited > LONG_NS;
        nanosleep(&pause, NULL);
    }
    return true;
}

static bool take_answer(struct armed *armed, const char *text, struct buf *why)
{
    if (strncmp(text, "armed " HELLO_SERVER_PREFIX, sizeof "armed " HELLO_SERVER_PREFIX - 1) == 0 &&
        strlen(text + 6) < sizeof armed->socket) {
        memcpy(armed->socket, text + 6, strlen(text + 6) + 1); /* another: it was armed before */
        return true;
    }
    if (strcmp(text, "recorded") == 0)
        return say_no(why, armed->pid, "is being recorded, or there is no memory for its blocks");
    const char *reason = strncmp(text, "failed ", 7) == 0 ? text + 7 : "unknown answer";
    return say_no(why, armed->pid, "could not load the library: %s", reason);
}

static bool inject(const struct attach *attach, struct site *site, struct armed *armed,
                   const char *interpreter, struct buf *why)
{
    char text[ANSWER_MAX];
    if (!attach_helper_run(interpreter, armed->pid, site->script, &site->awaited, why))
        return false;
    if (wait_for_answer(attach, site, armed, text)) {
        site->awaited = false;
        return take_answer(armed, text, why);
    }
    if (!armed_lives(armed))
        return say_no(why, armed->pid, "has ended");
    return say_no(why, armed->pid,
                  "did not answer within a minute: its main thread is in no Python code, or waits");
}

bool attach_program(const struct attach *attach, struct armed *out, pid_t pid, struct buf *why)
{
    struct proc_stat stat;
    struct site site;
    char interpreter[4096];
    out->pid = pid;
    out->attached = true;
    if (!proc_stat_read(&stat, pid) || strchr("ZX", stat.state))
        return say_no(why, pid, "is not there");
    out->start_time = stat.start_time;
    if (!is_ours(pid, why) || !find_interpreter(pid, interpreter, sizeof interpreter, why) ||
        is_recorded(pid, why) || !can_load(pid, attach, why))
        return false;
    if (hello_server_think_up(out->socket, out->key) != 0 ||
        !make_site(&site, attach, out->socket)) {
        buf_print(why, "cannot write a script for the program under /tmp: %s", strerror(errno));
        return false;
    }
    bool seen = sees(pid, site.script);
    bool armed = seen && inject(attach, &site, out, interpreter, why);
    clear_site(&site);
    if (!seen)
        say_no(why, pid, "has another /tmp: run tidemark attach where it runs");
    return armed;
}
