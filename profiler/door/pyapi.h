/*
 * pyapi.h - those of the helper's calls (pyapi.c) that come with every mark and every list, as
 * pymethod.c makes functions of Python of them.
 */
#ifndef TIDEMARK_PROFILER_PYAPI_H
#define TIDEMARK_PROFILER_PYAPI_H

#include <stdbool.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* A place of a list, as class List of _lists.py has it; without an address nothing is there. */
struct place {
    uint64_t addr, bytes, heap, category, name;
};

EXPORT void tidemark_py_enter(uint32_t mark, uint64_t identity, uint64_t flags, uint32_t name);
EXPORT void tidemark_py_exit(uint32_t mark, uint64_t identity, uint64_t flags, int failed);
EXPORT void tidemark_py_backward(int begins);
EXPORT void tidemark_py_places(uint32_t list, const struct place *now, const struct place *sent,
                               uint32_t count, uint32_t recording);
EXPORT void tidemark_py_hold(uint32_t list, uint32_t recording);
EXPORT void tidemark_py_history(uint32_t action, uint32_t heap, uint64_t addr, uint64_t bytes,
                                uint64_t ns);

/* Functions of the interpreter: PyLong_AsUnsignedLongLongMask, PyLong_FromLong, PyErr_Occurred. */
struct pymethod_python {
    uint64_t (*number_of)(void *object);
    void *(*object_of)(long number);
    void *(*failed)(void);
};

/* Row `at` of the table of methods, a PyMethodDef; NULL: there are no more. */
EXPORT void *tidemark_py_methods(const struct pymethod_python *python, uint32_t at);

#endif
