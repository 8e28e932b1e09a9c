/*
 * prog_soak.c - one of the programs of a soak.
 *
 *     prog_soak LEDGER MODE SEED MS RATE
 *
 * MODE is what it does for MS milliseconds, or until the ledger says stop, at RATE events a second:
 *
 *     stay     steps with phases, beside threads that stay
 *     threads  the same, with threads that come and go and die inside phases
 *     forks    the same, with children that end in all ways, some after their parent
 *     execs    becomes another image again and again
 *     short    some dozen events and away
 *     pairs    blocks and nothing else
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traffic.h"

enum mode { STAY, THREADS, FORKS, EXECS, SHORT, PAIRS, MODES };
static const char *const mode_names[MODES] = {"stay",  "threads", "forks",
                                              "execs", "short",   "pairs"};

#define STEP_EVENTS 100u
#define IMAGE_STEPS 200u /* of a program that becomes another */
#define BESIDE 2         /* threads beside the main one */

static char **arguments;
static enum mode mode;
static uint64_t until_ns, rate;
static struct ledger_slot *slot;
static struct traffic own; /* the main thread's */
static unsigned lanes = 1; /* given to threads of this image */

static bool is_over(void)
{
    return traffic_now_ns() >= until_ns || atomic_load(&ledger->stop);
}

static uint64_t ms_left(void)
{
    uint64_t now = traffic_now_ns();
    return now < until_ns ? (until_ns - now) / 1000000u : 0;
}

static _Noreturn void leave(enum ledger_state state, int code)
{
    atomic_store(&slot->state, state);
    exit(code);
}

/* ---- threads ---- */

struct beside {
    pthread_t thread;
    struct traffic traffic;
    uint64_t events; /* 0: until it is over */
    bool dies_inside;
    bool runs;
};

static void *work_beside(void *argument)
{
    struct beside *self = argument;
    uint64_t left = self->events ? self->events : UINT64_MAX;
    while (left > 0 && !is_over()) {
        uint64_t some = left < 50 ? left : 50;
        traffic_phase_begin(&self->traffic, "beside");
        traffic_run(&self->traffic, some);
        left -= some;
        if (self->dies_inside && left == 0)
            break;
        traffic_phase_end(&self->traffic, "beside");
    }
    traffic_free_all(&self->traffic);
    return NULL;
}

static void start_beside(struct beside *self, uint64_t events)
{
    unsigned lane = lanes++ % 200 + 1; /* whoever had the lane before has joined */
    self->events = events;
    self->dies_inside = events && traffic_below(&own, 3) == 0;
    traffic_init(&self->traffic, slot, lane, rate / 4, own.seed);
    self->runs = pthread_create(&self->thread, NULL, work_beside, self) == 0;
}

static void join(struct beside *self)
{
    if (self->runs)
        pthread_join(self->thread, NULL);
    self->runs = false;
}

/* ---- children ---- */

/* A child of a fork, which still has its parent's blocks and frees some of them. */
static _Noreturn void live_as_child(void)
{
    slot = ledger_take(SHORT);
    if (!slot)
        _exit(90);
    struct traffic parents = own;
    uint64_t seed = own.seed + ledger_number(slot);
    traffic_init(&own, slot, 0, 400, seed);
    parents.slot = slot;
    parents.heap = own.heap;
    for (int i = 0; i < 4; i++)
        traffic_block(&parents);
    traffic_run(&own, 20 + traffic_below(&own, 100));
    unsigned way = traffic_below(&own, 6);
    if (way < 2) {
        atomic_store(&slot->state, LEDGER_KILLS_ITSELF);
        raise(way ? SIGKILL : SIGSEGV);
    }
    atomic_store(&slot->state, LEDGER_EXITS);
    if (way == 2)
        _exit(3);
    exit((int)way);
}

static void have_child(void)
{
    pid_t pid = fork();
    if (pid == 0)
        live_as_child();
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
}

/* ---- images ---- */

static _Noreturn void become_another(void)
{
    char seed[32], ms[32];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)own.seed % 1000000007u);
    snprintf(ms, sizeof ms, "%llu", (unsigned long long)ms_left());
    arguments[3] = seed;
    arguments[4] = ms;
    atomic_store(&slot->state, LEDGER_EXECS);
    execv(arguments[0], arguments);
    _exit(91);
}

/* ---- what the main thread does ---- */

static void phase(const char *name, uint64_t events)
{
    traffic_phase_begin(&own, name);
    traffic_run(&own, events);
    traffic_phase_end(&own, name);
}

static void step(uint64_t number)
{
    traffic_step_begin(&own, number);
    phase("forward", STEP_EVENTS / 2);
    phase("backward", STEP_EVENTS / 4);
    phase("optimizer", STEP_EVENTS / 8);
}

static void step_until_over(void)
{
    struct beside beside[BESIDE] = {0};
    bool come_and_go = mode == THREADS;
    for (uint64_t number = 0; !is_over(); number++) {
        struct beside *one = &beside[number % BESIDE];
        if (come_and_go)
            join(one);
        if (!one->runs && mode != EXECS)
            start_beside(one, come_and_go ? 20 + traffic_below(&own, 80) : 0);
        step(number);
        if (mode == FORKS && number % 16 == 0)
            have_child();
        if (mode == EXECS && number == IMAGE_STEPS)
            become_another();
    }
    for (int i = 0; i < BESIDE; i++)
        join(&beside[i]);
}

static void pairs_until_over(void)
{
    while (!is_over()) {
        for (int i = 0; i < 20; i++)
            traffic_block(&own);
        usleep(20000);
    }
}

static int read_arguments(int count, char **values)
{
    if (count != 6 || !ledger_open(values[1]))
        return 0;
    while (mode < MODES && strcmp(values[2], mode_names[mode]) != 0)
        mode++;
    until_ns = traffic_now_ns() + strtoull(values[4], NULL, 10) * 1000000u;
    rate = strtoull(values[5], NULL, 10);
    arguments = values;
    return mode < MODES;
}

int main(int argc, char **argv)
{
    const struct rlimit no_core = {0, 0};
    if (!read_arguments(argc, argv)) {
        fprintf(stderr, "usage: prog_soak LEDGER MODE SEED MS RATE\n");
        return 99;
    }
    setrlimit(RLIMIT_CORE, &no_core);
    slot = ledger_take(mode);
    if (!slot)
        return 98;
    traffic_init(&own, slot, 0, mode == EXECS || mode == SHORT ? rate : rate / 2,
                 strtoull(argv[3], NULL, 10) * 2654435761u);
    if (mode == SHORT)
        traffic_run(&own, 30 + traffic_below(&own, 60));
    else if (mode == PAIRS)
        pairs_until_over();
    else
        step_until_over();
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
    traffic_free_all(&own);
    leave(LEDGER_EXITS, 0);
}
