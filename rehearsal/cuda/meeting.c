/* meeting.c - see meeting.h. */
#include "meeting.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define MEETINGS_MAX 256
#define SPLITS_MAX 256
#define NAP_NS_MOST 1000000
#define NAPS_UNTIL_LOOK 100 /* at who is still there */

struct split {
    atomic_int arrived;
    int32_t color[MEETING_RANKS_MAX], key[MEETING_RANKS_MAX];
    /* Of the first rank of each color, in that rank's place; the key is written last. */
    struct {
        int32_t pid, descriptor;
        _Atomic uint64_t key;
    } place[MEETING_RANKS_MAX];
};

/* What ranks share. It begins as zeroes, and takes only the pages that are touched. */
struct shared {
    _Atomic uint64_t key;
    atomic_int joined;
    _Atomic int32_t pid[MEETING_RANKS_MAX];
    _Atomic uint64_t number[MEETING_RANKS_MAX];
    struct split splits[SPLITS_MAX];
};

/* One that this process joined; never taken out, for streams and events may still name it. */
struct meeting {
    struct shared *shared; /* NULL: left */
    int size, rank, splits;
};

static struct {
    pthread_mutex_t lock; /* of the list and of all works */
    struct meeting list[MEETINGS_MAX];
    atomic_uint count;
    atomic_bool works;
} meetings = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- waiting ---- */

static void nap(unsigned naps)
{
    long ns = naps < 16 ? 50000 : NAP_NS_MOST;
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static bool is_gone(const struct shared *shared, int rank)
{
    int32_t pid = atomic_load(&shared->pid[rank]);
    return pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
}

/* ---- making and joining ---- */

static struct shared *map(int descriptor)
{
    void *got =
        mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return got == MAP_FAILED ? NULL : got;
}

struct meeting_place meeting_make(void)
{
    struct meeting_place place = {.pid = (int32_t)getpid()};
    struct shared *shared = NULL;
    place.descriptor = memfd_create("tidemark meeting", MFD_CLOEXEC);
    if (place.descriptor >= 0 && ftruncate(place.descriptor, sizeof *shared) == 0)
        shared = map(place.descriptor);
    if (!shared || getrandom(&place.key, sizeof place.key, 0) != sizeof place.key || !place.key) {
        if (place.descriptor >= 0)
            close(place.descriptor);
        place.key = 0;
    } else {
        atomic_store(&shared->key, place.key);
    }
    if (shared)
        munmap(shared, sizeof *shared);
    return place;
}

/* The maker's own descriptor is not needed once all have come; another's is opened by /proc. */
static struct shared *find(const struct meeting_place *place)
{
    char path[64];
    bool own = place->pid == (int32_t)getpid();
    snprintf(path, sizeof path, "/proc/%d/fd/%d", place->pid, place->descriptor);
    int descriptor = own ? place->descriptor : open(path, O_RDWR | O_CLOEXEC);
    struct shared *shared = descriptor >= 0 ? map(descriptor) : NULL;
    if (shared && atomic_load(&shared->key) != place->key) {
        munmap(shared, sizeof *shared);
        shared = NULL;
    }
    if (descriptor >= 0 && !own)
        close(descriptor);
    return shared;
}

static uint32_t list(struct shared *shared, int size, int rank)
{
    pthread_mutex_lock(&meetings.lock);
    uint32_t at = atomic_load(&meetings.count);
    if (at < MEETINGS_MAX) {
        meetings.list[at] = (struct meeting){.shared = shared, .size = size, .rank = rank};
        atomic_store(&meetings.count, ++at);
    } else {
        at = 0;
    }
    pthread_mutex_unlock(&meetings.lock);
    return at;
}

static void wait_until_all(atomic_int *number, const struct meeting *meeting)
{
    for (unsigned naps = 0; atomic_load(number) < meeting->size; naps++) {
        nap(naps);
        for (int i = 0; naps % NAPS_UNTIL_LOOK == NAPS_UNTIL_LOOK - 1 && i < meeting->size; i++)
            if (is_gone(meeting->shared, i))
                return;
    }
}

uint32_t meeting_join(const struct meeting_place *place, int size, int rank, bool waits)
{
    if (!place->key || size < 2 || size > MEETING_RANKS_MAX || rank < 0 || rank >= size)
        return 0;
    struct shared *shared = find(place);
    uint32_t number = shared ? list(shared, size, rank) : 0;
    if (number) {
        atomic_store(&shared->pid[rank], (int32_t)getpid());
        atomic_fetch_add(&shared->joined, 1);
        if (waits)
            wait_until_all(&shared->joined, &meetings.list[number - 1]);
    } else if (shared) {
        munmap(shared, sizeof *shared);
    }
    if (place->pid == (int32_t)getpid() && waits)
        close(place->descriptor);
    return number;
}

static struct meeting *get(uint32_t number)
{
    struct meeting *meeting = number ? &meetings.list[number - 1] : NULL;
    return meeting && meeting->shared ? meeting : NULL;
}

/* The memory stays mapped: another thread may be looking at it. */
void meeting_leave(uint32_t number)
{
    pthread_mutex_lock(&meetings.lock);
    struct meeting *meeting = get(number);
    if (meeting) {
        atomic_store(&meeting->shared->number[meeting->rank], UINT64_MAX);
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
static struct meeting_place place_of_group(struct split *split, const struct meeting *meeting,
                                           int first)
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
        if (naps % NAPS_UNTIL_LOOK == NAPS_UNTIL_LOOK - 1 && is_gone(meeting->shared, first))
            return place;
    }
    place.pid = split->place[first].pid;
    place.descriptor = split->place[first].descriptor;
    return place;
}

bool meeting_split(uint32_t number, int color, int key, uint32_t *made, int *size, int *rank)
{
    struct meeting *meeting = get(number);
    if (!meeting || meeting->splits == SPLITS_MAX)
        return false;
    struct split *split = &meeting->shared->splits[meeting->splits++];
    int self = meeting->rank, first = self;
    split->color[self] = color;
    split->key[self] = key;
    atomic_fetch_add(&split->arrived, 1);
    wait_until_all(&split->arrived, meeting);
    *made = 0;
    *size = *rank = 0;
    for (int i = 0; i < meeting->size; i++) {
        if (split->color[i] != color)
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

/* ---- works ---- */

static bool is_done(uint32_t number, uint64_t work, bool look)
{
    const struct meeting *meeting = get(number);
    for (int i = 0; meeting && i < meeting->size; i++)
        if (atomic_load(&meeting->shared->number[i]) < work &&
            !(look && is_gone(meeting->shared, i)))
            return false;
    return true;
}

static void add(struct works *works, uint32_t meeting, uint64_t number)
{
    int free_place = -1;
    for (int i = 0; i < WORKS_MAX; i++) {
        if (works->list[i].meeting == meeting) {
            if (works->list[i].number < number)
                works->list[i].number = number;
            return;
        }
        if (works->list[i].meeting && is_done(works->list[i].meeting, works->list[i].number, false))
            works->list[i].meeting = 0;
        if (!works->list[i].meeting)
            free_place = i;
    }
    if (free_place < 0)
        return; /* more meetings at once than anybody has: nobody waits for this one */
    works->list[free_place].meeting = meeting;
    works->list[free_place].number = number;
}

void meeting_put(uint32_t number, struct works *works)
{
    pthread_mutex_lock(&meetings.lock);
    struct meeting *meeting = get(number);
    if (meeting) {
        uint64_t work = atomic_fetch_add(&meeting->shared->number[meeting->rank], 1) + 1;
        add(works, number, work);
        atomic_store(&meetings.works, true);
    }
    pthread_mutex_unlock(&meetings.lock);
}

bool works_exist(void)
{
    return atomic_load_explicit(&meetings.works, memory_order_relaxed);
}

void works_add(struct works *works, const struct works *more)
{
    pthread_mutex_lock(&meetings.lock);
    for (int i = 0; i < WORKS_MAX; i++)
        if (more->list[i].meeting)
            add(works, more->list[i].meeting, more->list[i].number);
    pthread_mutex_unlock(&meetings.lock);
}

void works_copy(struct works *works, const struct works *from)
{
    pthread_mutex_lock(&meetings.lock);
    *works = *from;
    pthread_mutex_unlock(&meetings.lock);
}

static bool are_done(struct works *works, bool look)
{
    bool done = true;
    pthread_mutex_lock(&meetings.lock);
    for (int i = 0; i < WORKS_MAX; i++) {
        if (works->list[i].meeting && is_done(works->list[i].meeting, works->list[i].number, look))
            works->list[i].meeting = 0;
        done = done && !works->list[i].meeting;
    }
    pthread_mutex_unlock(&meetings.lock);
    return done;
}

bool works_are_done(struct works *works)
{
    return are_done(works, true);
}

void works_wait(struct works *works)
{
    struct works left;
    works_copy(&left, works); /* what comes later is not waited for */
    for (unsigned naps = 0; !are_done(&left, naps % NAPS_UNTIL_LOOK == NAPS_UNTIL_LOOK - 1); naps++)
        nap(naps);
}

void meeting_wait_all(void)
{
    unsigned count = atomic_load(&meetings.count);
    for (uint32_t number = 1; number <= count; number++) {
        pthread_mutex_lock(&meetings.lock);
        const struct meeting *meeting = get(number);
        uint64_t work = meeting ? atomic_load(&meeting->shared->number[meeting->rank]) : 0;
        pthread_mutex_unlock(&meetings.lock);
        struct works own = {.list = {{number, work}}};
        works_wait(&own);
    }
}
