/* What fails, and when: see inject.h. */
#include "inject.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of the linker: where the code of this program begins. */
extern const char __executable_start[];

/* Set before main and not changed after it, but for `seen`. */
static struct {
    const char *calls; /* NULL: nothing fails */
    const char *log;
    long at, run;
    int code;
    pid_t owner;
    atomic_long seen;
} plan;

static long number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text && *text ? atol(text) : otherwise;
}

__attribute__((constructor)) static void read_plan(void)
{
    plan.log = getenv("INJECT_LOG");
    plan.at = number("INJECT_AT", 1);
    plan.run = number("INJECT_FOR", 1);
    plan.code = (int)number("INJECT_CODE", EIO);
    plan.owner = getpid();
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

/* Without memory, and by calls that are not counted. */
static void say(const char *name, const void *from)
{
    char line[128];
    int fd = plan.log ? creat(plan.log, 0600) : -1;
    if (fd < 0)
        return;
    int bytes = snprintf(line, sizeof line, "%s 0x%lx\n", name,
                         (unsigned long)((uintptr_t)from - (uintptr_t)__executable_start));
    if (dprintf(fd, "%.*s", bytes, line) < 0)
        abort();
    close(fd);
}

bool inject_now(const char *name, const void *from, int *code)
{
    if (!plan.calls || !is_meant(name) || getpid() != plan.owner)
        return false;
    long mine = atomic_fetch_add(&plan.seen, 1) + 1;
    if (mine < plan.at || (plan.run && mine >= plan.at + plan.run))
        return false;
    if (mine == plan.at)
        say(name, from);
    *code = plan.code;
    return true;
}
