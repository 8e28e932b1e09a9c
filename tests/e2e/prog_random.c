/*
 * prog_random.c - does random things with memory, tells Tidemark, and keeps its own log.
 *
 *     prog_random FOLDER SEED EVENTS THREADS CHILDREN KILL_AT [IMAGE]
 *
 * Each thread of each process image writes FOLDER/PID.IMAGE.THREAD, a line for each call:
 *
 *     I TID                            first line: the kernel's id of the thread
 *     H HEAP KIND INDEX STREAM POOL NAME                     what the heaps are, no event
 *     A HEAP ADDRESS BYTES REQUESTED SITE | F HEAP ADDRESS   block out, block back
 *     S HEAP ADDRESS BYTES | s HEAP ADDRESS                  segment out, segment back
 *     B NAME | E NAME | T NUMBER | t                         phases and steps
 *     M NAME VALUE | G HEAP ADDRESS BYTES CATEGORY NAME | O HEAP ASKED SITE
 *
 * each followed by the time before and after the call. NAME is "x" and hexadecimal digits, "-" for
 * NULL. A line is written before the call, its end after it, both into a shared mapping of the
 * file: so a killed process leaves all that it had published, and perhaps one unfinished line a
 * thread.
 *
 * Threads have addresses of their own, so what becomes of a block does not depend on how they are
 * interleaved. Events that leave no row (steps, tags, frees of nothing) are sent right behind a
 * mark, while no other thread sends: the number of the mark in the database tells where they were.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tidemark.h"

enum { HEAPS = 6, DEVICES = 5, SLOTS = 48, SEGMENTS = 6, NAMES = 10, SITES = 6, LINE = 256 };
enum { DEEPEST = 7 };
#define SLOT_BYTES (UINT64_C(1) << 42) /* larger than any block: they do not overlap */

static const struct {
    int kind, index;
    uint64_t stream, pool;
    const char *name;
    int device; /* heaps with the same number share their addresses */
} heap_table[HEAPS] = {
    {TIDEMARK_DEVICE_CUDA, 0, 0, 0, "tensors", 0}, {TIDEMARK_DEVICE_CUDA, 0, 7, 0, "side", 0},
    {TIDEMARK_DEVICE_CPU, 0, 0, 0, "host", 1},     {TIDEMARK_DEVICE_CUDA, 1, 0, 3, NULL, 2},
    {TIDEMARK_DEVICE_VIRTUAL, 0, 0, 0, "v", 3},    {TIDEMARK_DEVICE_OTHER, -1, 0, 0, "huge", 4},
};

/* Some that a report must quote. */
static const char *const names[NAMES] = {"forward",
                                         "backward",
                                         "loss",
                                         "optimizer",
                                         "zero_grad",
                                         "eval",
                                         "mine",
                                         "other",
                                         "a \"quoted\", cut,\nline",
                                         "\xc3\xa9t\xc3\xa9;\t|"};
static const struct {
    const char *function, *file;
    uint32_t line;
} site_table[SITES] = {{"build", "model.c", 10},         {"step", "train.c", 99},
                       {"step", "train.c", 100},         {"no_file", NULL, 0},
                       {"a, \"b\"\n", "odd, name.c", 1}, {NULL, NULL, 0}};

struct worker {
    pthread_t thread;
    int number;
    long events;
    uint64_t seed;
    char *log, *at, *end;
    char path[512];
    bool exact; /* alone in its process: no marks needed */
    int phases[DEEPEST], depth;
    signed char heap_of[DEVICES][SLOTS]; /* the slot's living block: heap + 1 */
    bool segment[DEVICES][SEGMENTS];
};

static const char *program, *folder;
static long kill_at, total_events, wanted_children;
static int image, threads;
static tidemark_heap_t heaps[HEAPS];
static tidemark_site_t sites[SITES];
static pthread_rwlock_t sending;
static uint64_t step_number;

static uint64_t below(struct worker *self, uint64_t limit)
{
    self->seed = self->seed * 6364136223846793005u + 1442695040888963407u;
    return (self->seed >> 33) % limit;
}

static uint64_t now_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

/* ---- the log ---- */

__attribute__((format(printf, 2, 3))) static void put(struct worker *self, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(self->at, (size_t)(self->end - self->at), format, list);
    va_end(list);
    if (n < 0 || n >= self->end - self->at)
        _exit(98);
    self->at += n;
}

static void put_name(struct worker *self, const char *name)
{
    put(self, name ? " x" : " -");
    for (; name && *name; name++)
        put(self, "%02x", (unsigned char)*name);
}

/* Around a call: what it is, then the time of both its sides. */
static void before(struct worker *self)
{
    put(self, " %llu", (unsigned long long)now_ns());
}

static void after(struct worker *self)
{
    put(self, " %llu\n", (unsigned long long)now_ns());
}

static void open_log(struct worker *self)
{
    size_t bytes = ((size_t)self->events * 3 + HEAPS + 16) * LINE;
    snprintf(self->path, sizeof self->path, "%s/%d.%d.%d", folder, (int)getpid(), image,
             self->number);
    int fd = open(self->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
        _exit(97);
    self->log = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (self->log == MAP_FAILED)
        _exit(97);
    close(fd);
    self->at = self->log;
    self->end = self->log + bytes;
    put(self, "I %ld\n", (long)syscall(SYS_gettid));
    for (int i = 0; i < HEAPS; i++) {
        put(self, "H %d %d %d %llu %llu", i, heap_table[i].kind, heap_table[i].index,
            (unsigned long long)heap_table[i].stream, (unsigned long long)heap_table[i].pool);
        put_name(self, heap_table[i].name);
        put(self, "\n");
    }
}

static void close_log(struct worker *self)
{
    size_t used = (size_t)(self->at - self->log);
    munmap(self->log, (size_t)(self->end - self->log));
    if (truncate(self->path, (off_t)used) != 0)
        _exit(96);
}

/* ---- single calls ---- */

static uint64_t address_of(const struct worker *self, int slot)
{
    return ((uint64_t)self->number + 1) << 48 | (uint64_t)slot * SLOT_BYTES;
}

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static void send_mark(struct worker *self, const char *name, int64_t value)
{
    put(self, "M");
    put_name(self, name);
    put(self, " %lld", (long long)value);
    before(self);
    tidemark_mark(name, value);
    after(self);
}

static uint64_t some_bytes(struct worker *self, int heap)
{
    if (heap == HEAPS - 1 && below(self, 6) == 0)
        return UINT64_C(1) << (60 + below(self, 4)); /* more than there can be: cut */
    switch (below(self, 12)) {
    case 0:
        return 0;
    case 1:
        return UINT64_C(1) << (20 + below(self, 21));
    default:
        return 512 * (1 + below(self, 2048));
    }
}

static void send_alloc(struct worker *self, int heap, int slot)
{
    int site = (int)below(self, SITES + 1); /* the last: not known */
    struct tidemark_block block = {.size = sizeof block, .heap = heaps[heap]};
    block.site = site < SITES ? sites[site] : 0;
    block.address = pointer(address_of(self, slot));
    block.bytes = some_bytes(self, heap);
    block.has_requested = heap % 2 == 0 || below(self, 30) > 0;
    block.requested = block.has_requested ? block.bytes - block.bytes / (2 + below(self, 9)) : 0;
    put(self, "A %d %llu %llu", heap, (unsigned long long)address_of(self, slot),
        (unsigned long long)block.bytes);
    put(self, block.has_requested ? " %llu" : " -", (unsigned long long)block.requested);
    if (site < SITES) {
        put_name(self, site_table[site].function);
        put_name(self, site_table[site].file);
        put(self, " %u", site_table[site].line);
    } else {
        put(self, " - - -1");
    }
    before(self);
    tidemark_block_alloc(&block);
    after(self);
    self->heap_of[heap_table[heap].device][slot] = (signed char)(heap + 1);
}

static void send_free(struct worker *self, int heap, int slot)
{
    put(self, "F %d %llu", heap, (unsigned long long)address_of(self, slot));
    before(self);
    tidemark_free(heaps[heap], pointer(address_of(self, slot)));
    after(self);
    self->heap_of[heap_table[heap].device][slot] = 0;
}

static void send_segment(struct worker *self, int heap, int which, bool take)
{
    uint64_t address = address_of(self, which * (SLOTS / SEGMENTS));
    uint64_t bytes = SLOT_BYTES * (1 + below(self, SLOTS / SEGMENTS));
    put(self, take ? "S %d %llu %llu" : "s %d %llu", heap, (unsigned long long)address,
        (unsigned long long)bytes);
    before(self);
    if (take)
        tidemark_segment_alloc(heaps[heap], pointer(address), bytes);
    else
        tidemark_segment_free(heaps[heap], pointer(address));
    after(self);
    self->segment[heap_table[heap].device][which] = take;
}

static void send_begin(struct worker *self, int name)
{
    put(self, "B");
    put_name(self, names[name]);
    before(self);
    tidemark_phase_begin(names[name]);
    after(self);
    self->phases[self->depth++] = name;
}

static void send_end(struct worker *self, const char *name)
{
    put(self, "E");
    put_name(self, name);
    before(self);
    tidemark_phase_end(name);
    after(self);
}

static void send_tag(struct worker *self, int heap)
{
    int category = 1 + (int)below(self, 8);
    const char *name = below(self, 4) ? names[below(self, NAMES)] : NULL;
    uint64_t address = address_of(self, (int)below(self, SLOTS)) + (below(self, 3) == 0);
    uint64_t bytes = below(self, 3) ? below(self, 2) : below(self, 5) * SLOT_BYTES;
    if (heap == HEAPS - 1) /* where they do overlap */
        bytes = below(self, 2);
    put(self, "G %d %llu %llu %d", heap, (unsigned long long)address, (unsigned long long)bytes,
        category);
    put_name(self, name);
    before(self);
    tidemark_tag(heaps[heap], pointer(address), bytes, (enum tidemark_category)category, name);
    after(self);
}

static void send_oom(struct worker *self, int heap)
{
    uint64_t asked = below(self, UINT64_C(1) << 30);
    put(self, "O %d %llu", heap, (unsigned long long)asked);
    before(self);
    tidemark_oom(heaps[heap], asked, sites[0]);
    after(self);
}

static void send_step(struct worker *self, bool begin)
{
    if (begin) {
        step_number += below(self, 4) > 0;
        put(self, "T %llu", (unsigned long long)step_number);
    } else {
        put(self, "t");
    }
    before(self);
    if (begin)
        tidemark_step_begin(step_number);
    else
        tidemark_step_end();
    after(self);
}

/* ---- random ones ---- */

/* What leaves no row of its own: alone, and behind a mark. */
static void send_alone(struct worker *self, int heap)
{
    int slot = (int)below(self, SLOTS), device = heap_table[heap].device;
    int which = (int)below(self, SEGMENTS);
    pthread_rwlock_wrlock(&sending);
    if (!self->exact)
        send_mark(self, "alone", self->number);
    uint64_t what = below(self, 20);
    if (what < 9)
        send_tag(self, heap);
    else if (what < 15)
        send_step(self, true);
    else if (what < 17)
        send_step(self, false);
    else if (what == 17 && !self->heap_of[device][slot])
        send_free(self, heap, slot);
    else if (what == 18 && !self->segment[device][which])
        send_segment(self, heap, which, false);
    else if (what == 19)
        send_end(self, "never begun");
    pthread_rwlock_unlock(&sending);
}

static void change_block(struct worker *self, int heap)
{
    int slot = (int)below(self, SLOTS), device = heap_table[heap].device;
    int held = self->heap_of[device][slot];
    if (!held || below(self, 60) == 0) /* now and then one that is handed out twice */
        send_alloc(self, heap, slot);
    else /* through any heap of the device */
        send_free(self, below(self, 8) ? held - 1 : heap, slot);
}

static void change_phase(struct worker *self)
{
    uint64_t what = below(self, 20);
    if (self->depth == 0 || (self->depth < DEEPEST && what < 10)) {
        send_begin(self, (int)below(self, NAMES));
        return;
    }
    int at = self->depth - 1;
    if (what == 19) /* an outer one: those inside are left unbalanced */
        at = (int)below(self, (uint64_t)self->depth);
    const char *name = names[self->phases[at]];
    /* The innermost of that name is meant. */
    while (at + 1 < self->depth && self->phases[self->depth - 1] != self->phases[at])
        self->depth--;
    self->depth--;
    send_end(self, below(self, 3) || what == 19 ? name : NULL);
}

static void send_one(struct worker *self)
{
    int heap = (int)below(self, HEAPS);
    uint64_t what = below(self, 100);
    if (what >= 92) {
        send_alone(self, heap);
        return;
    }
    pthread_rwlock_rdlock(&sending);
    if (what < 70) {
        change_block(self, heap);
    } else if (what < 82) {
        change_phase(self);
    } else if (what < 86) {
        send_mark(self, names[below(self, NAMES)], (int64_t)below(self, 1000) - 500);
    } else if (what < 88) {
        send_oom(self, heap);
    } else if (heap == 0 || heap == 3) {
        int which = (int)below(self, SEGMENTS), device = heap_table[heap].device;
        send_segment(self, heap, which, !self->segment[device][which] || below(self, 20) == 0);
    }
    pthread_rwlock_unlock(&sending);
}

static void *work(void *argument)
{
    struct worker *self = argument;
    open_log(self);
    for (long i = 0; i < self->events; i++) {
        if (kill_at && self->number == 0 && i == kill_at)
            raise(SIGKILL);
        send_one(self);
    }
    /* Only the first thread leaves phases open: when the end of another is noticed is chance. */
    while (self->number > 0 && self->depth > 0) {
        self->depth--;
        send_end(self, NULL);
    }
    close_log(self);
    return NULL;
}

static void run(uint64_t seed)
{
    struct worker *workers = calloc((size_t)threads, sizeof *workers);
    if (!workers)
        _exit(95);
    for (int i = 0; i < threads; i++) {
        workers[i].number = i;
        workers[i].events = total_events;
        workers[i].seed = seed * 1000003u + (uint64_t)i;
        workers[i].exact = threads == 1;
        if (i > 0 && pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            _exit(95);
    }
    work(&workers[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(workers[i].thread, NULL);
    free(workers);
}

static _Noreturn void again(uint64_t seed)
{
    char text[5][24];
    snprintf(text[0], sizeof text[0], "%llu", (unsigned long long)seed);
    snprintf(text[1], sizeof text[1], "%ld", total_events);
    snprintf(text[2], sizeof text[2], "%d", threads);
    snprintf(text[3], sizeof text[3], "%ld", kill_at);
    snprintf(text[4], sizeof text[4], "%d", image + 1);
    execl(program, program, folder, text[0], text[1], text[2], "0", text[3], text[4], (char *)NULL);
    _exit(94);
}

/* A child has a log of its own from the fork on, and becomes another image when it is odd. */
static void have_child(uint64_t seed, long number)
{
    if (fork() != 0)
        return;
    run(seed);
    if (number % 2)
        again(seed + 1);
    _exit(0);
}

int main(int argc, char **argv)
{
    if (argc < 7)
        return 2;
    pthread_rwlockattr_t prefer;
    program = argv[0];
    folder = argv[1];
    uint64_t seed = strtoull(argv[2], NULL, 10);
    total_events = strtol(argv[3], NULL, 10);
    threads = (int)strtol(argv[4], NULL, 10);
    wanted_children = strtol(argv[5], NULL, 10);
    kill_at = strtol(argv[6], NULL, 10);
    image = argc > 7 ? (int)strtol(argv[7], NULL, 10) : 0;
    pthread_rwlockattr_init(&prefer);
    pthread_rwlockattr_setkind_np(&prefer, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&sending, &prefer);
    for (int i = 0; i < HEAPS; i++) {
        struct tidemark_heap_desc desc = {
            .size = sizeof desc,
            .device_kind = heap_table[i].kind,
            .device_index = heap_table[i].index,
            .stream = heap_table[i].stream,
            .pool = heap_table[i].pool,
            .name = heap_table[i].name,
        };
        heaps[i] = tidemark_heap_open_desc(&desc);
    }
    for (int i = 0; i < SITES; i++)
        sites[i] = tidemark_site(site_table[i].function, site_table[i].file, site_table[i].line);
    for (long i = 0; i < wanted_children; i++)
        have_child(seed + 100 + (uint64_t)i, i);
    run(seed);
    while (wait(NULL) > 0 || errno == EINTR)
        continue;
    return 0;
}
