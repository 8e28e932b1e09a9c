/*
 * record_watch.c - the supervisor's loop: one epoll over the signalfd, the hello server, the
 * drain's eventfd and a pidfd for each process; a tick of 100 ms for what has no descriptor.
 *
 * Order matters in one place: hellos are heard before ends, for a process says hello and is gone,
 * and a hello that waits in the socket is older than the end that we see.
 */
#include "record_watch.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "error.h"
#include "launch.h"
#include "record_signals.h"

#define TICK_MS 100
#define PROGRESS_MS 250
#define STEPS_MS 10 /* where the program is ended after some */
#define GRACE_NS (2 * NS_PER_S)
#define MUTE_NS (100 * NS_PER_MS)
#define SCAN_NS (100 * NS_PER_MS)
#define SCAN_LATER_NS NS_PER_S /* when we wait for all, it may be for days */
#define SCAN_MAX 64u
#define SPARE_FILES 16u
#define ANCESTORS_MAX 256

enum source { SOURCE_SIGNAL = 1, SOURCE_HELLO, SOURCE_DRAIN, SOURCE_PIDFD };

static int add_source(struct watch *watch, int fd, enum source source, pid_t pid)
{
    struct epoll_event event = {.events = EPOLLIN};
    event.data.u64 = (uint64_t)source << 32 | (uint32_t)pid;
    return epoll_ctl(watch->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? BASE_OK
                                                                   : base_err_from_errno(errno);
}

int watch_open(struct watch *watch, const struct watch_options *options)
{
    *watch = (struct watch){.options = *options};
    watch->signals = (struct signals){.fd = options->signal_fd, .witness = options->witness};
    watch->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (watch->epoll < 0)
        return base_err_from_errno(errno);
    int err = add_source(watch, options->signal_fd, SOURCE_SIGNAL, 0);
    if (!err)
        err = add_source(watch, hello_server_fd(options->server), SOURCE_HELLO, 0);
    if (!err)
        err = add_source(watch, options->wake_fd, SOURCE_DRAIN, 0);
    return err;
}

/* ---- rows ---- */

static void begin_row(struct watch *watch, struct process *process, const char *origin,
                      const struct hello_said *said)
{
    struct buf argv = {0};
    struct drain_hello row = {.key = process->key, .parent = process->parent, .pid = process->pid};
    row.origin = origin;
    row.host = watch->options.host;
    row.rank = row.local_rank = row.world_size = BATCH_NULL;
    if (said) {
        const struct hello *hello = said->hello;
        row.at_ns = said->at_ns;
        row.same_namespace = hello->pid == said->pid;
        row.rank = hello->rank >= 0 ? hello->rank : BATCH_NULL;
        row.local_rank = hello->local_rank >= 0 ? hello->local_rank : BATCH_NULL;
        row.world_size = hello->world_size >= 0 ? hello->world_size : BATCH_NULL;
        argv_text(&argv, hello->text, hello->argv_bytes, hello->argv_total);
        row.why_not =
            said->understood ? watch->options.missing : "its library is of another version";
    } else {
        row.at_ns = watch->start_ns;
        argv_text_of(&argv, watch->options.argv);
        row.why_not = buf_string(&watch->silent);
    }
    row.argv = buf_string(&argv);
    watch->forgotten += !drain_begin(watch->options.drain, &row);
    buf_clear(&argv);
}

/* The program itself has row 1, whether it says hello or not. */
static void begin_silent_root(struct watch *watch)
{
    if (watch->root_known)
        return;
    watch->root_known = true;
    if (watch->options.no_guest)
        buf_text(&watch->silent, watch->options.no_guest);
    else
        launch_why_silent(watch->options.argv[0], &watch->silent);
    begin_row(watch, watch->root, "root", NULL);
}

static void end_row(struct watch *watch, const struct process *process,
                    const struct process_end *end, bool lives)
{
    drain_end(watch->options.drain, process->key, end, clock_now_ns(), lives);
}

static void end_by_death(struct watch *watch, struct process *process)
{
    struct process_end end = process_how_it_ended(process);
    end_row(watch, process, &end, false);
    process_remove(&watch->table, process);
}

/* ---- images that said nothing ---- */

/* A process that said hello, never asked for its ring, and is another image by now: that one runs
 * without the library, or cannot reach us. */
static void look_for_other_image(struct watch *watch, struct process *process)
{
    struct buf what = {0}, why = {0};
    if (!process->said_hello || process->fetched || process->other ||
        !process_is_other(process, &what))
        goto out;
    process->other = true;
    buf_print(&why,
              "it %s, which did not say hello: its environment was cleared, LD_PRELOAD was "
              "replaced, the library failed to load, or it is in another network namespace",
              buf_string(&what));
    drain_refused(watch->options.drain, process->key, buf_string(&why));
    if (process->root) {
        buf_clear(&watch->became);
        buf_text(&watch->became, buf_string(&why));
    } else if (watch->strayed.count == 0) {
        buf_print(&watch->strayed, "process %llu: %s", (unsigned long long)process->key,
                  buf_string(&why));
    }
out:
    buf_clear(&what);
    buf_clear(&why);
}

static void look_at_images(struct watch *watch)
{
    uint64_t now = clock_now_ns();
    if (now - watch->image_ns < NS_PER_S)
        return;
    watch->image_ns = now;
    for (size_t i = 0; i < watch->table.count; i++)
        look_for_other_image(watch, watch->table.list[i]);
}

/* ---- hellos ---- */

/* A pidfd is worth having, but not the last descriptors: nobody could be heard any more. */
static int keep_pidfd(int pidfd)
{
    struct rlimit limit;
    if (pidfd < 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return pidfd;
    if ((rlim_t)pidfd + SPARE_FILES < limit.rlim_cur)
        return pidfd;
    close(pidfd);
    return -1;
}

/* The nearest ancestor that is known: a process that forked and stayed silent may stand between. 0:
 * there is none. */
static uint64_t parent_key(const struct watch *watch, const struct process *process)
{
    struct proc_stat stat;
    pid_t pid = process->pid;
    for (int i = 0; i < ANCESTORS_MAX && proc_stat_read(&stat, pid) && stat.state != '?'; i++) {
        const struct process *parent = process_find(&watch->table, stat.ppid);
        if (parent && parent != process)
            return parent->key;
        if (stat.ppid <= 1 || stat.ppid == getpid())
            break;
        pid = stat.ppid;
    }
    return 0;
}

static struct process *begin_process(struct watch *watch, const struct hello_said *said)
{
    int pidfd = keep_pidfd(said->pidfd);
    if (said->pid != watch->root_pid)
        begin_silent_root(watch);
    struct process *process = process_add(&watch->table, said->pid, pidfd);
    if (!process)
        return NULL;
    process->parent = parent_key(watch, process);
    if (pidfd >= 0 && add_source(watch, pidfd, SOURCE_PIDFD, said->pid) != BASE_OK) {
        close(pidfd);
        process->pidfd = -1; /* it is looked at each tick */
    }
    const char *origin = watch->options.armed ? "armed" : "spawn";
    begin_row(watch, process, said->hello->how == HELLO_BY_FORK ? "fork" : origin, said);
    return process;
}

static void begin_image(struct watch *watch, struct process *process, const struct hello_said *said)
{
    static const struct process_end by_exec = {"exec", PROCESS_NOT_KNOWN, PROCESS_NOT_KNOWN};
    if (process->other) /* it was only slow to say so */
        drain_refused(watch->options.drain, process->key, NULL);
    uint64_t before = process->key;
    process_new_image(&watch->table, process);
    begin_row(watch, process, "exec", said); /* while its parent is known by the one before */
    drain_end(watch->options.drain, before, &by_exec, clock_now_ns(), false);
}

/* The entry of who speaks, as the image that speaks. A FETCH names no new image, but an image that
 * fetches twice is one whose hello was lost: nobody asks again who has an answer. */
static struct process *find_speaker(struct watch *watch, const struct hello_said *said)
{
    struct process *process = process_find(&watch->table, said->pid);
    if (process && process_is_dead(process)) {
        end_by_death(watch, process);
        process = NULL;
    }
    if (!process)
        return begin_process(watch, said);
    if (said->pidfd >= 0)
        close(said->pidfd); /* we have one */
    if (process->root && !watch->root_known) {
        watch->root_known = true;
        begin_row(watch, process, "root", said);
    } else if (said->hello->what == HELLO_HELLO || process->fetched) {
        begin_image(watch, process, said);
    }
    return process;
}

static void refuse(struct watch *watch, struct process *process, const char *what, const char *why)
{
    char text[256];
    snprintf(text, sizeof text, "%s: %s", what, why);
    drain_refused(watch->options.drain, process->key, text);
    if (!process->refused)
        watch->refused++;
    process->refused = true;
    if (watch->refusal.count == 0)
        buf_text(&watch->refusal, text);
}

/* By what name its children refer to the ring, and what it refers to. While the image that it was
 * forked from is in the table, the drain has not been told of that one's end, and knows its
 * numbers. Else the child copies them. */
static void name_ring(const struct watch *watch, const struct process *process,
                      const struct hello *hello, struct ring_shared *ring)
{
    ring->key = process->key;
    for (size_t i = 0; hello->from_key && i < watch->table.count; i++) {
        const struct process *from = watch->table.list[i];
        if (from->key != hello->from_key || from == process || !from->fetched)
            continue;
        ring->arena_from = from->key;
        ring->arena_first = hello->from_count;
    }
}

static int make_ring(struct watch *watch, struct process *process, const struct hello *hello)
{
    struct ring_shared *ring;
    int fd = -1;
    if (drain_failed(watch->options.drain))
        return -1;
    int err = ring_create(&ring, watch->options.ring_bits, watch->options.arena_bytes, &fd);
    if (!err)
        name_ring(watch, process, hello, ring);
    if (!err && !drain_ring(watch->options.drain, process->key, ring)) {
        ring_destroy(ring, watch->options.ring_bits, watch->options.arena_bytes);
        close(fd);
        err = ERR_NOMEM;
    }
    if (err) {
        refuse(watch, process, "no ring could be made for it", base_err_text(err));
        return -1;
    }
    if (process->refused)
        watch->refused--;
    process->refused = false;
    watch->rings++;
    process->fetched = true;
    return fd;
}

/* It has no ring, though we made one; it may ask again. */
static void see_unsent(struct watch *watch, const struct hello_said *said)
{
    struct process *process = process_find(&watch->table, said->pid);
    if (!process)
        return;
    process->fetched = false;
    if (said->unsent == EPIPE || said->unsent == ECONNRESET)
        refuse(watch, process, "it had waited a second for its ring",
               "the recorder did not answer");
    else
        refuse(watch, process, "its ring could not be handed over", strerror(said->unsent));
}

static int hear(void *context, const struct hello_said *said)
{
    struct watch *watch = context;
    if (said->unsent) {
        see_unsent(watch, said);
        return -1;
    }
    struct process *process = find_speaker(watch, said);
    int answer = -1;
    if (!process) {
        watch->forgotten++;
        return -1;
    }
    if (process->root)
        watch->root_heard = true;
    process->said_hello = true;
    if (said->hello->what == HELLO_HELLO)
        process_said(process, said->hello->text, said->hello->argv_bytes);
    if (process->root)
        buf_clear(&watch->became);
    if (said->hello->what == HELLO_FETCH && said->understood)
        answer = make_ring(watch, process, said->hello);
    assert(process_table_is_valid(&watch->table));
    return answer;
}

/* Out of descriptors: whoever waits there would wake us again and again. */
static void mute(struct watch *watch, bool on)
{
    struct epoll_event event = {.events = on ? 0 : EPOLLIN};
    event.data.u64 = (uint64_t)SOURCE_HELLO << 32;
    epoll_ctl(watch->epoll, EPOLL_CTL_MOD, hello_server_fd(watch->options.server), &event);
    watch->muted_until = on ? clock_now_ns() + MUTE_NS : 0;
}

static void hear_hellos(struct watch *watch)
{
    if (watch->muted_until && clock_now_ns() < watch->muted_until)
        return;
    bool heard_all = hello_server_handle(watch->options.server, hear, watch);
    if (heard_all == (watch->muted_until != 0))
        mute(watch, !heard_all);
    else if (!heard_all)
        watch->muted_until = clock_now_ns() + MUTE_NS;
}

/* ---- ends ---- */

static void see_root_end(struct watch *watch)
{
    int status;
    siginfo_t info = {0};
    if (!watch->root ||
        waitid(P_PID, (id_t)watch->root_pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid != watch->root_pid)
        return;
    hear_hellos(watch); /* its own, if it was as quick as that */
    begin_silent_root(watch);
    look_for_other_image(watch, watch->root);
    if (waitpid(watch->root_pid, &status, WNOHANG) != watch->root_pid)
        return;
    struct process_end end = process_end_of_status(status);
    watch->root_status = status;
    watch->root_end_ns = clock_now_ns();
    end_row(watch, watch->root, &end, false);
    process_remove(&watch->table, watch->root);
    watch->root = NULL;
    record_signals_root_ended(watch);
}

static void see_end(struct watch *watch, pid_t pid)
{
    struct process *process = process_find(&watch->table, pid);
    if (process && process_is_dead(process))
        end_by_death(watch, process);
}

/* Processes without a pidfd are looked at each tick. */
static void look_at_all(struct watch *watch)
{
    for (size_t i = watch->table.count; i-- > 0;)
        if (watch->table.list[i]->pidfd < 0)
            see_end(watch, watch->table.list[i]->pid);
}

/* ---- the drain ---- */

static void take_back_rings(struct watch *watch)
{
    struct ring_shared *ring;
    while ((ring = drain_returned(watch->options.drain)) != NULL) {
        ring_destroy(ring, watch->options.ring_bits, watch->options.arena_bytes);
        watch->rings--;
    }
}

static void hear_drain(struct watch *watch)
{
    uint64_t count;
    (void)!read(watch->options.wake_fd, &count, sizeof count);
    take_back_rings(watch);
    if (drain_failed(watch->options.drain) && !watch->warned) {
        watch->warned = true;
        if (watch->on_failure)
            watch->on_failure(watch->context);
    }
}

/* ---- the end ---- */

/* Descendants that never said hello: forked and silent so far, or not able to. They are found by
 * the environment that they were started with. */
static bool somebody_unheard(struct watch *watch)
{
    pid_t pids[SCAN_MAX];
    uint64_t now = clock_now_ns();
    if (watch->options.no_guest)
        return false;
    uint64_t pause = now - watch->root_end_ns < GRACE_NS ? SCAN_NS : SCAN_LATER_NS;
    if (watch->scan_ns == 0 || now - watch->scan_ns >= pause) {
        const char *name = hello_server_name(watch->options.server);
        watch->unheard = proc_find_by_environ(HELLO_ENV, name, pids, SCAN_MAX) > 0;
        watch->scan_ns = clock_now_ns();
    }
    return watch->unheard;
}

static bool is_time_over(const struct watch *watch)
{
    uint64_t for_ns = watch->options.armed->for_ns;
    return for_ns && clock_now_ns() - watch->start_ns >= for_ns;
}

static bool is_over(struct watch *watch)
{
    const struct armed *armed = watch->options.armed;
    if (watch->stop)
        return true;
    if (armed)
        return is_time_over(watch) ||
               (watch->table.count == 0 && !armed_lives(armed) && !somebody_unheard(watch));
    if (watch->root)
        return false;
    if (watch->options.wait == RECORD_WAIT_ROOT)
        return true;
    if (watch->table.count == 0 && !somebody_unheard(watch))
        return true;
    if (watch->options.wait == RECORD_WAIT_ALL)
        return false;
    return clock_now_ns() - watch->root_end_ns >= GRACE_NS;
}

static void leave_running(struct watch *watch)
{
    static const struct process_end left = {"left running", PROCESS_NOT_KNOWN, PROCESS_NOT_KNOWN};
    if (watch->root)
        begin_silent_root(watch);
    const struct armed *armed = watch->options.armed;
    bool lives_on = watch->table.count > 0 || (armed && armed_lives(armed));
    watch->over = watch->root ? WATCH_STOPPED : lives_on ? WATCH_LEFT_RUNNING : WATCH_ALL_ENDED;
    for (size_t i = 0; i < watch->table.count; i++) {
        const struct process *process = watch->table.list[i];
        buf_print(&watch->left, "%s%d", i ? " " : "", (int)process->pid);
        end_row(watch, process, &left, true);
    }
    watch->images = watch->table.last_key;
    process_table_clear(&watch->table);
    watch->root = NULL;
}

static unsigned tick_ms(const struct watch *watch)
{
    return watch->counts_steps ? STEPS_MS : PROGRESS_MS;
}

static int timeout_ms(const struct watch *watch)
{
    int most = record_signals_wait_ms(watch, watch->on_tick ? (int)tick_ms(watch) : 1000);
    if (watch->options.armed && !watch->muted_until)
        return most < TICK_MS ? most : TICK_MS;
    if (!watch->root || watch->muted_until)
        return most < TICK_MS / 5 ? most : TICK_MS / 5;
    for (size_t i = 0; i < watch->table.count; i++)
        if (watch->table.list[i]->pidfd < 0 && !watch->table.list[i]->root)
            return most < TICK_MS ? most : TICK_MS;
    return most;
}

static void tick(struct watch *watch)
{
    uint64_t now = clock_now_ns();
    if (!watch->on_tick || now - watch->tick_ns < tick_ms(watch) * NS_PER_MS)
        return;
    watch->tick_ns = now;
    watch->on_tick(watch->context);
}

uint64_t watch_written(const struct watch *watch)
{
    uint64_t sum = watch->table.last_key + watch->table.count;
    for (size_t i = 0; i < watch->table.count; i++)
        sum += proc_written(watch->table.list[i]->pid);
    return sum;
}

static void turn(struct watch *watch)
{
    struct epoll_event events[64];
    int n = epoll_wait(watch->epoll, events, 64, timeout_ms(watch));
    hear_hellos(watch);
    for (int i = 0; i < n; i++) {
        enum source source = (enum source)(events[i].data.u64 >> 32);
        if (source == SOURCE_SIGNAL)
            record_signals_read(watch);
        else if (source == SOURCE_DRAIN)
            hear_drain(watch);
        else if (source == SOURCE_PIDFD)
            see_end(watch, (pid_t)(uint32_t)events[i].data.u64);
    }
    record_signals_decide(watch);
    record_signals_follow_stops(watch);
    see_root_end(watch);
    look_at_all(watch);
    look_at_images(watch);
    tick(watch);
}

void watch_run(struct watch *watch, pid_t root)
{
    watch->root_pid = root;
    watch->start_ns = watch->image_ns = clock_now_ns();
    watch->root = process_add(&watch->table, root, -1);
    if (watch->root) {
        watch->root->root = true;
        while (!is_over(watch))
            turn(watch);
        hear_hellos(watch);
        for (size_t i = watch->table.count; i-- > 0;)
            see_end(watch, watch->table.list[i]->pid);
    } else { /* no memory at all: at least its exit status is passed on */
        watch->forgotten++;
        while (waitpid(root, &watch->root_status, 0) < 0 && errno == EINTR)
            continue;
    }
    leave_running(watch);
}

void watch_run_armed(struct watch *watch)
{
    watch->start_ns = watch->image_ns = clock_now_ns();
    watch->root_known = true; /* there is none */
    while (!is_over(watch))
        turn(watch);
    hear_hellos(watch);
    for (size_t i = watch->table.count; i-- > 0;)
        see_end(watch, watch->table.list[i]->pid);
    leave_running(watch);
}

void watch_close(struct watch *watch)
{
    if (watch->options.drain)
        take_back_rings(watch);
    process_table_clear(&watch->table);
    if (watch->epoll >= 0)
        close(watch->epoll);
    watch->epoll = -1;
    watch->options.drain = NULL;
    buf_clear(&watch->became);
    buf_clear(&watch->strayed);
    buf_clear(&watch->refusal);
    buf_clear(&watch->left);
    buf_clear(&watch->silent);
}
