/*
 * compat_stat.c - stat and its family by system call: as functions of libc they exist only since
 * glibc 2.33. On x86-64 the kernel's record is glibc's `struct stat`, and `struct stat64` too.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __x86_64__
#error "compat.cmake builds this for x86-64 only"
#endif

/* The linker makes these names (--wrap); declared because each external function is. */
int __wrap_stat(const char *path, struct stat *out);
int __wrap_stat64(const char *path, struct stat64 *out);
int __wrap_lstat(const char *path, struct stat *out);
int __wrap_lstat64(const char *path, struct stat64 *out);
int __wrap_fstat(int fd, struct stat *out);
int __wrap_fstat64(int fd, struct stat64 *out);
int __wrap_fstatat(int folder, const char *path, struct stat *out, int flags);
int __wrap_fstatat64(int folder, const char *path, struct stat64 *out, int flags);

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "one record for both");

static int stat_at(int folder, const char *path, void *out, int flags)
{
    return (int)syscall(SYS_newfstatat, folder, path, out, flags);
}

int __wrap_stat(const char *path, struct stat *out)
{
    return stat_at(AT_FDCWD, path, out, 0);
}

int __wrap_stat64(const char *path, struct stat64 *out)
{
    return stat_at(AT_FDCWD, path, out, 0);
}

int __wrap_lstat(const char *path, struct stat *out)
{
    return stat_at(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}

int __wrap_lstat64(const char *path, struct stat64 *out)
{
    return stat_at(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}

int __wrap_fstat(int fd, struct stat *out)
{
    return (int)syscall(SYS_fstat, fd, out);
}

int __wrap_fstat64(int fd, struct stat64 *out)
{
    return (int)syscall(SYS_fstat, fd, out);
}

int __wrap_fstatat(int folder, const char *path, struct stat *out, int flags)
{
    return stat_at(folder, path, out, flags);
}

int __wrap_fstatat64(int folder, const char *path, struct stat64 *out, int flags)
{
    return stat_at(folder, path, out, flags);
}
