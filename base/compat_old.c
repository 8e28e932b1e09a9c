/*
 * compat_old.c - one jump for each line of compat.def, so that the command runs on glibc 2.28
 * though it was built, and SQLite was, on a later one.
 *
 * The linker gets these names by `--wrap`: a call of pthread_create in any object, Debian's
 * libsqlite3.a included, becomes a call of __wrap_pthread_create, which stands here and jumps to
 * the old version. A jump instead of a C function: no signature to repeat, and dlsym(RTLD_NEXT)
 * still sees its caller. Each has a section of its own; the linker drops those that nobody calls,
 * and the import with them.
 *
 * Old hosts keep half of these names in libpthread, libdl and libm: compat.cmake has the command
 * name those three, which are empty shells on newer ones.
 */
#ifndef __x86_64__
#error "compat.cmake builds this for x86-64 only"
#endif

#define COMPAT_OLD(name, version)                                                                  \
    __asm__(".section .text.compat." #name ",\"ax\",@progbits\n"                                   \
            ".symver compat_old_" #name "," #name "@GLIBC_" #version "\n"                          \
            ".globl __wrap_" #name "\n"                                                            \
            ".hidden __wrap_" #name "\n"                                                           \
            ".type __wrap_" #name ",@function\n"                                                   \
            "__wrap_" #name ":\n"                                                                  \
            "    endbr64\n"                                                                        \
            "    jmp *compat_old_" #name "@GOTPCREL(%rip)\n"                                       \
            ".size __wrap_" #name ",.-__wrap_" #name "\n"                                          \
            ".previous\n");
#include "compat.def"
