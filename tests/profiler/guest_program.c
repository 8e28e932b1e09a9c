/* guest_program.c - see guest_program.h. */
#include "guest_program.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "hello.h"
#include "test.h"

/* guest_init has run in the constructor, without a recorder: a new image would begin anew. */
bool in_the_program(void)
{
    return getenv(HELLO_ENV) != NULL;
}

_Noreturn void exec_self(const char *name)
{
    execl("/proc/self/exe", program_invocation_short_name, "--no-fork", name, "an argument", name,
          (char *)NULL);
    _exit(99);
}

int run_program(const char *name)
{
    pid_t child = fork();
    if (child == 0)
        exec_self(name);
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

size_t events_of(struct fake_said *said, struct event *out, size_t max)
{
    struct ring_torn torn[1];
    size_t torn_n;
    REQUIRE(said->ring != NULL);
    return ring_reader_take(&said->reader, out, max, clock_now_ns(), true, torn, 1, &torn_n);
}
