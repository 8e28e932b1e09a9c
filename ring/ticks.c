/* ticks.c - see ticks.h. */
#include "ticks.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define SHORTEST_NS (10 * NS_PER_MS) /* that a rate is taken from */
#define PERIOD_NS NS_PER_S
/* A prediction may be off by what a reading takes, and by what the kernel's clock is made faster or
 * slower at most: 500 in a million, and some more. */
#define OFF_NS 20000u
#define OFF_PARTS 1000u     /* one in so many */
#define READING_TICKS 2000u /* longer ones were interrupted */
#define READINGS 4

#ifdef __x86_64__
static bool kernel_counts_by_it(void)
{
    char name[16] = "";
    int fd = open(SOURCE, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, name, sizeof name - 1);
    close(fd);
    return got == 4 && memcmp(name, "tsc\n", 4) == 0;
}
#else
static bool kernel_counts_by_it(void)
{
    return false;
}
#endif

void ticks_begin(struct ticks *ticks)
{
    *ticks = (struct ticks){.works = kernel_counts_by_it()};
}

/* The shortest of a few readings. False: each was interrupted. */
static bool read_both(struct ticks_moment *now)
{
    uint64_t least = READING_TICKS;
    for (int i = 0; i < READINGS; i++) {
        uint64_t before = ticks_count(), ns = clock_now_ns(), took = ticks_count() - before;
        if (took >= least)
            continue;
        least = took;
        *now = (struct ticks_moment){before + took / 2, ns};
    }
    return least < READING_TICKS;
}

static uint64_t rate_between(struct ticks_moment from, struct ticks_moment to)
{
    ticks_wide ns = (ticks_wide)(to.ns - from.ns) << 32;
    uint64_t ticks = to.ticks - from.ticks;
    ticks_wide rate = ticks ? ns / ticks : 0;
    return rate >> 40 ? 0 : (uint64_t)rate; /* less than 256 ns to a tick */
}

/* Whether the last line said about what the kernel's clock says now. */
static bool came_true(const struct ticks *ticks, struct ticks_moment now)
{
    if (now.ticks <= ticks->last.ticks || now.ns < ticks->last.ns)
        return false;
    uint64_t passed = now.ns - ticks->last.ns;
    uint64_t ahead = (uint64_t)((ticks_wide)(now.ticks - ticks->last.ticks) * ticks->rate >> 32);
    uint64_t off = ahead > passed ? ahead - passed : passed - ahead;
    return off <= OFF_NS + passed / OFF_PARTS;
}

void ticks_see(struct ticks *ticks, struct ticks_moment now)
{
    if (ticks->last.ns == 0) {
        ticks->old = ticks->young = ticks->last = now;
        return;
    }
    if (ticks->rate && !came_true(ticks, now)) {
        *ticks = (struct ticks){.works = false};
        return;
    }
    ticks->last = now;
    if (now.ns - ticks->young.ns >= PERIOD_NS) {
        ticks->old = ticks->young;
        ticks->young = now;
    }
    if (now.ns - ticks->old.ns >= SHORTEST_NS)
        ticks->rate = rate_between(ticks->old, now);
}

bool ticks_look(struct ticks *ticks, uint64_t now_ns)
{
    struct ticks_moment now;
    bool soon = ticks->rate && now_ns - ticks->last.ns < TICKS_LOOK_NS;
    if (!ticks->works || soon || !read_both(&now))
        return false;
    ticks_see(ticks, now);
    return ticks->rate != 0 || !ticks->works;
}

void ticks_tell(const struct ticks *ticks, struct ticks_line *line)
{
    uint64_t version = __atomic_load_n(&line->version, __ATOMIC_RELAXED) & ~1ull;
    uint64_t holds = ticks->rate ? (uint64_t)(((ticks_wide)NS_PER_S << 32) / ticks->rate) : 0;
    __atomic_store_n(&line->version, version + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&line->rate, ticks->rate, __ATOMIC_RELEASE);
    __atomic_store_n(&line->ticks, ticks->last.ticks, __ATOMIC_RELEASE);
    __atomic_store_n(&line->ns, ticks->last.ns, __ATOMIC_RELEASE);
    __atomic_store_n(&line->holds, holds, __ATOMIC_RELEASE);
    __atomic_store_n(&line->version, version + 2, __ATOMIC_RELEASE);
}

bool ticks_is_valid(const struct ticks *ticks)
{
    return ticks->old.ns <= ticks->young.ns && ticks->young.ns <= ticks->last.ns &&
           ticks->old.ticks <= ticks->young.ticks && ticks->young.ticks <= ticks->last.ticks &&
           (ticks->works || ticks->rate == 0);
}
