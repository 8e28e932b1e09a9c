/* needs.c - see needs.h. */
#include "needs.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "error.h"
#include "mem.h"

#define REGISTRATION "__cudaRegisterFatBinary"

/* Names that the stand-in defines: texts in its file, sorted. */
struct names {
    const char **list;
    size_t count, cap;
    bool broken; /* no memory */
};

struct search {
    const struct names *have;
    struct needs *needs;
    bool is_registered; /* it registers kernels with a runtime outside of it */
};

/* Libraries that work without a GPU, or that nothing here stands in for, are not asked for. */
bool needs_is_of_cuda(const char *name)
{
    static const char *const prefixes[] = {"cuda",  "cublas", "cudnn", "cusolver", "cusparse",
                                           "cufft", "nccl",   "nvml",  "cuFile"};
    if (strncmp(name, "__cuda", 6) == 0)
        return true;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t length = strlen(prefixes[i]);
        if (strncmp(name, prefixes[i], length) == 0 && isupper((unsigned char)name[length]))
            return true;
    }
    return strncmp(name, "cu", 2) == 0 && isupper((unsigned char)name[2]);
}

static void collect(void *of, const char *name, bool is_defined)
{
    struct names *names = of;
    if (!is_defined || names->broken)
        return;
    names->broken = !MEM_GROW(names->list, names->cap, names->count + 1);
    if (!names->broken)
        names->list[names->count++] = name;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void miss(struct needs *needs, const char *name)
{
    size_t used = strlen(needs->names);
    if (needs->missing++ < NEEDS_NAMED)
        snprintf(needs->names + used, sizeof needs->names - used, "%s%.60s", used ? ", " : "",
                 name);
}

static void look(void *of, const char *name, bool is_defined)
{
    struct search *search = of;
    if (is_defined || !needs_is_of_cuda(name))
        return;
    search->is_registered |= strcmp(name, REGISTRATION) == 0;
    if (!search->have->count ||
        !bsearch(&name, search->have->list, search->have->count, sizeof name, by_text))
        miss(search->needs, name);
}

static void look_for_registration(void *of, const char *name, bool is_defined)
{
    bool *is_registered = of;
    *is_registered |= !is_defined && strcmp(name, REGISTRATION) == 0;
}

bool needs_has_runtime(const char *path)
{
    struct elf_file file;
    bool is_registered = false;
    if (elf_open(&file, path) != BASE_OK)
        return false;
    bool kernels = elf_has_section(&file, ".nv_fatbin");
    if (kernels)
        elf_symbols(&file, look_for_registration, &is_registered);
    elf_close(&file);
    return kernels && !is_registered;
}

int needs_of_file(const char *path, const char *stand_in, struct needs *needs)
{
    struct elf_file program, library;
    struct names have = {0};
    struct search search = {&have, needs, false};
    *needs = (struct needs){0};
    int err = elf_open(&program, path);
    if (err)
        return err;
    err = elf_open(&library, stand_in);
    if (!err) {
        elf_symbols(&library, collect, &have);
        if (have.count)
            qsort(have.list, have.count, sizeof *have.list, by_text);
        elf_symbols(&program, look, &search);
        needs->has_runtime = elf_has_section(&program, ".nv_fatbin") && !search.is_registered;
        err = have.broken ? ERR_NOMEM : BASE_OK;
    }
    mem_free(have.list);
    elf_close(&library);
    elf_close(&program);
    return err;
}
