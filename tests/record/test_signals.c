/* What is held, for how long, and what the witness makes of it. Each case is a process group of its
 * own: the runner's is not ours to send to. */
#include "signals.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "process.h"
#include "test.h"

static struct witness witness;

static struct signals begin(bool with_witness)
{
    static const char *const argv[] = {"program", NULL};
    sigset_t set;
    REQUIRE(setpgid(0, 0) == 0 || getpgrp() == getpid());
    signals_of_interest(&set);
    sigaddset(&set, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    struct signals signals = {.fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC),
                              .witness = &witness};
    REQUIRE(signals.fd >= 0);
    if (with_witness)
        witness_start(&witness, argv);
    CHECK_INT(witness_lives(&witness), with_witness);
    return signals;
}

static void end(struct signals *signals)
{
    witness_end(&witness);
    CHECK(waitpid(-1, NULL, 0) < 0); /* nobody is left */
    close(signals->fd);
}

/* Reads and holds all that came. */
static unsigned take(struct signals *signals)
{
    struct signal_came came;
    unsigned count = 0;
    while (signals_read(signals, &came))
        if (came.number != SIGCHLD) {
            signals_hold(signals, &came);
            count++;
        }
    return count;
}

/* The next decision, however long it takes: the signal, negative if the program has it. */
static int decide(struct signals *signals)
{
    struct signal_came came;
    enum signal_has has;
    REQUIRE(signals->count > 0);
    while (!signals_decide(signals, clock_now_ns(), &came, &has))
        poll(NULL, 0, signals_wait_ms(signals, 1000));
    return has == SIGNAL_HAS ? -came.number : came.number;
}

TEST(one_that_came_to_us_alone)
{
    struct signals signals = begin(true);
    kill(getpid(), SIGTERM);
    CHECK_INT(take(&signals), 1);
    CHECK_INT(decide(&signals), SIGTERM);
    CHECK_INT(signals.count, 0);
    CHECK_INT(signals_wait_ms(&signals, 77), 77);
    end(&signals);
}

TEST(one_that_came_to_the_group)
{
    struct signals signals = begin(true);
    kill(0, SIGTERM);
    CHECK_INT(take(&signals), 1);
    CHECK_INT(decide(&signals), -SIGTERM);
    kill(getpid(), SIGTERM); /* another one */
    CHECK_INT(take(&signals), 1);
    CHECK_INT(decide(&signals), SIGTERM);
    end(&signals);
}

TEST(the_group_answers_what_came_before_it)
{
    struct signals signals = begin(true);
    kill(getpid(), SIGINT);
    CHECK_INT(take(&signals), 1);
    kill(getpid(), SIGUSR1);
    kill(0, SIGINT);
    CHECK_INT(take(&signals), 2);
    CHECK_INT(decide(&signals), -SIGINT);
    CHECK_INT(decide(&signals) + decide(&signals), SIGUSR1 - SIGINT);
    end(&signals);
}

TEST(without_a_witness_nothing_waits)
{
    struct signals signals = begin(false);
    kill(0, SIGTERM);
    CHECK_INT(take(&signals), 1);
    CHECK_INT(signals_wait_ms(&signals, 1000), 0);
    CHECK_INT(decide(&signals), SIGTERM);
    end(&signals);
}

static void stop_the_witness(void)
{
    struct proc_stat stat = {0};
    kill(witness.pid, SIGSTOP);
    while (proc_stat_read(&stat, witness.pid) && stat.state != 'T')
        poll(NULL, 0, 1);
    REQUIRE(stat.state == 'T');
}

/* It is continued, and answers. That this takes a SIGCONT is not its answer to one. */
TEST(a_witness_that_was_stopped)
{
    struct signals signals = begin(true);
    stop_the_witness();
    kill(0, SIGTERM);
    CHECK_INT(take(&signals), 1);
    CHECK_INT(decide(&signals), -SIGTERM);
    stop_the_witness();
    kill(getpid(), SIGCONT);
    CHECK_INT(take(&signals), 1);
    CHECK_INT(decide(&signals), SIGCONT);
    pid_t other = fork();
    if (other == 0) {
        kill(0, SIGCONT);
        _exit(0);
    }
    REQUIRE(waitpid(other, NULL, 0) == other);
    CHECK_INT(take(&signals), 1);
    CHECK_INT(decide(&signals), -SIGCONT);
    CHECK(witness_lives(&witness));
    end(&signals);
}

/* Another one stands in for it, which is silent: the witness is not held to be dead. */
TEST(a_witness_that_does_not_answer)
{
    struct signals signals = begin(true);
    struct witness real = witness;
    struct signal_came came = {0};
    enum signal_has has = SIGNAL_HAS;
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    witness.fd = ends[0];
    kill(0, SIGTERM);
    CHECK_INT(take(&signals), 1);
    CHECK(signals_decide(&signals, signals.held[0].due_ns, &came, &has));
    CHECK(came.number == SIGTERM && has == SIGNAL_NOT_KNOWN);
    CHECK_INT(witness.pid, real.pid);
    witness = real;
    kill(0, SIGTERM);
    CHECK_INT(take(&signals), 1);
    CHECK_INT(decide(&signals), -SIGTERM);
    close(ends[0]);
    close(ends[1]);
    end(&signals);
}

TEST(a_witness_that_was_killed)
{
    struct signals signals = begin(true);
    kill(witness.pid, SIGKILL);
    while (witness_lives(&witness))
        poll(NULL, 0, 1);
    kill(0, SIGHUP);
    CHECK_INT(take(&signals), 1);
    CHECK_INT(decide(&signals), SIGHUP);
    end(&signals);
}

TEST(before_there_is_a_program_it_has_nothing)
{
    struct signals signals = begin(true);
    kill(0, SIGTERM);
    signals_read_early(&signals);
    CHECK_INT(signals.count, 1);
    CHECK_INT(decide(&signals), SIGTERM);
    kill(getpid(), SIGTERM); /* the group's is not taken for this one's */
    CHECK_INT(take(&signals), 1);
    CHECK_INT(decide(&signals), SIGTERM);
    end(&signals);
}

/* What came to the group while the program was not there yet, and was read later. */
TEST(what_came_before_the_program_it_does_not_have)
{
    struct signals signals = begin(true);
    for (int terminal = 0; terminal < 2; terminal++) {
        signals.program_ns = clock_now_ns() + 3600 * NS_PER_S;
        kill(0, SIGINT);
        CHECK_INT(take(&signals), 1);
        signals.held[0].terminal = terminal;
        CHECK_INT(decide(&signals), SIGINT);
        signals.program_ns = 1;
        kill(0, SIGINT);
        CHECK_INT(take(&signals), 1);
        signals.held[0].terminal = terminal;
        CHECK_INT(decide(&signals), -SIGINT);
    }
    end(&signals);
}

/* A process that is at work on something; with all signals blocked, as here. */
static pid_t start_busy(void)
{
    int hold[2];
    char byte = 0;
    REQUIRE(pipe(hold) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)!write(hold[1], &byte, 1);
        for (;;)
            continue;
    }
    REQUIRE(pid > 0 && read(hold[0], &byte, 1) == 1);
    close(hold[0]);
    close(hold[1]);
    return pid;
}

/* The times are given: the sender of a long list is at it for 400 ms, then for too long. */
TEST(a_list_that_takes_long)
{
    struct signals signals = begin(true);
    struct signal_came came;
    enum signal_has has = SIGNAL_HAS;
    pid_t busy = start_busy();
    for (int late = 0; late < 2; late++) {
        kill(getpid(), SIGTERM);
        CHECK_INT(take(&signals), 1);
        signals.held[0].sender = busy;
        uint64_t begin_ns = signals.held[0].ns;
        CHECK(!signals_decide(&signals, begin_ns + 29 * NS_PER_MS, &came, &has));
        CHECK(!signals_decide(&signals, begin_ns + 30 * NS_PER_MS, &came, &has));
        CHECK(!signals_decide(&signals, begin_ns + 400 * NS_PER_MS, &came, &has));
        if (!late)
            kill(witness.pid, SIGTERM); /* which the list has come to */
        CHECK(signals_decide(&signals, begin_ns + 500 * NS_PER_MS, &came, &has));
        CHECK_INT(has, late ? SIGNAL_HAS_NOT : SIGNAL_HAS);
    }
    kill(busy, SIGKILL);
    REQUIRE(waitpid(busy, NULL, 0) == busy);
    end(&signals);
}

TEST(no_more_than_can_be_held)
{
    struct signals signals = begin(true);
    union sigval value = {.sival_int = 7};
    unsigned sent = 0, decided = 0;
    while (sent < 2 * SIGNALS_HELD && sigqueue(getpid(), SIGRTMIN, value) == 0)
        sent++;
    if (sent < 2 * SIGNALS_HELD)
        SKIP("the limit on pending signals is too low");
    CHECK_INT(take(&signals), SIGNALS_HELD);
    CHECK(signals.held[0].queued && (int)signals.held[0].value == 7);
    CHECK(signals_holds(&signals, SIGRTMIN) && !signals_holds(&signals, SIGTERM));
    while (decided < sent) {
        CHECK_INT(decide(&signals), SIGRTMIN);
        decided++;
        take(&signals);
    }
    signals_drop(&signals);
    CHECK_INT(signals.count, 0);
    end(&signals);
}

TEST(it_goes_with_whoever_made_it)
{
    int told[2];
    REQUIRE(pipe(told) == 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* so that the orphan is ours to wait for */
    pid_t maker = fork();
    if (maker == 0) {
        static const char *const argv[] = {"program", NULL};
        witness_start(&witness, argv);
        (void)!write(told[1], &witness.pid, sizeof witness.pid);
        _exit(0); /* not a word of farewell */
    }
    pid_t orphan = 0;
    REQUIRE(read(told[0], &orphan, sizeof orphan) == (ssize_t)sizeof orphan && orphan > 0);
    REQUIRE(waitpid(maker, NULL, 0) == maker);
    for (int left = 60000; left > 0 && waitpid(orphan, NULL, WNOHANG) == 0; left--)
        poll(NULL, 0, 1);
    bool gone = kill(orphan, 0) != 0;
    if (!gone)
        kill(orphan, SIGKILL);
    CHECK(gone);
    close(told[0]);
    close(told[1]);
}

TEST_MAIN(TEST_CASE(one_that_came_to_us_alone), TEST_CASE(one_that_came_to_the_group),
          TEST_CASE(the_group_answers_what_came_before_it),
          TEST_CASE(without_a_witness_nothing_waits), TEST_CASE(a_witness_that_was_stopped),
          TEST_CASE(a_witness_that_does_not_answer), TEST_CASE(a_witness_that_was_killed),
          TEST_CASE(before_there_is_a_program_it_has_nothing),
          TEST_CASE(what_came_before_the_program_it_does_not_have),
          TEST_CASE(a_list_that_takes_long), TEST_CASE(no_more_than_can_be_held),
          TEST_CASE(it_goes_with_whoever_made_it))
