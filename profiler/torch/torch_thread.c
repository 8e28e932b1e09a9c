/*
 * torch_thread.c - see torch_thread.h.
 *
 * The engine's functions in which its threads begin are exported with their sizes. A return address
 * into one of them near the upper end of a thread's stack says whose thread it is: nobody else
 * calls them. glibc has a thread's own record at that end, so the stack is searched from there down
 * to the present frame (thread-local variables of libraries may lie between); the kernel copies it,
 * because a program may run on a stack of its own.
 */
#include "torch_thread.h"

#include <errno.h>
#include <linux/prctl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "intern.h"
#include "symbols.h"

enum { ROOTS = 2, NAME_BYTES = 16, PIECE = 4096, REACH = 256 * PIECE };

static const char *const root_names[ROOTS] = {
    "_ZN5torch8autograd6Engine11thread_initEiRKSt10shared_ptrINS0_10ReadyQueueEEb",
    "_ZN5torch8autograd6Engine21reentrant_thread_initEv",
};

struct root {
    _Atomic uintptr_t begin; /* 0 = not found; stored last */
    _Atomic uintptr_t bytes;
};
static struct root roots[ROOTS];

__thread enum torch_thread torch_thread_mine;
static __thread uint64_t my_site;
static __thread uint32_t my_epoch;

void torch_thread_bind(void)
{
    struct symbol symbols[ROOTS] = {0};
    if (atomic_load(&roots[0].begin))
        return;
    for (int i = 0; i < ROOTS; i++)
        symbols[i].name = root_names[i];
    symbols_find(symbols, ROOTS);
    for (int i = ROOTS - 1; i >= 0; i--) {
        atomic_store(&roots[i].bytes, symbols[i].bytes);
        atomic_store(&roots[i].begin, (uintptr_t)symbols[i].address);
    }
}

static bool is_in_a_root(uintptr_t address)
{
    for (int i = 0; i < ROOTS; i++) {
        uintptr_t begin = atomic_load_explicit(&roots[i].begin, memory_order_acquire);
        uintptr_t bytes = atomic_load_explicit(&roots[i].bytes, memory_order_relaxed);
        /* Behind its last byte the next function may begin, and a thread's record points at the
         * function in which the thread began. */
        if (begin && address > begin && address - begin < bytes)
            return true;
    }
    return false;
}

/* Whether a root stands in this piece of the stack; *readable: the kernel could copy it. */
static bool piece_has_root(uintptr_t from, bool *readable)
{
    uintptr_t words[PIECE / sizeof(uintptr_t)];
    struct iovec here = {words, sizeof words}, there = {(void *)from, sizeof words};
    long got = syscall(SYS_process_vm_readv, syscall(SYS_getpid), &here, 1ul, &there, 1ul, 0ul);
    *readable = got == (long)sizeof words;
    for (size_t i = 0; *readable && i < PIECE / sizeof *words; i++)
        if (is_in_a_root(words[i]))
            return true;
    return false;
}

static bool stack_has_root(void)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    uintptr_t end = (uintptr_t)pthread_self() & ~(uintptr_t)(PIECE - 1);
    bool readable = true;
    for (uintptr_t at = end; readable && at + PIECE > here && end - at < REACH; at -= PIECE)
        if (piece_has_root(at, &readable))
            return true;
    return false;
}

static void read_name(char name[NAME_BYTES + 1])
{
    memset(name, 0, NAME_BYTES + 1);
    syscall(SYS_prctl, PR_GET_NAME, name, 0ul, 0ul, 0ul);
}

enum torch_thread torch_thread_look(void)
{
    static const char engine[] = "pt_autograd";
    char name[NAME_BYTES + 1];
    int saved = errno;
    bool is_engine = false;
    if (syscall(SYS_gettid) != syscall(SYS_getpid)) {
        read_name(name);
        is_engine = strncmp(name, engine, sizeof engine - 1) == 0 || stack_has_root();
    }
    torch_thread_mine = is_engine ? TORCH_THREAD_ENGINE : TORCH_THREAD_ANY;
    errno = saved;
    return torch_thread_mine;
}

uint64_t torch_thread_site(void)
{
    struct arena_frame frame = {0};
    static const char begin[] = "[thread ";
    char text[sizeof begin + NAME_BYTES + 1];
    uint32_t epoch = intern_epoch() + 1;
    if (my_site && my_epoch == epoch)
        return my_site;
    int saved = errno;
    memcpy(text, begin, sizeof begin - 1);
    read_name(text + sizeof begin - 1);
    size_t length = strlen(text);
    text[length] = ']';
    text[length + 1] = '\0';
    frame.function = intern_string(text);
    uint32_t number = frame.function ? intern(ARENA_FRAME, &frame, sizeof frame) : 0;
    my_site = number ? intern_place(ARENA_SITE, &number, sizeof number) : 0;
    my_epoch = epoch;
    errno = saved;
    return my_site;
}
