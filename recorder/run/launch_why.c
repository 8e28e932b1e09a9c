/*
 * launch_why.c - a program that never said hello: what its file tells about the reason.
 *
 * The loader takes LD_PRELOAD only for a dynamically linked program of the library's own machine,
 * and not for one that runs with privileges that its starter has not. A script is judged by its
 * interpreter. If the file shows no reason, it lies in what happened at run time.
 */
#include "launch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_NONE
#endif

#define INTERPRETERS_MAX 4 /* a script whose interpreter is a script ... */

static bool is_program(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

bool launch_find(const char *program, char *path, size_t room)
{
    const char *list = getenv("PATH");
    if (strchr(program, '/')) {
        snprintf(path, room, "%s", program);
        return is_program(path);
    }
    if (!list)
        list = "/bin:/usr/bin";
    for (;;) {
        size_t bytes = strcspn(list, ":");
        int n =
            snprintf(path, room, "%.*s/%s", bytes ? (int)bytes : 1, bytes ? list : ".", program);
        if (n > 0 && (size_t)n < room && is_program(path))
            return true;
        if (!list[bytes])
            return false;
        list += bytes + 1;
    }
}

static bool is_privileged(const char *path, struct buf *why)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return false;
    bool user = (about.st_mode & S_ISUID) && about.st_uid != getuid();
    bool group = (about.st_mode & S_ISGID) && (about.st_mode & S_IXGRP) && about.st_gid != getgid();
    bool capable = geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
    if (user || group || capable)
        buf_print(why, "%s runs with privileges of its own (%s), so that LD_PRELOAD is ignored",
                  path,
                  user    ? "setuid"
                  : group ? "setgid"
                          : "file capabilities");
    return user || group || capable;
}

static bool is_foreign(const Elf64_Ehdr *header)
{
    return header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != OUR_MACHINE;
}

bool launch_is_foreign(const char *path)
{
    Elf64_Ehdr header;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, &header, sizeof header);
    if (fd >= 0)
        close(fd);
    return n == (ssize_t)sizeof header && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
           is_foreign(&header);
}

/* Reads the program headers; true with the reason when it cannot load our library. */
static bool elf_says(int fd, const char *path, const Elf64_Ehdr *header, struct buf *why)
{
    if (is_foreign(header)) {
        buf_print(why, "%s is a program for another kind of machine than the library", path);
        return true;
    }
    for (unsigned i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr segment;
        char interpreter[256] = "";
        off_t at = (off_t)(header->e_phoff + (uint64_t)i * header->e_phentsize);
        if (pread(fd, &segment, sizeof segment, at) != (ssize_t)sizeof segment)
            return false;
        if (segment.p_type != PT_INTERP)
            continue;
        if (pread(fd, interpreter, sizeof interpreter - 1, (off_t)segment.p_offset) <= 0)
            return false;
        if (!strstr(interpreter, "/ld-musl"))
            return false;
        buf_print(why, "%s uses another C library (%s)", path, interpreter);
        return true;
    }
    buf_print(why, "%s is linked statically", path);
    return true;
}

/* "#!/path argument": the path, or false. */
static bool script_interpreter(const char *head, char *path, size_t room)
{
    if (strncmp(head, "#!", 2) != 0)
        return false;
    head += 2 + strspn(head + 2, " \t");
    size_t bytes = strcspn(head, " \t\r\n");
    return bytes > 0 && snprintf(path, room, "%.*s", (int)bytes, head) < (int)room;
}

static bool file_says(char *path, size_t room, struct buf *why)
{
    union {
        Elf64_Ehdr elf;
        char text[256];
    } head;
    for (int i = 0; i < INTERPRETERS_MAX; i++) {
        if (is_privileged(path, why))
            return true;
        memset(&head, 0, sizeof head);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            return false;
        ssize_t n = read(fd, head.text, sizeof head.text - 1);
        bool elf = n >= (ssize_t)sizeof head.elf && memcmp(head.text, ELFMAG, SELFMAG) == 0;
        bool said = elf && elf_says(fd, path, &head.elf, why);
        close(fd);
        if (elf || !script_interpreter(head.text, path, room))
            return said;
    }
    return false;
}

void launch_why_silent(const char *program, struct buf *why)
{
    char path[PATH_MAX];
    if (launch_find(program, path, sizeof path) && file_says(path, sizeof path, why))
        return;
    buf_text(why,
             "its environment was cleared, LD_PRELOAD was replaced, or the library failed to load");
}
