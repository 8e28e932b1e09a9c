/* What fails, and when: see inject.h. */
#include "inject.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sites.h"

/* Of the linker: where the code of this program begins. */
extern const char __executable_start[];

_Thread_local int inject_apart;

/* Set before main and not changed after it, but for the counters. */
static struct {
    const char *calls; /* NULL: nothing fails */
    const char *log;
    long at, run, skip;
    int code;
    pid_t owner;
    uint64_t site; /* 0: any */
    struct sites_entry *sites;
    atomic_long seen;  /* calls */
    atomic_long met;   /* of the site, behind those to be skipped */
    atomic_long began; /* the call that was the first to fail; 0: none has */
} plan;

static long number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text && *text ? atol(text) : otherwise;
}

__attribute__((constructor)) static void read_plan(void)
{
    const char *site = getenv("INJECT_SITE"), *sites = getenv("INJECT_SITES");
    plan.log = getenv("INJECT_LOG");
    plan.at = number("INJECT_AT", 1);
    plan.run = number("INJECT_FOR", 1);
    plan.skip = number("INJECT_SKIP", 0);
    plan.code = (int)number("INJECT_CODE", EIO);
    plan.owner = getpid();
    plan.site = site ? strtoull(site, NULL, 16) : 0;
    plan.sites = sites ? sites_table(sites) : NULL;
    plan.calls = getenv("INJECT_CALL");
}

/* Is `name` one of those in the list? */
static bool is_meant(const char *name)
{
    size_t bytes = strlen(name);
    for (const char *at = plan.calls; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, bytes) == 0 && (at[bytes] == ',' || at[bytes] == '\0'))
            return true;
    }
    return false;
}

/* The name, where it was called from, the site, and the stack. Without memory, and by calls that
 * are not counted. */
static void say(const char *name, const void *from)
{
    struct sites_stack stack;
    int fd = plan.log ? creat(plan.log, 0600) : -1;
    if (fd < 0)
        return;
    sites_look(&stack, from);
    int bytes = dprintf(fd, "%s 0x%lx %016" PRIx64, name,
                        (unsigned long)((uintptr_t)from - (uintptr_t)__executable_start),
                        sites_number(name, &stack).all);
    for (unsigned i = 0; i < stack.depth && bytes >= 0; i++)
        bytes = dprintf(fd, " 0x%lx", (unsigned long)stack.at[i]);
    if (bytes < 0 || dprintf(fd, "\n") < 0)
        abort();
    close(fd);
}

/* Does it begin with this call? */
static bool begins(const char *name, const void *from, long mine)
{
    struct sites_stack stack;
    if (!plan.site)
        return mine == plan.at;
    if (mine <= plan.skip)
        return false;
    sites_look(&stack, from);
    return sites_number(name, &stack).all == plan.site &&
           atomic_fetch_add(&plan.met, 1) + 1 == plan.at;
}

bool inject_now(const char *name, const void *from, int *code)
{
    struct sites_stack stack;
    if (!plan.calls || inject_apart || !is_meant(name) || getpid() != plan.owner)
        return false;
    long mine = atomic_fetch_add(&plan.seen, 1) + 1;
    if (plan.sites) {
        sites_look(&stack, from);
        struct sites_numbers numbers = sites_number(name, &stack);
        sites_add(plan.sites, name, &numbers, (uint64_t)mine);
        return false;
    }
    long began = atomic_load(&plan.began);
    if (began == 0 && begins(name, from, mine)) {
        atomic_store(&plan.began, mine);
        say(name, from);
        began = mine;
    }
    if (began == 0 || mine < began || (plan.run && mine >= began + plan.run))
        return false;
    *code = plan.code;
    return true;
}
