/*
 * parameters.c - see parameters.h. Names are made readable by the C++ library that the program has;
 * a program without one has no kernels of C++.
 */
#include "parameters.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "argument.h"
#include "values.h"

#define STRUCT_BYTES 4096 /* no argument is larger that is looked through */
#define LAST_BYTES 1024   /* of one with no other behind it, as much as is looked at */

typedef char *(*demangle_fn)(const char *name, char *room, size_t *bytes, int *status);

static demangle_fn demangler(void)
{
    /* Python loads it with local scope, where a plain search does not see it. */
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    void *found = dlsym(library ? library : RTLD_DEFAULT, "__cxa_demangle");
    if (library)
        dlclose(library);
    demangle_fn function;
    memcpy(&function, &found, sizeof function);
    return function;
}

/* ---- the text ---- */

/* The parenthesis that the one at `end` closes. */
static const char *opening(const char *text, const char *end)
{
    int depth = 0;
    for (const char *at = end; at >= text; at--) {
        depth += *at == ')';
        depth -= *at == '(';
        if (depth == 0)
            return at;
    }
    return NULL;
}

struct text {
    const char *from, *to;
};

static bool is(struct text text, const char *what)
{
    return (size_t)(text.to - text.from) == strlen(what) &&
           memcmp(text.from, what, strlen(what)) == 0;
}

static bool ends_with(struct text text, const char *what)
{
    size_t bytes = strlen(what), length = (size_t)(text.to - text.from);
    return length >= bytes && memcmp(text.to - bytes, what, bytes) == 0;
}

static bool begins_with(struct text text, const char *what)
{
    size_t bytes = strlen(what);
    return (size_t)(text.to - text.from) >= bytes && memcmp(text.from, what, bytes) == 0;
}

/* Structures of PyTorch's that lead to nothing that is written. */
static bool is_plain(struct text text)
{
    static const char *const plain[] = {"at::PhiloxCudaState", "OffsetCalculator<",
                                        "TrivialOffsetCalculator<", "at::native::memory::LoadWith",
                                        "at::native::memory::StoreWith"};
    bool found = false;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        found |= begins_with(text, plain[i]);
    return found && !ends_with(text, "&");
}

/* Of an array of addresses, which says how many; 0: nobody says. */
static uint16_t bytes_said(struct text text)
{
    static const char *const arrays[] = {"std::array<char*, ", "at::detail::Array<char*, "};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if (begins_with(text, arrays[i]))
            return (uint16_t)(8 * strtoul(text.from + strlen(arrays[i]), NULL, 10));
    return 0;
}

static enum parameter_kind kind_of(struct text text)
{
    static const char *const plain[] = {"int",      "unsigned int", "long", "unsigned long",
                                        "float",    "double",       "bool", "unsigned long long",
                                        "long long"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (is(text, plain[i]))
            return PARAMETER_PLAIN;
    if (ends_with(text, " const*") || is_plain(text))
        return PARAMETER_PLAIN;
    return ends_with(text, "*") ? PARAMETER_ADDRESS : PARAMETER_STRUCT;
}

/* An address, or a tensor by its address and sizes. Numbers of one byte are no such: images are
 * made of these. What goes along with the keys of a sort, by CUB, are indices. */
static bool leads_to_whole(struct text text)
{
    static const char *const types[] = {"bool",         "short",         "int",
                                        "long",         "long long",     "unsigned short",
                                        "unsigned int", "unsigned long", "unsigned long long"};
    static const char tensor[] = "at::cuda::detail::TensorInfo<";
    struct text type = text;
    if (begins_with(text, tensor)) {
        type.from += sizeof tensor - 1;
        type.to = memchr(type.from, ',', (size_t)(text.to - type.from));
    } else if (ends_with(text, "OpaqueType<8>*")) {
        return true;
    } else if (ends_with(text, "*")) {
        type.to--;
    } else {
        return false;
    }
    bool found = false;
    for (size_t i = 0; type.to && i < sizeof types / sizeof *types; i++)
        found |= is(type, types[i]);
    return found;
}

static bool put(struct parameters *parameters, struct text text)
{
    text.from += *text.from == ' ';
    if (parameters->count == PARAMETERS_MOST)
        return false;
    if (text.to == text.from)
        return true;
    parameters->bytes[parameters->count] = bytes_said(text);
    parameters->whole[parameters->count] = leads_to_whole(text);
    parameters->any_whole |= parameters->whole[parameters->count];
    parameters->kinds[parameters->count++] = (uint8_t)kind_of(text);
    return true;
}

/* Brackets of all kinds count as one kind: C++ closes what it opens. */
static int deeper(const char *at)
{
    if (strchr("(<{[", *at))
        return 1;
    return strchr(")>}]", *at) && at[-1] != '-' ? -1 : 0;
}

void parameters_read(const char *readable, struct parameters *parameters)
{
    const char *end = strrchr(readable, ')');
    const char *from = end ? opening(readable, end) : NULL;
    int depth = 0;
    *parameters = (struct parameters){.count = from && !end[1] ? 0 : -1};
    for (const char *at = from ? ++from : NULL; parameters->count >= 0 && at <= end; at++) {
        bool ends = depth == 0 && (*at == ',' || at == end);
        if (ends && !put(parameters, (struct text){from, at}))
            parameters->count = -1;
        if (ends)
            from = at + 1;
        else
            depth += deeper(at);
    }
}

void parameters_of_name(const char *name, struct parameters *parameters)
{
    demangle_fn demangle = demangler();
    int status = -1;
    char *readable = demangle ? demangle(name, NULL, NULL, &status) : NULL;
    *parameters = (struct parameters){.count = -1};
    if (readable)
        parameters_read(readable, parameters);
    free(readable); /* the C++ library's */
}

/* ---- what it leads to ---- */

/* Words that are no addresses of known bytes forget nothing. */
LOOKS_BEYOND static void forget_at(const void *at)
{
    const uint64_t *word = at;
    values_forget_run(*word);
}

/* On the stack lie arguments that are passed by value. */
size_t parameters_readable(const void *at, size_t most)
{
    static _Thread_local uintptr_t low, high;
    uintptr_t address = (uintptr_t)at;
    pthread_attr_t attributes;
    if (!high && pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void *base;
        size_t bytes;
        pthread_attr_getstack(&attributes, &base, &bytes);
        pthread_attr_destroy(&attributes);
        low = (uintptr_t)base;
        high = low + bytes;
    }
    if (address < low || address >= high)
        return sizeof(uint64_t);
    return high - address < most ? high - address : most;
}

/* Up to the next argument on the stack: what is passed by value ends before it. */
static size_t bytes_of(const struct parameters *parameters, void **arguments, int32_t index)
{
    size_t bytes = parameters_readable(arguments[index], STRUCT_BYTES);
    bool is_last = true;
    if (parameters->bytes[index] && parameters->bytes[index] < bytes)
        return parameters->bytes[index];
    for (int32_t i = 0; i < parameters->count; i++) {
        uintptr_t distance = (uintptr_t)arguments[i] - (uintptr_t)arguments[index];
        if (i == index || distance == 0 || distance > bytes)
            continue;
        bytes = distance;
        is_last = false;
    }
    return is_last && bytes > LAST_BYTES ? LAST_BYTES : bytes;
}

LOOKS_BEYOND static void forget_struct(const char *at, size_t bytes)
{
    for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t))
        forget_at(at + i);
}

void parameters_forget(const struct parameters *parameters, void **arguments)
{
    if (parameters->count < 0)
        values_forget_all();
    for (int32_t i = 0; i < parameters->count; i++) {
        if (parameters->kinds[i] == PARAMETER_ADDRESS)
            forget_at(arguments[i]);
        else if (parameters->kinds[i] == PARAMETER_STRUCT)
            forget_struct(arguments[i], bytes_of(parameters, arguments, i));
    }
}

void parameters_forget_first(const struct parameters *parameters, void **arguments)
{
    if (parameters->count > 0 && parameters->kinds[0] != PARAMETER_PLAIN)
        forget_at(arguments[0]);
}
