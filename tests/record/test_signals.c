/* What is held, for how long, and what the witness makes of it. Each case is a process group of its
 * own: the runner's is not ours to send to. */
#include "signals.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
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
    int hold[2];
    char byte;
    REQUIRE(pipe(hold) == 0);
    if (fork() == 0) {
        static const char *const argv[] = {"program", NULL};
        witness_start(&witness, argv);
        _exit(0); /* not a word of farewell */
    }
    close(hold[1]);
    CHECK_INT(read(hold[0], &byte, 1), 0); /* nobody holds the other end */
    close(hold[0]);
}

TEST_MAIN(TEST_CASE(one_that_came_to_us_alone), TEST_CASE(one_that_came_to_the_group),
          TEST_CASE(the_group_answers_what_came_before_it),
          TEST_CASE(without_a_witness_nothing_waits), TEST_CASE(a_witness_that_was_stopped),
          TEST_CASE(a_witness_that_does_not_answer),
          TEST_CASE(a_witness_that_was_killed), TEST_CASE(before_there_is_a_program_it_has_nothing),
          TEST_CASE(no_more_than_can_be_held), TEST_CASE(it_goes_with_whoever_made_it))
