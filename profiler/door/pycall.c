/*
 * pycall.c - the way past the helper's wrapper for calls that it would only pass on.
 *
 * The helper puts a Python function in the place of Module.__call__ (python/tidemark/_marks.py). In
 * a model of nested modules all calls but the outermost go through it for nothing, and each costs a
 * frame: a model that nests deeply would meet the recursion limit early.
 *
 * A Python function has a pointer to the C function that runs it (PEP 590). In the wrapper that is
 * ours: inside a forward it runs the original with the same arguments, which takes no frame and
 * counts nowhere; else it runs the wrapper as before. The wrapper stays a function like any other,
 * and calls that do not go by the pointer, as some of Python 3.11's do, run it.
 *
 * `pycall_inner` is written by the helper, through its address, together with what it has itself
 * for the kind of the thread's innermost mark. Both belong to the thread alone.
 */
#include "pycall.h"

#include <string.h>

#include "event.h"

/* PyObject and PyTypeObject, in words from the end of the head; so since Python 3.8. The head has
 * two words, in free-threaded builds four: the helper asks the interpreter. */
enum { WORD = sizeof(void *), OBJECT_TYPE = -1, TYPE_SIZE = 2, TYPE_VECTORCALL = 5 };
enum { SHORT_HEAD = 2 * WORD, LONG_HEAD = 4 * WORD, LARGEST = 4096 };

static __thread uint32_t pycall_inner; /* enum mark_kind, 0 = no mark is open */

static struct {
    void *wrapper, *original; /* two functions of Python; the helper keeps them for good */
    size_t offset;            /* of the pointer in such an object */
    pycall_function *plain;   /* what it is in all of them */
} shortened;

static pycall_function *pointer_of(const void *function, size_t offset)
{
    pycall_function *pointer;
    memcpy(&pointer, (const char *)function + offset, sizeof pointer);
    return pointer;
}

static void *run(void *callable, void *const *args, size_t count, void *names)
{
    if (pycall_inner != MARK_FORWARD || callable != shortened.wrapper)
        return shortened.plain(callable, args, count, names);
    void *original = shortened.original;
    return pointer_of(original, shortened.offset)(original, args, count, names);
}

/* Where the pointer is in objects of this one's type, or 0. */
static size_t offset_in(const void *object, size_t head)
{
    const char *type;
    intptr_t size, offset;
    memcpy(&type, (const char *)object + head + OBJECT_TYPE * WORD, sizeof type);
    memcpy(&size, type + head + TYPE_SIZE * WORD, sizeof size);
    memcpy(&offset, type + head + TYPE_VECTORCALL * WORD, sizeof offset);
    bool fits = size > 0 && size <= LARGEST && offset >= (intptr_t)head && offset <= size - WORD;
    return fits && offset % WORD == 0 ? (size_t)offset : 0;
}

uint32_t *pycall_inner_here(void)
{
    return &pycall_inner;
}

bool pycall_shorten(void *wrapper, void *original, pycall_function *plain, pycall_set *set,
                    size_t head)
{
    pycall_function *ours = run;
    if (shortened.wrapper || (head != SHORT_HEAD && head != LONG_HEAD))
        return false;
    size_t offset = offset_in(wrapper, head);
    if (!offset || offset_in(original, head) != offset)
        return false;
    if (pointer_of(wrapper, offset) != plain || pointer_of(original, offset) != plain)
        return false;
    shortened.wrapper = wrapper;
    shortened.original = original;
    shortened.offset = offset;
    shortened.plain = plain;
    if (set)
        set(wrapper, run);
    else
        memcpy((char *)wrapper + offset, &ours, sizeof ours);
    return true;
}
