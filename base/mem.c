#include "mem.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* 0 = never fail; n > 0: the nth call from now fails, and all after it. */
static _Atomic long fail_countdown;

static bool told_to_fail(void)
{
    long left = atomic_load_explicit(&fail_countdown, memory_order_relaxed);
    if (left == 0)
        return false;
    if (left == 1)
        return true;
    atomic_store_explicit(&fail_countdown, left - 1, memory_order_relaxed);
    return false;
}

void mem_fail_after(long n)
{
    atomic_store(&fail_countdown, n);
}

void *mem_alloc(size_t count, size_t size)
{
    if (told_to_fail())
        return NULL;
    return calloc(count ? count : 1, size ? size : 1);
}

void *mem_resize(void *old, size_t count, size_t size)
{
    if (told_to_fail() || (size && count > SIZE_MAX / size))
        return NULL;
    size_t bytes = count * size;
    return realloc(old, bytes ? bytes : 1);
}

char *mem_copy(const char *text, size_t bytes)
{
    char *copy = bytes < SIZE_MAX ? mem_resize(NULL, bytes + 1, 1) : NULL;
    if (!copy)
        return NULL;
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    return copy;
}

void mem_free(void *pointer)
{
    free(pointer);
}

bool mem_grow(void **array, size_t *cap, size_t need, size_t size)
{
    assert(size > 0 && (*array || !*cap));
    if (need <= *cap)
        return true;
    size_t want = *cap ? *cap : 16;
    while (want < need) {
        if (want > SIZE_MAX / 2)
            return false;
        want *= 2;
    }
    void *grown = mem_resize(*array, want, size);
    if (!grown)
        return false;
    *array = grown;
    *cap = want;
    return true;
}
