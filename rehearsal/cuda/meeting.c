/* meeting.c - see meeting.h. */
#include "meeting.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
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
#include "pending.h"

#define MEETINGS_MAX 256
#define SPLITS_MAX 256
#define NAP_NS_MOST 1000000
#define NAPS_UNTIL_LOOK 100 /* at who is still there */
#ifndef NAPS_FOR_ROOM
#define NAPS_FOR_ROOM 10000
#endif
/* A rank that has not come, while no other comes either: as long as PyTorch waits. */
#ifndef MEETING_COMES_MS
#define MEETING_COMES_MS 600000
#endif

/* Whether a rank takes part in a split. Once it is not 0 it does not change: all agree. */
enum { NOT_HERE, HERE, LEFT_OUT };

struct split {
    _Atomic int32_t here[MEETING_RANKS_MAX];
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
    _Atomic uint64_t since[MEETING_RANKS_MAX]; /* when its process began */
    _Atomic uint64_t number[MEETING_RANKS_MAX];
    struct split splits[SPLITS_MAX];
    /* One of each rank for all; then, rank by rank, one for each rank that it may send to. */
    struct channel channels[];
};

/* What this rank has not done with, of the last numbers of a channel: how often each is held. */
struct window {
    uint64_t seen, done; /* the last number that is used, and up to which none is held */
    uint8_t *held;       /* of those between, each at its number modulo `cap`, a power of two */
    size_t cap;
};

/* One that this process joined. Its number has the place in the list and how often that was used:
 * streams and events may still name one that was left. */
struct meeting {
    struct shared *shared; /* NULL: left */
    uint32_t uses;
    int size, rank, splits;
    bool has_said;     /* that somebody is gone */
    int joined;        /* when it was looked last for one who has not come, */
    uint64_t since_ms; /* and since when nobody has */
    /* A wait for room was in vain, and there was none since: of works, of messages to each. */
    bool has_waited[1 + MEETING_RANKS_MAX];
    struct window *windows; /* of the works, then of the messages of each rank */
};

static struct {
    pthread_mutex_t lock; /* of the list and of all works */
    struct meeting list[MEETINGS_MAX];
    atomic_uint count; /* places that were ever used */
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

/* The rank is gone that others wait for, or does not come; they go on without what it would have
 * brought. */
static bool is_missed(struct meeting *meeting, int rank)
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

static struct meeting *get(uint32_t number)
{
    struct meeting *meeting = number ? &meetings.list[number % MEETINGS_MAX] : NULL;
    bool is_it = meeting && meeting->shared && meeting->uses == number / MEETINGS_MAX;
    return is_it ? meeting : NULL;
}

/* `came`: of each rank, not 0 once it has. */
static void wait_until_all(const _Atomic int32_t *came, struct meeting *meeting)
{
    for (unsigned naps = 0, next = 0;; naps++) {
        bool look = naps % NAPS_UNTIL_LOOK == NAPS_UNTIL_LOOK - 1;
        while ((int)next < meeting->size &&
               (atomic_load(&came[next]) || (look && is_missed(meeting, (int)next))))
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
            wait_until_all(shared->pid, get(number));
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
    struct meeting *meeting = get(number);
    if (meeting) {
        take_all(meeting);
        atomic_store(&meeting->shared->number[meeting->rank], UINT64_MAX);
        munmap(meeting->shared, bytes_of(meeting->size));
        for (int i = 0; i <= meeting->size; i++)
            mem_free(meeting->windows[i].held);
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
        if (naps % NAPS_UNTIL_LOOK == NAPS_UNTIL_LOOK - 1 && is_missed(meeting, first))
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
    struct meeting *meeting = get(number);
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

/* ---- works ---- */

static struct channel *channel_of(const struct meeting *meeting, int from, int to)
{
    int at = to < 0 ? from : meeting->size * (1 + from) + to;
    return &meeting->shared->channels[at];
}

static bool is_sent(struct meeting *meeting, int from, uint64_t message, bool look)
{
    const struct channel *channel = channel_of(meeting, from, meeting->rank);
    return atomic_load(&channel->posted) >= message ||
           atomic_load(&meeting->shared->number[from]) == UINT64_MAX ||
           (look && is_missed(meeting, from));
}

/* Without `look` nobody is asked whether a process is there. */
static bool is_done(uint32_t number, uint32_t from, uint64_t work, bool look)
{
    struct meeting *meeting = get(number);
    if (meeting && from)
        return is_sent(meeting, (int)from - 1, work, look);
    for (int i = 0; meeting && i < meeting->size; i++)
        if (atomic_load(&meeting->shared->number[i]) < work && !(look && is_missed(meeting, i)) &&
            atomic_load(&meeting->shared->number[i]) < work)
            return false;
    return true;
}

static void add(struct works *works, uint32_t meeting, uint32_t from, uint64_t number)
{
    int free_place = -1;
    for (int i = 0; i < WORKS_MAX; i++) {
        if (works->list[i].meeting == meeting && works->list[i].from == from) {
            if (works->list[i].number < number)
                works->list[i].number = number;
            return;
        }
        if (works->list[i].meeting &&
            is_done(works->list[i].meeting, works->list[i].from, works->list[i].number, false))
            works->list[i].meeting = 0;
        if (!works->list[i].meeting)
            free_place = i;
    }
    if (free_place < 0)
        return; /* more meetings at once than anybody has: nobody waits for this one */
    works->list[free_place].meeting = meeting;
    works->list[free_place].from = from;
    works->list[free_place].number = number;
}

/* ---- what is brought ---- */

static uint8_t *held_at(const struct window *window, uint64_t number)
{
    return &window->held[number & (window->cap - 1)];
}

/* A place for the number, which is the next or later. */
static bool make_place(struct window *window, uint64_t number)
{
    struct window grown = {.cap = window->cap};
    if (number - window->done <= window->cap)
        return true;
    while (number - window->done > grown.cap)
        grown.cap = grown.cap ? 2 * grown.cap : 64;
    grown.held = mem_alloc(grown.cap, 1);
    if (!grown.held)
        return false;
    for (uint64_t i = window->done + 1; i <= window->seen; i++)
        *held_at(&grown, i) = *held_at(window, i);
    mem_free(window->held);
    window->held = grown.held;
    window->cap = grown.cap;
    return true;
}

/* Tells the writers what this rank is done with. `from` -1: all of them. */
static void advance(struct meeting *meeting, struct window *window, int from)
{
    while (window->done < window->seen && !*held_at(window, window->done + 1))
        window->done++;
    if (from >= 0)
        channel_take(channel_of(meeting, from, meeting->rank), 0, window->done);
    for (int i = 0; from < 0 && i < meeting->size; i++)
        channel_take(channel_of(meeting, i, -1), meeting->rank, window->done);
}

static void see(struct meeting *meeting, struct window *window, int from, uint64_t number,
                unsigned holds)
{
    if (make_place(window, number))
        *held_at(window, number) = (uint8_t)holds;
    else
        window->done = number; /* without memory nothing is held: it is unknown then */
    window->seen = number;
    advance(meeting, window, from);
}

static void release(uint32_t number, int from, uint64_t work)
{
    pthread_mutex_lock(&meetings.lock);
    struct meeting *meeting = get(number);
    struct window *window = meeting ? &meeting->windows[from + 1] : NULL;
    if (window && work > window->done && work <= window->seen && *held_at(window, work)) {
        --*held_at(window, work);
        advance(meeting, window, from);
    }
    pthread_mutex_unlock(&meetings.lock);
}

void meeting_release(uint32_t number, uint64_t work)
{
    release(number, -1, work);
}

void meeting_release_sent(uint32_t number, uint64_t message, int from)
{
    release(number, from, message);
}

static int readers_of(const struct meeting *meeting, int to)
{
    return to < 0 ? meeting->size : 1;
}

/* Who is gone takes nothing any more. */
static void take_for_missed(struct meeting *meeting, int to)
{
    struct channel *channel = channel_of(meeting, meeting->rank, to);
    for (int i = 0; i < meeting->size; i++)
        if (i != meeting->rank && (to < 0 || to == i) && is_missed(meeting, i))
            channel_take(channel, to < 0 ? i : 0, UINT64_MAX);
}

/* Waits until there is room, for a while: a rank may be ahead by far, as on a GPU, where the host
 * waits, too; but who does not take what is brought may need this rank for something else. After
 * one wait in vain there is none until there was room for any piece. Under the lock afterwards;
 * NULL: there is no meeting, or no such rank. */
static struct meeting *lock_with_room(uint32_t number, int to, size_t count)
{
    for (unsigned naps = 0;; naps++) {
        pthread_mutex_lock(&meetings.lock);
        struct meeting *meeting = get(number);
        if (!meeting || to >= meeting->size)
            return NULL;
        struct channel *channel = channel_of(meeting, meeting->rank, to);
        int readers = readers_of(meeting, to);
        bool *has_waited = &meeting->has_waited[to + 1];
        if (channel_has_room(channel, readers, CHANNEL_BYTES))
            *has_waited = false;
        if (channel_has_room(channel, readers, count) || *has_waited)
            return meeting;
        if (naps == NAPS_FOR_ROOM) {
            *has_waited = true;
            return meeting;
        }
        if (naps % NAPS_UNTIL_LOOK == NAPS_UNTIL_LOOK - 1)
            take_for_missed(meeting, to);
        pthread_mutex_unlock(&meetings.lock);
        nap(naps);
        pending_look(); /* the others wait for this rank to take what they brought */
    }
}

/* What finds no room is brought as unknown. */
static uint64_t post(struct meeting *meeting, int to, const void *bytes, size_t count)
{
    struct channel *channel = channel_of(meeting, meeting->rank, to);
    return channel_post(channel, readers_of(meeting, to), bytes, count);
}

uint64_t meeting_put(uint32_t number, const void *bytes, size_t count, unsigned holds,
                     struct works *works)
{
    uint64_t work = 0;
    struct meeting *meeting = lock_with_room(number, -1, bytes ? count : 0);
    if (meeting) {
        work = post(meeting, -1, bytes, count);
        atomic_store(&meeting->shared->number[meeting->rank], work);
        see(meeting, &meeting->windows[0], -1, work, holds);
        add(works, number, 0, work);
        atomic_store(&meetings.works, true);
    }
    pthread_mutex_unlock(&meetings.lock);
    return work;
}

void meeting_send(uint32_t number, int to, const void *bytes, size_t count)
{
    if (to < 0)
        return;
    struct meeting *meeting = lock_with_room(number, to, bytes ? count : 0);
    if (meeting)
        (void)post(meeting, to, bytes, count);
    pthread_mutex_unlock(&meetings.lock);
}

uint64_t meeting_receive(uint32_t number, int from, unsigned holds, struct works *works)
{
    uint64_t message = 0;
    pthread_mutex_lock(&meetings.lock);
    struct meeting *meeting = get(number);
    if (meeting && from >= 0 && from < meeting->size) {
        struct window *window = &meeting->windows[from + 1];
        message = window->seen + 1;
        see(meeting, window, from, message, holds);
        add(works, number, (uint32_t)from + 1, message);
        atomic_store(&meetings.works, true);
    }
    pthread_mutex_unlock(&meetings.lock);
    return message;
}

static enum channel_state read_channel(uint32_t number, int from, bool sent, uint64_t which,
                                       void *bytes, size_t count)
{
    enum channel_state state = CHANNEL_UNKNOWN;
    pthread_mutex_lock(&meetings.lock);
    struct meeting *meeting = get(number);
    if (meeting && from >= 0 && from < meeting->size) {
        const struct channel *channel = channel_of(meeting, from, sent ? meeting->rank : -1);
        /* Who leaves or ends may have brought it before. */
        bool over = atomic_load(&meeting->shared->number[from]) == UINT64_MAX;
        state = channel_read(channel, which, bytes, count);
        if (state == CHANNEL_NOT_YET && !over && is_missed(meeting, from)) {
            over = true;
            state = channel_read(channel, which, bytes, count);
        }
        if (state == CHANNEL_NOT_YET && over)
            state = CHANNEL_UNKNOWN;
    }
    pthread_mutex_unlock(&meetings.lock);
    return state;
}

enum channel_state meeting_read(uint32_t number, uint64_t work, int rank, void *bytes, size_t count)
{
    return read_channel(number, rank, false, work, bytes, count);
}

enum channel_state meeting_read_sent(uint32_t number, uint64_t message, int from, void *bytes,
                                     size_t count)
{
    return read_channel(number, from, true, message, bytes, count);
}

/* ---- waiting for works ---- */

bool works_exist(void)
{
    return atomic_load_explicit(&meetings.works, memory_order_relaxed);
}

void works_add(struct works *works, const struct works *more)
{
    pthread_mutex_lock(&meetings.lock);
    for (int i = 0; i < WORKS_MAX; i++)
        if (more->list[i].meeting)
            add(works, more->list[i].meeting, more->list[i].from, more->list[i].number);
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
        if (works->list[i].meeting &&
            is_done(works->list[i].meeting, works->list[i].from, works->list[i].number, look))
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
    for (uint32_t i = 0; i < count; i++) {
        pthread_mutex_lock(&meetings.lock);
        uint32_t number = i + meetings.list[i].uses * MEETINGS_MAX;
        const struct meeting *meeting = get(number);
        uint64_t work = meeting ? atomic_load(&meeting->shared->number[meeting->rank]) : 0;
        pthread_mutex_unlock(&meetings.lock);
        struct works own = {.list = {{.meeting = number, .number = work}}};
        works_wait(&own);
    }
}
