#include "metrics.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "clients.h"
#include "clock.h"
#include "error.h"
#include "listener.h"
#include "mem.h"
#include "metrics_file.h"
#include "pace.h"
#include "place.h"

#define TICK_NS NS_PER_S
#define FILE_NS (5 * NS_PER_S)
#define DEAF_NS (200 * NS_PER_MS) /* after a connection could not be taken: descriptors ran out */

struct rank_pace {
    int64_t rank;
    struct pace pace;
};

struct metrics {
    struct metrics_options options;
    char *run, *version;
    struct place place;
    struct listener listener;
    struct clients clients;
    pthread_t thread;
    bool started;
    int stop_fd;
    char address[64];

    /* The thread's own while it runs. */
    struct meters meters;
    uint64_t start_real_ns, tick_ns, file_ns, deaf_ns;
    struct rank_pace paces[METER_RANKS_MAX];
    size_t pace_count;
    struct answer *pages[EXPOSITION_COUNT]; /* of these meters; NULL: nobody asked yet */
    bool warned;
};

/* ---- what is shown ---- */

static void forget_pages(struct metrics *metrics)
{
    for (size_t i = 0; i < EXPOSITION_COUNT; i++) {
        answer_leave(metrics->pages[i]);
        metrics->pages[i] = NULL;
    }
}

/* There is room: meters have so many ranks at most, and none that was seen goes away. */
static struct pace *pace_of(struct metrics *metrics, int64_t rank)
{
    size_t at = 0;
    while (at < metrics->pace_count && metrics->paces[at].rank != rank)
        at++;
    if (at == METER_RANKS_MAX)
        at = 0;
    if (at == metrics->pace_count)
        metrics->paces[metrics->pace_count++] = (struct rank_pace){.rank = rank};
    return &metrics->paces[at].pace;
}

static void put_paces(struct metrics *metrics, uint64_t now_ns)
{
    for (size_t i = 0; i < metrics->meters.rank_count; i++) {
        int64_t *values = metrics->meters.ranks[i].values;
        if (values[METER_RANK_STEPS] == METER_UNKNOWN || values[METER_RANK_STEP] == METER_UNKNOWN)
            continue;
        struct pace *pace = pace_of(metrics, metrics->meters.ranks[i].rank);
        pace_count(pace, now_ns, values[METER_RANK_STEPS]);
        values[METER_RANK_PACE] = pace_per_minute(pace, now_ns, values[METER_RANK_STEPS]);
    }
}

static void take_values(struct metrics *metrics, bool up)
{
    int64_t *run = metrics->meters.run;
    metrics->tick_ns = clock_now_ns();
    run[METER_RUN_UP] = up;
    run[METER_RUN_START] = (int64_t)metrics->start_real_ns;
    run[METER_RUN_UPDATED] = (int64_t)clock_read_ns(CLOCK_REALTIME);
    run[METER_RUN_CPU] = (int64_t)clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
    put_paces(metrics, metrics->tick_ns);
    meters_sort(&metrics->meters);
    forget_pages(metrics);
}

static void put_text(const struct metrics *metrics, struct buf *out, enum exposition form)
{
    exposition_put(out, &metrics->meters, metrics->run, metrics->version, form);
}

/* Made when the first asks for it. */
static struct answer *page(void *context, enum exposition form)
{
    struct metrics *metrics = context;
    struct answer **page = &metrics->pages[form];
    if (!*page && (*page = answer_new()))
        put_text(metrics, &(*page)->text, form);
    if (*page && (*page)->text.broken) {
        answer_leave(*page);
        *page = NULL;
    }
    if (*page)
        (*page)->users++;
    return *page;
}

static int write_file(struct metrics *metrics, struct buf *why)
{
    struct buf text = {0};
    put_text(metrics, &text, metrics_file_form(metrics->place.path));
    int err = text.broken ? ERR_NOMEM : metrics_file_write(metrics->place.path, &text, why);
    metrics->file_ns = clock_now_ns();
    buf_clear(&text);
    return err;
}

static void write_again(struct metrics *metrics)
{
    struct buf why = {0};
    if (write_file(metrics, &why) && !metrics->warned && why.count > 0) {
        metrics->warned = true;
        metrics->options.warn(metrics->options.context, buf_string(&why));
    }
    buf_clear(&why);
}

/* ---- the thread ---- */

static void tick(struct metrics *metrics)
{
    metrics->options.look(metrics->options.context, &metrics->meters);
    take_values(metrics, true);
    if (metrics->place.kind == PLACE_FILE && metrics->tick_ns - metrics->file_ns >= FILE_NS)
        write_again(metrics);
}

static void take_clients(struct metrics *metrics, uint64_t now_ns)
{
    int fd;
    errno = 0;
    for (size_t i = 0; i < CLIENTS_MAX && (fd = listener_accept(&metrics->listener)) >= 0; i++)
        clients_add(&metrics->clients, fd, now_ns);
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
        metrics->deaf_ns = now_ns + DEAF_NS;
}

static int earlier(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static int timeout_ms(const struct metrics *metrics, uint64_t now_ns)
{
    uint64_t due = metrics->tick_ns + TICK_NS;
    int wait = due > now_ns ? (int)((due - now_ns) / NS_PER_MS) + 1 : 0;
    wait = earlier(wait, clients_wait_ms(&metrics->clients, now_ns));
    return metrics->deaf_ns > now_ns ? earlier(wait, (int)(DEAF_NS / NS_PER_MS)) : wait;
}

/* False: it is to end. */
static bool go_round(struct metrics *metrics)
{
    struct pollfd polled[2 + CLIENTS_MAX];
    size_t count = metrics->clients.count;
    uint64_t now = clock_now_ns();
    polled[0] = (struct pollfd){.fd = metrics->stop_fd, .events = POLLIN};
    polled[1] =
        (struct pollfd){.fd = metrics->deaf_ns > now ? -1 : metrics->listener.fd, .events = POLLIN};
    clients_poll(&metrics->clients, polled + 2);
    if (poll(polled, 2 + count, timeout_ms(metrics, now)) < 0)
        return errno == EINTR || errno == ENOMEM;
    if (polled[0].revents)
        return false;
    now = clock_now_ns();
    if (now - metrics->tick_ns >= TICK_NS)
        tick(metrics);
    clients_turn(&metrics->clients, polled + 2, count, now);
    if (polled[1].revents)
        take_clients(metrics, now);
    return true;
}

static void *run(void *argument)
{
    struct metrics *metrics = argument;
    prctl(PR_SET_NAME, "metrics");
    while (go_round(metrics))
        ;
    return NULL;
}

/* ---- begin and end ---- */

static int open_place(struct metrics *metrics, struct buf *why)
{
    if (metrics->place.kind != PLACE_FILE)
        return listener_open(&metrics->listener, &metrics->place, why);
    int err = metrics_file_check(metrics->place.path, why);
    return err ? err : write_file(metrics, why);
}

static void name_address(struct metrics *metrics)
{
    const struct place *bound = &metrics->listener.place;
    if (metrics->place.kind == PLACE_PORT && metrics->place.port == 0)
        snprintf(metrics->address, sizeof metrics->address, "http://%s:%u/metrics",
                 bound->six ? "[::1]" : "127.0.0.1", bound->port);
}

int metrics_open(struct metrics **out, const struct metrics_options *options, struct buf *why)
{
    struct metrics *metrics = mem_alloc(1, sizeof *metrics);
    *out = NULL;
    if (!metrics)
        return ERR_NOMEM;
    metrics->options = *options;
    metrics->listener.fd = metrics->stop_fd = -1;
    metrics->clients.page = page;
    metrics->clients.context = metrics;
    metrics->start_real_ns = clock_read_ns(CLOCK_REALTIME);
    metrics->run = mem_copy(options->run, strlen(options->run));
    metrics->version = mem_copy(options->version, strlen(options->version));
    int err = metrics->run && metrics->version ? BASE_OK : ERR_NOMEM;
    if (!err)
        err = place_read(&metrics->place, options->place, why);
    take_values(metrics, true);
    if (!err)
        err = open_place(metrics, why);
    if (!err && (metrics->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
        err = base_err_from_errno(errno);
    if (err)
        metrics_close(metrics);
    else
        *out = metrics;
    if (!err)
        name_address(metrics);
    return err;
}

const char *metrics_address(const struct metrics *metrics)
{
    return metrics->address;
}

int metrics_start(struct metrics *metrics)
{
    metrics->started = pthread_create(&metrics->thread, NULL, run, metrics) == 0;
    return metrics->started ? BASE_OK : ERR_NOMEM;
}

void metrics_stop(struct metrics *metrics)
{
    const uint64_t one = 1;
    if (!metrics->started)
        return;
    (void)!write(metrics->stop_fd, &one, sizeof one);
    pthread_join(metrics->thread, NULL);
    metrics->started = false;
}

void metrics_end(struct metrics *metrics, const struct meters *last)
{
    if (meters_copy(&metrics->meters, last))
        take_values(metrics, false);
    if (metrics->place.kind == PLACE_FILE)
        write_again(metrics);
}

void metrics_close(struct metrics *metrics)
{
    if (!metrics)
        return;
    metrics_stop(metrics);
    clients_clear(&metrics->clients);
    listener_close(&metrics->listener);
    forget_pages(metrics);
    meters_clear(&metrics->meters);
    if (metrics->stop_fd >= 0)
        close(metrics->stop_fd);
    mem_free(metrics->run);
    mem_free(metrics->version);
    mem_free(metrics);
}
