#include "signals.h"

#include <assert.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "clock.h"
#include "process.h"

#define SETTLE_NS (30 * NS_PER_MS)
#define SETTLE_STEP_NS (10 * NS_PER_MS)
#define SETTLE_MOST_NS (500 * NS_PER_MS) /* while the sender runs */
#define OLD_NS NS_PER_S /* what came to the witness so long before was another one */

static const int of_interest[] = {
    SIGHUP,    SIGINT,  SIGQUIT, SIGABRT, SIGUSR1,   SIGUSR2, SIGALRM, SIGTERM, SIGCONT,  SIGTSTP,
    SIGTTIN,   SIGTTOU, SIGURG,  SIGXCPU, SIGVTALRM, SIGPROF, SIGIO,   SIGPWR,  SIGWINCH,
#ifdef SIGSTKFLT
    SIGSTKFLT,
#endif
};

void signals_of_interest(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < sizeof of_interest / sizeof *of_interest; i++)
        sigaddset(set, of_interest[i]);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        sigaddset(set, number);
}

/* What the kernel sends to the foreground group, or, SIGTTIN and SIGTTOU, to the group of who reads
 * and writes. SIGHUP may be for the leader of a session alone. SIGXCPU is about our own time. */
static bool is_of_terminal(int number)
{
    return number == SIGINT || number == SIGQUIT || number == SIGTSTP || number == SIGTTIN ||
           number == SIGTTOU || number == SIGWINCH || number == SIGXCPU;
}

bool signals_read(struct signals *signals, struct signal_came *came)
{
    struct signalfd_siginfo info;
    if (signals->count == SIGNALS_HELD) /* a storm: they wait in the kernel */
        return false;
    if (read(signals->fd, &info, sizeof info) != (ssize_t)sizeof info)
        return false;
    int code = info.ssi_code;
    bool sent = code == SI_USER || code == SI_QUEUE || code == SI_TKILL;
    *came = (struct signal_came){
        .number = (int)info.ssi_signo,
        .sender = sent ? (pid_t)info.ssi_pid : 0,
        .queued = code == SI_QUEUE,
        .value = info.ssi_ptr,
        .ns = clock_now_ns(),
    };
    came->terminal = code == SI_KERNEL && is_of_terminal(came->number);
    return true;
}

void signals_hold(struct signals *signals, const struct signal_came *came)
{
    assert(signals->count < SIGNALS_HELD);
    struct signal_came *held = &signals->held[signals->count++];
    *held = *came;
    bool wait = !came->early && signals->witness && signals->witness->pid > 0;
    held->due_ns = came->ns + (wait ? SETTLE_NS : 0);
}

void signals_read_early(struct signals *signals)
{
    struct signal_came came;
    uint64_t at_ns;
    while (signals_read(signals, &came)) {
        if (came.number == SIGCHLD)
            continue;
        came.early = true;
        signals_hold(signals, &came);
        if (signals->witness && signals->witness->pid > 0)
            witness_ask(signals->witness, came.number, &at_ns);
    }
}

bool signals_holds(const struct signals *signals, int number)
{
    for (unsigned i = 0; i < signals->count; i++)
        if (signals->held[i].number == number)
            return true;
    return false;
}

/* The terminal's go to the whole group, whether there is a witness or not: but the program may not
 * have been there. */
static enum signal_has ask(struct signals *signals, const struct signal_came *came)
{
    uint64_t at_ns;
    enum signal_has otherwise = came->terminal ? SIGNAL_HAS : SIGNAL_HAS_NOT;
    enum signal_has not_known = came->terminal ? SIGNAL_HAS : SIGNAL_NOT_KNOWN;
    assert(!came->early && came->number > 0);
    if (!signals->witness || signals->witness->pid <= 0)
        return not_known;
    if (signals->answered_ns[came->number] >= came->ns)
        return SIGNAL_HAS;
    if (!witness_ask(signals->witness, came->number, &at_ns))
        return not_known;
    if (at_ns == 0 || at_ns + OLD_NS < came->ns)
        return otherwise;
    if (at_ns < signals->program_ns)
        return SIGNAL_HAS_NOT;
    signals->answered_ns[came->number] = clock_now_ns();
    return SIGNAL_HAS;
}

/* The program has left our group: what is sent to that does not reach it. Without us it would have
 * been started as the group's leader, who cannot leave it, or as the one that its starter signals
 * by its number too. */
static bool is_apart(const struct signals *signals)
{
    pid_t group = signals->program > 0 ? getpgid(signals->program) : -1;
    return group > 0 && group != getpgrp();
}

/* It may be in the middle of a list. */
static bool is_at_it(const struct signal_came *came, uint64_t now_ns)
{
    struct proc_stat stat;
    return came->sender > 0 && now_ns - came->ns < SETTLE_MOST_NS && came->sender != getpid() &&
           proc_stat_read(&stat, came->sender) && strchr("RD", stat.state);
}

bool signals_decide(struct signals *signals, uint64_t now_ns, struct signal_came *came,
                    enum signal_has *has)
{
    struct signal_came *oldest = &signals->held[0];
    if (signals->count == 0 || oldest->due_ns > now_ns)
        return false;
    bool answered = signals->answered_ns[oldest->number] >= oldest->ns;
    *has = oldest->early ? SIGNAL_HAS_NOT : ask(signals, oldest);
    if (*has == SIGNAL_HAS_NOT && !oldest->early && is_at_it(oldest, now_ns)) {
        oldest->due_ns = now_ns + SETTLE_STEP_NS;
        return false;
    }
    *came = *oldest;
    came->group = *has == SIGNAL_HAS;
    if (came->group && !answered && is_apart(signals))
        *has = SIGNAL_HAS_NOT;
    memmove(oldest, oldest + 1, --signals->count * sizeof *oldest);
    return true;
}

int signals_wait_ms(const struct signals *signals, int most)
{
    uint64_t now = clock_now_ns(), due = signals->held[0].due_ns;
    if (signals->count == 0)
        return most;
    uint64_t wait_ms = due > now ? (due - now) / NS_PER_MS + 1 : 0;
    return wait_ms < (uint64_t)most ? (int)wait_ms : most;
}

void signals_drop(struct signals *signals)
{
    signals->count = 0;
}
