/*
 * prog_refused.c - reports blocks while one of its system calls is refused, as a sandbox does.
 *
 *     prog_refused NAME
 *
 * Prints "fine", and ends with 4.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tidemark.h"

#define BLOCKS 20000u

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
    {"socket", SYS_socket},
    {"connect", SYS_connect},
    {"sendmsg", SYS_sendmsg},
    {"recvmsg", SYS_recvmsg},
    {"sendto", SYS_sendto},
    {"recvfrom", SYS_recvfrom},
    {"getsockopt", SYS_getsockopt},
    {"setsockopt", SYS_setsockopt},
    {"mmap", SYS_mmap},
    {"munmap", SYS_munmap},
    {"lseek", SYS_lseek},
    {"fcntl", SYS_fcntl},
    {"openat", SYS_openat},
    {"read", SYS_read},
    {"futex", SYS_futex},
    {"gettid", SYS_gettid},
    {"getrandom", SYS_getrandom},
    {"none", 0xfffffff},
};

static int refuse(unsigned number)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
    size_t i = 0;
    while (argc == 2 && i < sizeof calls / sizeof *calls && strcmp(calls[i].name, argv[1]) != 0)
        i++;
    if (argc != 2 || i == sizeof calls / sizeof *calls)
        return 99;
    if (refuse(calls[i].number) != 0)
        return 77; /* there are no filters here */
    tidemark_heap_t heap = tidemark_heap_open(0, 0, "refused");
    for (unsigned block = 1; block <= BLOCKS; block++) {
        tidemark_alloc(heap, (void *)(uintptr_t)(block * 64), 64);
        tidemark_free(heap, (void *)(uintptr_t)(block * 64));
    }
    return write(STDOUT_FILENO, "fine\n", 5) == 5 ? 4 : 98;
}
