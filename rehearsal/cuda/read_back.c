/*
 * read_back.c - see read_back.h. The operation is seen in the call stack, in which the dispatcher's
 * functions have names: at::_ops::NAME::call. A program without PyTorch has none; of that a number
 * is told.
 */
#include "read_back.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define FRAMES_MOST 64
#define NAME_MAX_BYTES 64
#define CALLERS 1024u /* return addresses whose names are kept; a power of two */

/* A return address and the operation that it is in. */
struct caller {
    const void *at;            /* NULL: free */
    char name[NAME_MAX_BYTES]; /* "": in none */
};

static struct {
    pthread_mutex_t lock;
    struct caller list[CALLERS];
} callers = {.lock = PTHREAD_MUTEX_INITIALIZER};

typedef void (*read_fn)(const char *what);

/* The guest's; looked for once. NULL: nobody records. */
static read_fn guest_of(void)
{
    static _Atomic uintptr_t found = 1;
    uintptr_t address = atomic_load(&found);
    if (address == 1) {
        address = (uintptr_t)dlsym(RTLD_DEFAULT, "tidemark_stand_in_read");
        atomic_store(&found, address);
    }
    return (read_fn)address;
}

/* "_ZN2at4_ops7nonzero4callE..." has "nonzero", "_ZN2at4_ops12index_Tensor4callE..." "index". */
static void read_name(const char *symbol, char *name)
{
    static const char ops[] = "_ZN2at4_ops";
    static const char *const overloads[] = {"_Tensor", "_Scalar", "_self_Tensor", "_self_int"};
    int bytes, used;
    *name = '\0';
    if (!symbol || strncmp(symbol, ops, sizeof ops - 1) != 0 ||
        sscanf(symbol + sizeof ops - 1, "%d%n", &bytes, &used) != 1 || bytes >= NAME_MAX_BYTES)
        return;
    snprintf(name, NAME_MAX_BYTES, "%.*s", bytes, symbol + sizeof ops - 1 + used);
    for (size_t i = 0; i < sizeof overloads / sizeof *overloads; i++) {
        size_t length = strlen(name), tail = strlen(overloads[i]);
        if (length > tail && strcmp(name + length - tail, overloads[i]) == 0)
            name[length - tail] = '\0';
    }
}

static struct caller *slot_of(const void *at)
{
    return &callers.list[((uintptr_t)at * UINT64_C(0x9e3779b97f4a7c15) >> 40) % CALLERS];
}

static bool recall(const void *at, char *name)
{
    pthread_mutex_lock(&callers.lock);
    const struct caller *caller = slot_of(at);
    bool known = caller->at == at;
    if (known)
        memcpy(name, caller->name, NAME_MAX_BYTES);
    pthread_mutex_unlock(&callers.lock);
    return known;
}

/* The loader is asked without the lock. */
static void name_of(const void *at, char *name)
{
    Dl_info info;
    if (recall(at, name))
        return;
    memset(name, 0, NAME_MAX_BYTES);
    read_name(dladdr(at, &info) ? info.dli_sname : NULL, name);
    pthread_mutex_lock(&callers.lock);
    struct caller *caller = slot_of(at);
    caller->at = at;
    memcpy(caller->name, name, NAME_MAX_BYTES);
    pthread_mutex_unlock(&callers.lock);
}

/* What copies to the host and makes no size of it. */
static bool is_copy(const char *name)
{
    static const char *const copies[] = {"copy_",     "_to_copy",   "to",
                                         "clone",     "_copy_from", "to_dtype_layout",
                                         "to_device", "to_dtype",   "to_other"};
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        if (strcmp(name, copies[i]) == 0)
            return true;
    return false;
}

static bool is_number(const char *name)
{
    static const char *const numbers[] = {
        "item", "_local_scalar_dense", "equal", "is_nonzero", "allclose", "is_set_to"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(name, numbers[i]) == 0)
            return true;
    return false;
}

/* The outermost operation of those that are open: what the program called. */
static void find_operation(char *name)
{
    void *frames[FRAMES_MOST];
    int count = backtrace(frames, FRAMES_MOST);
    char seen[NAME_MAX_BYTES];
    *name = '\0';
    for (int i = 0; i < count; i++) {
        name_of(frames[i], seen);
        if (*seen)
            memcpy(name, seen, sizeof seen);
    }
}

void read_back(uint64_t bytes, bool whole, bool lost)
{
    char name[NAME_MAX_BYTES], what[NAME_MAX_BYTES + 16];
    read_fn tell = guest_of();
    if (!tell)
        return;
    find_operation(name);
    /* A number of four bytes or two is a float by far the most often: a loss. */
    bool number = is_number(name) || is_copy(name) || !*name;
    bool told = whole || (!is_copy(name) && (bytes == 8 || bytes == 1));
    if (number && !told)
        return;
    snprintf(what, sizeof what, "%s %s", number ? "number" : "size", *name ? name : "copy");
    tell(what);
    if (lost) {
        snprintf(what, sizeof what, "lost %s", *name ? name : "copy");
        tell(what);
    }
}

static void tell_of(const char *kind, const char *name)
{
    char what[NAME_MAX_BYTES + 16];
    read_fn tell = guest_of();
    if (!tell)
        return;
    snprintf(what, sizeof what, "%s %.*s", kind, NAME_MAX_BYTES, name);
    tell(what);
}

void read_library(const char *function)
{
    tell_of("library", function);
}

void read_modelled(const char *function)
{
    tell_of("modelled", function);
}

void read_outside(const char *what)
{
    tell_of("outside", what);
}
