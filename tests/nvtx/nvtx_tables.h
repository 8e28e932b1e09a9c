/*
 * nvtx_tables.h - NVTX's part towards an injection, in one program: two tables of functions that it
 * fills, and calls through them.
 */
#ifndef TIDEMARK_TESTS_NVTX_TABLES_H
#define TIDEMARK_TESTS_NVTX_TABLES_H

#include <stdbool.h>

#include "nvtx.h"

static nvtx_function core[NVTX_CORE_COUNT], core2[NVTX_CORE2_COUNT];
static nvtx_function *core_table[NVTX_CORE_COUNT + 1], *core2_table[NVTX_CORE2_COUNT + 1];
static unsigned core_count = NVTX_CORE_COUNT; /* a test may have less */
static bool has_core2 = true;

static inline int module_table(int module, nvtx_function ***table, unsigned *count)
{
    if (module == NVTX_MODULE_CORE) {
        for (unsigned i = 1; i < NVTX_CORE_COUNT; i++)
            core_table[i] = &core[i];
        *table = core_table;
        *count = core_count;
        return 1;
    }
    if (module == NVTX_MODULE_CORE2 && has_core2) {
        for (unsigned i = 1; i < NVTX_CORE2_COUNT; i++)
            core2_table[i] = &core2[i];
        *table = core2_table;
        *count = NVTX_CORE2_COUNT;
        return 1;
    }
    return 0;
}

static struct nvtx_callbacks callbacks = {sizeof callbacks, module_table};

static inline const void *tables(uint32_t what)
{
    return what == NVTX_EXPORT_CALLBACKS ? &callbacks : NULL;
}

#define CALL(type, table, at) ((type)(table)[at])

#endif
