/* meeting.c - see meeting.h: who takes part, and who does not come. What they bring: exchange.c. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "alive.h"
#include "mem.h"
#include "meeting_types.h"

#define NAP_NS_MOST 1000000
/* A rank that has not come, while no other comes either: as long as PyTorch waits. */
#ifndef MEETING_COMES_MS
#define MEETING_COMES_MS 600000
#endif

struct meetings meetings = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- waiting ---- */

void nap(unsigned naps)
{
    long ns = naps < 16 ? 50000 : NAP_NS_MOST;
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static bool is_gone(const struct shared *shared, int rank)
{
    int32_t pid = atomic_load(&shared->pid[rank]);
    return pid > 0 && !is_alive(pid, atomic_load(&shared->since[rank]));
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* It may have ended before anybody knew its process. */
static bool stays_away(struct meeting *meeting, int rank)
{
    if (atomic_load(&meeting->shared->pid[rank]) != 0)
        return false;
    int joined = atomic_load(&meeting->shared->joined);
    uint64_t now = now_ms();
    if (joined != meeting->joined)
        meeting->since_ms = now;
    meeting->joined = joined;
    return now - meeting->since_ms >= MEETING_COMES_MS;
}

bool meeting_misses(struct meeting *meeting, int rank)
{
    bool away = stays_away(meeting, rank);
    if (!away && !is_gone(meeting->shared, rank))
        return false;
    if (!meeting->has_said && away)
        fprintf(stderr,
                "tidemark: rank %d of %d has not come, and rank %d waited for it for %d s: it goes "
                "on without; what comes from there is not known\n",
                rank, meeting->size, meeting->rank, MEETING_COMES_MS / 1000);
    else if (!meeting->has_said)
        fprintf(stderr,
                "tidemark: rank %d of %d has ended (process %d), and rank %d waits for it: it goes "
                "on without; what comes from there is not known\n",
                rank, meeting->size, (int)atomic_load(&meeting->shared->pid[rank]), meeting->rank);
    meeting->has_said = true;
    return true;
}

struct channel *meeting_channel(const struct meeting *meeting, int from, int to)
{
    int at = to < 0 ? from : meeting->size * (1 + from) + to;
    return &meeting->shared->channels[at];
}

/* ---- making and joining ---- */

static size_t bytes_of(int size)
{
    size_t ranks = (size_t)size;
    return sizeof(struct shared) + ranks * (1 + ranks) * sizeof(struct channel);
}

/* Grows it to what so many ranks need; it never shrinks. */
static bool grow(int descriptor, size_t bytes)
{
    struct stat now;
    struct rlimit limit;
    if (fstat(descriptor, &now) != 0)
        return false;
    if ((size_t)now.st_size >= bytes)
        return true;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes)
        return false; /* a signal would end the program */
    return ftruncate(descriptor, (off_t)bytes) == 0;
}

static struct shared *map(int descriptor, int size)
{
    void *got = MAP_FAILED;
    if (grow(descriptor, bytes_of(size)))
        got = mmap(NULL, bytes_of(size), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                   descriptor, 0);
    return got == MAP_FAILED ? NULL : got;
}

struct meeting_place meeting_make(void)
{
    struct meeting_place place = {.pid = (int32_t)getpid()};
    struct shared *shared = NULL;
    place.descriptor = memfd_create("tidemark meeting", MFD_CLOEXEC);
    if (place.descriptor >= 0)
        shared = map(place.descriptor, 0);
    if (!shared || getrandom(&place.key, sizeof place.key, 0) != sizeof place.key || !place.key) {
        if (place.descriptor >= 0)
            close(place.descriptor);
        place.key = 0;
    } else {
        atomic_store(&shared->key, place.key);
    }
    if (shared)
        munmap(shared, bytes_of(0));
    return place;
}

/* The maker's own descriptor is not needed once all have come; another's is opened by /proc. */
static struct shared *find(const struct meeting_place *place, int size)
{
    char path[64];
    bool own = place->pid == (int32_t)getpid();
    snprintf(path, sizeof path, "/proc/%d/fd/%d", place->pid, place->descriptor);
    int descriptor = own ? place->descriptor : open(path, O_RDWR | O_CLOEXEC);
    struct shared *shared = descriptor >= 0 ? map(descriptor, size) : NULL;
    if (shared && atomic_load(&shared->key) != place->key) {
        munmap(shared, bytes_of(size));
        shared = NULL;
    }
    if (descriptor >= 0 && !own)
        close(descriptor);
    return shared;
}

static struct meeting *free_place(void)
{
    uint32_t count = atomic_load(&meetings.count);
    for (uint32_t i = 0; i < count; i++)
        if (!meetings.list[i].shared)
            return &meetings.list[i];
    if (count == MEETINGS_MAX)
        return NULL;
    atomic_store(&meetings.count, count + 1);
    return &meetings.list[count];
}

static uint32_t list(struct shared *shared, int size, int rank)
{
    struct window *windows = mem_alloc((size_t)size + 1, sizeof *windows);
    uint32_t number = 0;
    pthread_mutex_lock(&meetings.lock);
    struct meeting *meeting = windows ? free_place() : NULL;
    if (meeting) {
        uint32_t uses = meeting->uses + 1;
        *meeting = (struct meeting){
            .shared = shared, .uses = uses, .size = size, .rank = rank, .windows = windows};
        number = (uint32_t)(meeting - meetings.list) + uses * MEETINGS_MAX;
    }
    pthread_mutex_unlock(&meetings.lock);
    if (!number)
        mem_free(windows);
    return number;
}

struct meeting *meeting_get(uint32_t number)
{
    struct meeting *meeting = number ? &meetings.list[number % MEETINGS_MAX] : NULL;
    bool is_it = meeting && meeting->shared && meeting->uses == number / MEETINGS_MAX;
    return is_it ? meeting : NULL;
}

/* `came`: of each rank, not 0 once it has. */
static void wait_until_all(const _Atomic int32_t *came, struct meeting *meeting)
{
    for (unsigned naps = 0, next = 0;; naps++) {
        bool look = is_look(naps);
        while ((int)next < meeting->size &&
               (atomic_load(&came[next]) || (look && meeting_misses(meeting, (int)next))))
            next++;
        if ((int)next == meeting->size)
            return;
        nap(naps);
    }
}

uint32_t meeting_join(const struct meeting_place *place, int size, int rank, bool waits)
{
    if (!place->key || size < 2 || size > MEETING_RANKS_MAX || rank < 0 || rank >= size)
        return 0;
    struct shared *shared = find(place, size);
    uint32_t number = shared ? list(shared, size, rank) : 0;
    if (number) {
        atomic_store(&shared->since[rank], alive_since((int32_t)getpid()));
        atomic_store(&shared->pid[rank], (int32_t)getpid());
        atomic_fetch_add(&shared->joined, 1);
        if (waits)
            wait_until_all(shared->pid, meeting_get(number));
    } else if (shared) {
        munmap(shared, bytes_of(size));
    }
    if (waits)
        meeting_close(place);
    return number;
}

void meeting_close(const struct meeting_place *place)
{
    if (place->key && place->pid == (int32_t)getpid())
        close(place->descriptor);
}

/* Nobody waits for what this rank has not taken any more. */
static void take_all(struct meeting *meeting)
{
    struct shared *shared = meeting->shared;
    size_t size = (size_t)meeting->size, self = (size_t)meeting->rank;
    for (size_t i = 0; i < size; i++) {
        channel_take(&shared->channels[i], meeting->rank, UINT64_MAX);
        channel_take(&shared->channels[size + i * size + self], 0, UINT64_MAX);
    }
}

/* All who look at the memory do so under the lock, but for those who join or split: a program that
 * leaves meanwhile is wrong. */
void meeting_leave(uint32_t number)
{
    pthread_mutex_lock(&meetings.lock);
    struct meeting *meeting = meeting_get(number);
    if (meeting) {
        take_all(meeting);
        atomic_store(&meeting->shared->number[meeting->rank], UINT64_MAX);
        munmap(meeting->shared, bytes_of(meeting->size));
        for (int i = 0; i <= meeting->size; i++)
            window_free(&meeting->windows[i]);
        mem_free(meeting->windows);
        meeting->windows = NULL;
        meeting->shared = NULL;
    }
    pthread_mutex_unlock(&meetings.lock);
}

/* ---- splitting ---- */

static bool comes_before(const struct split *split, int a, int b)
{
    return split->key[a] < split->key[b] || (split->key[a] == split->key[b] && a < b);
}

/* The place of the group's own meeting, which its first rank makes. */
static struct meeting_place place_of_group(struct split *split, struct meeting *meeting, int first)
{
    struct meeting_place place = {.key = 0};
    if (first == meeting->rank) {
        place = meeting_make();
        split->place[first].pid = place.pid;
        split->place[first].descriptor = place.descriptor;
        atomic_store(&split->place[first].key, place.key ? place.key : UINT64_MAX);
        return place;
    }
    for (unsigned naps = 0; !(place.key = atomic_load(&split->place[first].key)); naps++) {
        nap(naps);
        if (is_look(naps) && meeting_misses(meeting, first))
            return place;
    }
    place.pid = split->place[first].pid;
    place.descriptor = split->place[first].descriptor;
    return place;
}

/* Waits for the others, and decides with them who takes part. False: without this rank. */
static bool gather(struct split *split, struct meeting *meeting)
{
    int32_t was = NOT_HERE;
    if (!atomic_compare_exchange_strong(&split->here[meeting->rank], &was, HERE))
        return false;
    wait_until_all(split->here, meeting);
    for (int i = 0; i < meeting->size; i++) {
        was = NOT_HERE;
        (void)atomic_compare_exchange_strong(&split->here[i], &was, LEFT_OUT);
    }
    return true;
}

bool meeting_split(uint32_t number, int color, int key, uint32_t *made, int *size, int *rank)
{
    struct meeting *meeting = meeting_get(number);
    if (!meeting || meeting->splits == SPLITS_MAX)
        return false;
    struct split *split = &meeting->shared->splits[meeting->splits++];
    int self = meeting->rank, first = self;
    split->color[self] = color;
    split->key[self] = key;
    if (!gather(split, meeting))
        return false;
    *made = 0;
    *size = *rank = 0;
    for (int i = 0; i < meeting->size; i++) {
        if (atomic_load(&split->here[i]) != HERE || split->color[i] != color)
            continue;
        *size += 1;
        *rank += comes_before(split, i, self);
        if (comes_before(split, i, first))
            first = i;
    }
    if (color >= 0 && *size > 1) {
        struct meeting_place place = place_of_group(split, meeting, first);
        *made = meeting_join(&place, *size, *rank, true);
    }
    return true;
}
