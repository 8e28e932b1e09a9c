/*
 * cupti_caller.c - see cupti_caller.h.
 *
 * What stands where is kept in a table of ranges that is read without a lock: an entry is filled
 * before the count that makes it visible. When an object was unloaded, its addresses may belong to
 * another by now: the table is emptied then. A reader that is in it at that moment may take the
 * name of what stood there before.
 */
#include "cupti_caller.h"

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <fcntl.h>
#include <unistd.h>
#include <unwind.h>

#include "dynlink.h"
#include "intern.h"
#include "fork_lock.h"

#define RANGES 128u
#define FRAMES 64 /* a caller that is farther away is not looked for */
#define NAME_BYTES 64

struct range {
    _Atomic uintptr_t begin, end;
    _Atomic bool passed_over;
    char name[NAME_BYTES];
};
static struct range ranges[RANGES];
static _Atomic uint32_t ranges_count;
static _Atomic uint32_t ranges_lock;
static _Atomic unsigned long long unloaded; /* the loader's count when the table was begun */

typedef _Unwind_Reason_Code (*backtrace_fn)(_Unwind_Trace_Fn step, void *argument);
static backtrace_fn backtrace_walk;
static uintptr_t (*get_ip)(struct _Unwind_Context *context);
static char program_name[NAME_BYTES];

/* CUDA's own, libc's, ours, and what loads them. By the beginning of their names. */
static const char *const passed_over[] = {
    "libcuda.so",  "libcudart.so", "libcupti.so", "libnvidia-", "libtidemark.so",
    "libc.so",     "libc-2.",      "libpthread",  "libdl.so",   "ld-linux",
    "libgcc_s.so", "linux-vdso",   "libnvperf",
};

static bool is_passed_over(const char *name)
{
    for (size_t i = 0; i < sizeof passed_over / sizeof *passed_over; i++)
        if (strncmp(name, passed_over[i], strlen(passed_over[i])) == 0)
            return true;
    return false;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void copy_name(char name[NAME_BYTES], const char *from)
{
    size_t bytes = strnlen(from, NAME_BYTES - 1);
    memcpy(name, from, bytes);
    name[bytes] = '\0';
}

static void read_program(void)
{
    char path[1024];
    long got = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof path - 1);
    if (got <= 0)
        return;
    path[got] = '\0';
    copy_name(program_name, base_of(path));
}

void caller_start(void)
{
    static _Atomic bool begun;
    int saved = errno;
    if (atomic_exchange(&begun, true))
        return;
    read_program();
    void *library = dynlink_loaded("libgcc_s.so");
    if (!library)
        library = dynlink_open("libgcc_s.so.1");
    void *address = library ? dynlink_dlsym(library, "_Unwind_GetIP") : NULL;
    memcpy(&get_ip, &address, sizeof address);
    address = get_ip ? dynlink_dlsym(library, "_Unwind_Backtrace") : NULL;
    memcpy(&backtrace_walk, &address, sizeof address);
    errno = saved;
}

/* ---- what stands at an address ---- */

struct object {
    uintptr_t address;
    uintptr_t begin, end;
    unsigned long long unloaded;
    bool is_program;
    char name[NAME_BYTES];
};

static int look_at(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct object *object = argument;
    bool first = object->unloaded == ~0ull;
    object->unloaded = info->dlpi_subs;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        uintptr_t end = begin + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type != PT_LOAD || object->address < begin ||
            object->address >= end)
            continue;
        object->begin = begin;
        object->end = end;
        object->is_program = first; /* the loader's list begins with it */
        copy_name(object->name, base_of(info->dlpi_name ? info->dlpi_name : ""));
        return 1;
    }
    return 0;
}

static void keep(const struct object *object, const char *name, bool over)
{
    if (fork_lock_take(&ranges_lock) == FORK_LOCK_NOT_HELD)
        return;
    if (atomic_exchange(&unloaded, object->unloaded) != object->unloaded)
        atomic_store(&ranges_count, 0);
    uint32_t count = atomic_load(&ranges_count);
    if (count < RANGES) {
        struct range *range = &ranges[count];
        atomic_store(&range->begin, object->begin);
        atomic_store(&range->end, object->end);
        atomic_store(&range->passed_over, over);
        copy_name(range->name, name);
        atomic_store_explicit(&ranges_count, count + 1, memory_order_release);
    }
    fork_lock_give(&ranges_lock);
}

static const struct range *find_range(uintptr_t address)
{
    uint32_t count = atomic_load_explicit(&ranges_count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++)
        if (address >= atomic_load_explicit(&ranges[i].begin, memory_order_relaxed) &&
            address < atomic_load_explicit(&ranges[i].end, memory_order_relaxed))
            return &ranges[i];
    return NULL;
}

const char *caller_of(uintptr_t address)
{
    const struct range *range = find_range(address);
    if (!range) {
        struct object object = {.address = address, .unloaded = ~0ull};
        if (dl_iterate_phdr(look_at, &object) == 0)
            return NULL; /* code that was made at run time */
        const char *name = object.is_program ? program_name : object.name;
        keep(&object, name, !object.is_program && is_passed_over(name));
        range = find_range(address);
    }
    return range && !atomic_load_explicit(&range->passed_over, memory_order_relaxed) && *range->name
               ? range->name
               : NULL;
}

/* ---- the walk ---- */

struct walk {
    const char *name;
    int frames;
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *argument)
{
    struct walk *walk = argument;
    uintptr_t address = get_ip(context);
    /* A return address may be the first byte behind its function. */
    walk->name = address ? caller_of(address - 1) : NULL;
    walk->frames++;
    return walk->name || !address || walk->frames >= FRAMES ? _URC_END_OF_STACK : _URC_NO_REASON;
}

uint32_t caller_library(void)
{
    struct walk walk = {.name = NULL};
    int saved = errno;
    if (backtrace_walk)
        backtrace_walk(step, &walk);
    uint32_t number = walk.name ? intern_string(walk.name) : 0;
    errno = saved;
    return number;
}
