#include "record_signals.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "foreground.h"
#include "record_watch.h"

#define TERMS_MAX 3
#define TERMS_NS (10 * NS_PER_S) /* between two of them; after more, the first is forgotten */
/* Between a SIGINT that should end the program and a SIGTERM: a handler may save a checkpoint. */
#define ENDING_NS (10 * NS_PER_S)
/* A stop that is over by then was none: all are continued in turn. */
#define STOP_NS (30 * NS_PER_MS)

/* Not if we were started so that this signal does not matter (nohup). */
static bool is_ignored(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void stop_recording(struct watch *watch, int number)
{
    watch->stop = true;
    watch->stop_signal = number;
}

/* ---- stopping ---- */

/* By the program's own signal, which the shell shows. The mask is this thread's: the others have it
 * blocked. */
static void stop_by(struct watch *watch, int number)
{
    struct sigaction stop = {.sa_handler = SIG_DFL}, before = {0};
    sigset_t set;
    if (watch->root)
        witness_stand_in(watch->signals.witness, watch->root_pid);
    if (number != SIGSTOP) /* which nobody can change */
        sigaction(number, &stop, &before);
    sigemptyset(&set);
    sigaddset(&set, number);
    raise(number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL); /* here it stops, and goes on */
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (number != SIGSTOP)
        sigaction(number, &before, NULL);
    if (watch->root)
        witness_back(watch->signals.witness);
}

static void see_stops(struct watch *watch)
{
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)watch->root_pid, &info, WSTOPPED | WCONTINUED | WNOHANG) != 0 ||
            info.si_pid != watch->root_pid)
            return;
        watch->root_stop = info.si_code == CLD_STOPPED ? info.si_status : 0;
        watch->root_stop_ns = clock_now_ns();
    }
}

void record_signals_follow_stops(struct watch *watch)
{
    struct proc_stat stat;
    if (!watch->root)
        return;
    see_stops(watch);
    if (!watch->root_stop || clock_now_ns() - watch->root_stop_ns < STOP_NS ||
        signals_holds(&watch->signals, SIGCONT))
        return;
    int number = watch->root_stop;
    watch->root_stop = 0;
    if (proc_stat_read(&stat, watch->root_pid) && strchr("T?", stat.state) &&
        !foreground_give(watch->root_pid, number, &watch->given))
        stop_by(watch, number);
}

/* ---- sending on ---- */

static void send_on(const struct signal_came *came, pid_t pid)
{
    const union sigval value = {.sival_ptr = (void *)(uintptr_t)came->value};
    if (came->queued)
        sigqueue(pid, came->number, value);
    else
        kill(pid, came->number);
}

/* Of those that were sent to us alone: the group's are for the program, which may take its time. */
static void count_terms(struct watch *watch, const struct signal_came *came)
{
    if (came->number != SIGTERM || came->group)
        return;
    if (came->ns - watch->terms_ns > TERMS_NS)
        watch->terms = 0;
    watch->terms_ns = came->ns;
    if (++watch->terms >= TERMS_MAX)
        stop_recording(watch, SIGTERM);
}

/* The program's own: for its parent, which would be ours, or for its group. Where that is not
 * known, whoever is above us does not get what may not be for it. */
static void pass_up(const struct signal_came *came, enum signal_has has)
{
    pid_t parent = getppid();
    if (has == SIGNAL_HAS_NOT && parent > 1)
        send_on(came, parent);
}

static void pass_on(struct watch *watch, const struct signal_came *came, enum signal_has has)
{
    if (came->sender > 0 && came->sender == watch->signals.witness->pid)
        return; /* which only wakes us */
    if (came->sender > 0 && came->sender == watch->root_pid) {
        pass_up(came, has);
        return;
    }
    count_terms(watch, came);
    if (has != SIGNAL_HAS)
        send_on(came, watch->root_pid);
}

void record_signals_decide(struct watch *watch)
{
    struct signal_came came;
    enum signal_has has;
    while (watch->root && signals_decide(&watch->signals, clock_now_ns(), &came, &has))
        pass_on(watch, &came, has);
}

/* The program has ended, others are waited for: what comes now is for us. */
static void obey(struct watch *watch, int number)
{
    bool asks = number == SIGINT || number == SIGQUIT || number == SIGTERM || number == SIGHUP;
    if (asks && !is_ignored(number))
        stop_recording(watch, number);
    else if (number == SIGTSTP && !is_ignored(number))
        stop_by(watch, number);
}

void record_signals_read(struct watch *watch)
{
    struct signal_came came;
    while (signals_read(&watch->signals, &came)) {
        if (came.number == SIGCHLD)
            witness_lives(watch->signals.witness);
        else if (watch->root)
            signals_hold(&watch->signals, &came);
        else
            obey(watch, came.number);
    }
}

/* What came while it lived was for it. */
void record_signals_root_ended(struct watch *watch)
{
    signals_drop(&watch->signals);
    foreground_take_back(&watch->given);
    watch->signals.program = 0;
    watch->root_stop = 0;
}

int record_signals_wait_ms(const struct watch *watch, int most)
{
    uint64_t stopped_ns = clock_now_ns() - watch->root_stop_ns;
    if (watch->root_stop)
        most = stopped_ns < STOP_NS ? (int)((STOP_NS - stopped_ns) / NS_PER_MS) + 1 : 5;
    return signals_wait_ms(&watch->signals, most);
}

void record_signals_end_program(struct watch *watch)
{
    uint64_t now = clock_now_ns();
    if (!watch->root || (watch->endings > 0 && now - watch->ending_ns < ENDING_NS))
        return;
    watch->ending_ns = now;
    if (watch->endings++ == 0) {
        kill(watch->root_pid, SIGINT);
        return;
    }
    for (size_t i = 0; i < watch->table.count; i++)
        kill(watch->table.list[i]->pid, SIGTERM);
}
