/*
 * db_bus.c - the index of a log is mapped memory. If somebody cuts the file short, touching that
 * memory is a SIGBUS, and the recorder would die of it. The handler gives the file its length back,
 * in zeros, and the instruction is done again; db_files.h has what happens then.
 *
 * A thread that has SIGBUS blocked dies all the same.
 */
#include "db_files.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "held.h"

#define GUARDS 8
#define GROWTH (1 << 20)
#define MOST (64 << 20) /* the index of a log of 32 GiB */

/* A slot is free while `used` is false; the others are written before `on` is set. */
struct guard {
    atomic_bool used, on, cut;
    _Atomic int held;
    _Atomic int64_t bytes;
    char name[40]; /* in /proc: a path, for a descriptor that could cut would drop locks */
};

static struct guard guards[GUARDS];
static struct sigaction before;

/* Signal-safe. True: it was too short; or `grow`, and it may have been longer than we knew. */
static bool mend(struct guard *guard, bool grow)
{
    int64_t now = held_bytes(atomic_load(&guard->held));
    int64_t want = grow ? now + GROWTH : atomic_load(&guard->bytes);
    if (now < 0 || now >= want || want > MOST || truncate(guard->name, want) != 0)
        return false;
    atomic_store(&guard->bytes, want);
    atomic_store(&guard->cut, true);
    return true;
}

static void handle(int number, siginfo_t *info, void *context)
{
    (void)context;
    bool mended = false;
    for (int i = 0; i < 2 * GUARDS && (i < GUARDS || !mended); i++)
        if (atomic_load(&guards[i % GUARDS].on))
            mended |= mend(&guards[i % GUARDS], i >= GUARDS);
    if (mended)
        return;
    sigaction(number, &before, NULL); /* somebody else's: it comes again */
    if (info->si_code <= 0)           /* unless it was sent */
        raise(number);
}

static void install(void)
{
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &before);
}

int db_guard_index(int held)
{
    static pthread_once_t installed = PTHREAD_ONCE_INIT;
    for (int i = 0; i < GUARDS; i++) {
        bool was = false;
        if (!atomic_compare_exchange_strong(&guards[i].used, &was, true))
            continue;
        snprintf(guards[i].name, sizeof guards[i].name, "/proc/self/fd/%d", held);
        atomic_store(&guards[i].held, held);
        atomic_store(&guards[i].bytes, held_bytes(held));
        atomic_store(&guards[i].cut, false);
        pthread_once(&installed, install);
        atomic_store(&guards[i].on, true);
        return i;
    }
    return -1;
}

void db_guard_let_go(int guard)
{
    if (guard < 0)
        return;
    atomic_store(&guards[guard].on, false);
    atomic_store(&guards[guard].used, false);
}

void db_guard_length(int guard, int64_t bytes)
{
    if (guard >= 0 && bytes > atomic_load(&guards[guard].bytes))
        atomic_store(&guards[guard].bytes, bytes);
}

bool db_guard_was_cut(int guard)
{
    return guard >= 0 && atomic_exchange(&guards[guard].cut, false);
}
