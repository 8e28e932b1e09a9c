/*
 * pymethod.c - the helper's frequent calls as functions of Python's own kind, without ctypes, which
 * takes a microsecond for each.
 *
 * The helper hands us three functions of its interpreter and gets a table in the layout of
 * PyMethodDef, which is part of Python's stable ABI; it makes a function of each row
 * (PyCFunction_NewEx). They are called by METH_FASTCALL: a vector of borrowed references. All of
 * their arguments are integers, and their result is 0. Called with the GIL held.
 */
#include <stddef.h>
#include <stdint.h>

#include "pyapi.h"

enum { FASTCALL = 0x80, MOST = 6 };

/* PyMethodDef. */
struct method {
    const char *name;
    void *(*function)(void *self, void *const *args, intptr_t count);
    int flags;
    const char *doc;
};

static struct pymethod_python python;

struct arguments {
    uint64_t at[MOST];
};

/* False: one of them is no integer, and the exception stands. What is left out is 0. */
static bool take(struct arguments *to, void *const *args, intptr_t count)
{
    *to = (struct arguments){{0}};
    for (intptr_t i = 0; i < count && i < MOST; i++) {
        to->at[i] = python.number_of(args[i]);
        if (to->at[i] == UINT64_MAX && python.failed())
            return false;
    }
    return true;
}

#define METHOD(name, call)                                                                         \
    static void *name(void *self, void *const *args, intptr_t count)                               \
    {                                                                                              \
        struct arguments is;                                                                       \
        (void)self;                                                                                \
        if (!take(&is, args, count))                                                               \
            return NULL;                                                                           \
        call;                                                                                      \
        return python.object_of(0);                                                                \
    }

METHOD(enter, tidemark_py_enter((uint32_t)is.at[0], is.at[1], is.at[2], (uint32_t)is.at[3]))
METHOD(leave, tidemark_py_exit((uint32_t)is.at[0], is.at[1], is.at[2], (int)is.at[3]))
METHOD(backward, tidemark_py_backward((int)is.at[0]))
METHOD(places, tidemark_py_places((uint32_t)is.at[0], (const void *)(uintptr_t)is.at[1],
                                  (const void *)(uintptr_t)is.at[2], (uint32_t)is.at[3],
                                  (uint32_t)is.at[4]))
METHOD(hold, tidemark_py_hold((uint32_t)is.at[0], (uint32_t)is.at[1]))
METHOD(history,
       tidemark_py_history((uint32_t)is.at[0], (uint32_t)is.at[1], is.at[2], is.at[3], is.at[4]))

static struct method methods[] = {
    {"enter", enter, FASTCALL, NULL},       {"exit", leave, FASTCALL, NULL},
    {"backward", backward, FASTCALL, NULL}, {"places", places, FASTCALL, NULL},
    {"hold", hold, FASTCALL, NULL},         {"history", history, FASTCALL, NULL},
};

void *tidemark_py_methods(const struct pymethod_python *theirs, uint32_t at)
{
    python = *theirs;
    return at < sizeof methods / sizeof *methods ? &methods[at] : NULL;
}
