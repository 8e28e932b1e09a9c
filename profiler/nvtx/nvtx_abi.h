/*
 * nvtx_abi.h - the little of NVTX's binary interface that an injection needs, declared here so that
 * nothing of NVIDIA's is needed to build: tests/nvtx holds it against the real headers.
 *
 * NVTX lives in headers: every library that uses it has a table of function pointers of its own. On
 * its first call it loads the file that NVTX_INJECTION64_PATH names and calls
 * InitializeInjectionNvtx2 with a function that gives out its tables; the injection puts its own
 * functions where the entries of the tables point. What it leaves alone does nothing.
 */
#ifndef TIDEMARK_PROFILER_NVTX_ABI_H
#define TIDEMARK_PROFILER_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define NVTX_EXPORT_CALLBACKS 1u
#define NVTX_NOT_TRACKED (-2) /* what a push or pop returns where nobody counts levels */

enum nvtx_module { NVTX_MODULE_CORE = 1, NVTX_MODULE_CORE2 = 5 };

enum nvtx_core { /* places in the table of NVTX_MODULE_CORE */
                 NVTX_MARK_EX = 1,
                 NVTX_MARK_A,
                 NVTX_MARK_W,
                 NVTX_RANGE_START_EX,
                 NVTX_RANGE_START_A,
                 NVTX_RANGE_START_W,
                 NVTX_RANGE_END,
                 NVTX_RANGE_PUSH_EX,
                 NVTX_RANGE_PUSH_A,
                 NVTX_RANGE_PUSH_W,
                 NVTX_RANGE_POP,
                 NVTX_CORE_COUNT = 16
};

enum nvtx_core2 { /* of NVTX_MODULE_CORE2 */
                  NVTX_DOMAIN_MARK_EX = 1,
                  NVTX_DOMAIN_RANGE_START_EX,
                  NVTX_DOMAIN_RANGE_END,
                  NVTX_DOMAIN_RANGE_PUSH_EX,
                  NVTX_DOMAIN_RANGE_POP,
                  NVTX_DOMAIN_REGISTER_STRING_A = 10,
                  NVTX_DOMAIN_REGISTER_STRING_W,
                  NVTX_DOMAIN_CREATE_A,
                  NVTX_DOMAIN_CREATE_W,
                  NVTX_CORE2_COUNT = 16
};

typedef void (*nvtx_function)(void);

struct nvtx_callbacks { /* what NVTX_EXPORT_CALLBACKS gives */
    size_t size;
    /* Entry i of *table is where the pointer to function i stands, or NULL. 0 = there is none. */
    int (*module_table)(int module, nvtx_function ***table, unsigned *count);
};

typedef const void *(*nvtx_export)(uint32_t what);

enum nvtx_message_type { NVTX_MESSAGE_TEXT = 1, NVTX_MESSAGE_WIDE = 2, NVTX_MESSAGE_HANDLE = 3 };
enum nvtx_payload_type {
    NVTX_PAYLOAD_U64 = 1,
    NVTX_PAYLOAD_I64 = 2,
    NVTX_PAYLOAD_U32 = 4,
    NVTX_PAYLOAD_I32 = 5
};

struct nvtx_attributes {
    uint16_t version;
    uint16_t size; /* of the whole, as the caller knew it */
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type; /* enum nvtx_payload_type, and others */
    int32_t reserved;
    union {
        uint64_t u64;
        int64_t i64;
        uint32_t u32;
        int32_t i32;
    } payload;
    int32_t message_type; /* enum nvtx_message_type, 0 = none */
    union {
        const char *text;
        const wchar_t *wide;
        const void *handle; /* of a registered string */
    } message;
};

#endif
