/* bad_guest.c - a library that breaks every program into which it is loaded. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void break_it(void)
{
    const char *how = getenv("BAD_GUEST");
    if (how && strcmp(how, "kill") == 0)
        abort();
    while (how && strcmp(how, "hang") == 0)
        pause();
    _exit(3);
}
