/* bad_guest.c - a library that breaks every program into which it is loaded,
 * and adds a byte to a file each time. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void break_it(void)
{
    const char *how = getenv("BAD_GUEST"), *count = getenv("BAD_GUEST_COUNT");
    int fd = count ? open(count, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    if (fd >= 0 && write(fd, "x", 1) == 1)
        close(fd);
    if (how && strcmp(how, "kill") == 0)
        abort();
    while (how && strcmp(how, "hang") == 0)
        pause();
    _exit(3);
}
