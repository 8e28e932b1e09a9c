/*
 * db_bus.c - the index of a log is mapped memory. If somebody cuts the file short, touching that
 * memory is a SIGBUS, and the recorder would die of it. The handler gives the file its length back,
 * in zeros, and the instruction is done again; db_files.h has what happens then.
 *
 * Another file's memory is none of ours: nothing is mended for an address that is not in a mapping
 * of a guarded index, as /proc/self/maps has it, by name (the same text as the descriptor's) or
 * number.
 *
 * A thread that has SIGBUS blocked dies all the same.
 */
#include "db_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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

/* ---- whose memory it is; all of it signal-safe ---- */

#define LINE_BYTES (PATH_MAX + 128)

/* A number, and the character behind it is passed. */
static uint64_t read_number(const char **at, unsigned base)
{
    uint64_t value = 0;
    for (;; (*at)++) {
        unsigned digit = **at >= 'a' ? (unsigned)(**at - 'a') + 10 : (unsigned)(**at - '0');
        if (digit >= base)
            break;
        value = value * base + digit;
    }
    *at += **at != '\0';
    return value;
}

static void pass_word(const char **at)
{
    *at += strcspn(*at, " ");
    *at += strspn(*at, " ");
}

/* "from-to rights offset device number   name": is the address in it? Then what is behind. */
static bool is_in_line(const char *line, uint64_t address, uint64_t *number, const char **name)
{
    uint64_t from = read_number(&line, 16), to = read_number(&line, 16);
    if (address < from || address >= to)
        return false;
    for (int i = 0; i < 3; i++)
        pass_word(&line);
    *number = read_number(&line, 10);
    *name = line + strspn(line, " ");
    return true;
}

static bool is_of(const struct guard *guard, uint64_t number, const char *name)
{
    char own[PATH_MAX];
    struct stat about;
    ssize_t bytes = readlink(guard->name, own, sizeof own);
    if (bytes > 0 && strlen(name) == (size_t)bytes && memcmp(own, name, (size_t)bytes) == 0)
        return true;
    return number != 0 && fstat(atomic_load(&guard->held), &about) == 0 && about.st_ino == number;
}

static bool is_guarded(const char *line, uint64_t address, bool *found)
{
    uint64_t number;
    const char *name;
    *found = is_in_line(line, address, &number, &name);
    for (int i = 0; i < GUARDS && *found; i++)
        if (atomic_load(&guards[i].on) && is_of(&guards[i], number, name))
            return true;
    return false;
}

/* Where the list cannot be read, it may be ours. */
static bool is_ours(uint64_t address)
{
    char text[LINE_BYTES];
    size_t used = 0;
    ssize_t got;
    bool found = false, ours = false;
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (maps < 0)
        return true;
    while (!found && (got = read(maps, text + used, sizeof text - 1 - used)) > 0) {
        char *begin = text, *end;
        used += (size_t)got;
        text[used] = '\0';
        for (; !found && (end = strchr(begin, '\n')) != NULL; begin = end + 1) {
            *end = '\0';
            ours = is_guarded(begin, address, &found);
        }
        used -= (size_t)(begin - text);
        memmove(text, begin, used);
    }
    close(maps);
    return ours;
}

static bool mend_any(void)
{
    bool mended = false;
    for (int i = 0; i < 2 * GUARDS && (i < GUARDS || !mended); i++)
        if (atomic_load(&guards[i % GUARDS].on))
            mended |= mend(&guards[i % GUARDS], i >= GUARDS);
    return mended;
}

static void handle(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    bool sent = info->si_code <= 0;
    (void)context;
    if (sent || !is_ours((uint64_t)(uintptr_t)info->si_addr) || !mend_any()) {
        sigaction(number, &before, NULL); /* somebody else's: it comes again */
        if (sent)                         /* unless it was sent */
            raise(number);
    }
    errno = saved;
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
