/*
 * told_abi.h - what a program that uses CUPTI is given of its structs, declared by hand. A program
 * reads them by the headers that it was built with: members only ever come behind these, and
 * tests/rehearsal compares them with what the guest reads.
 */
#ifndef TIDEMARK_REHEARSAL_TOLD_ABI_H
#define TIDEMARK_REHEARSAL_TOLD_ABI_H

#include <stddef.h>
#include <stdint.h>

enum told_result {
    TOLD_FINE = 0,
    TOLD_WRONG = 1, /* a parameter */
    TOLD_LIMIT = 12,
    TOLD_QUEUE_EMPTY = 18,
    TOLD_INVALID_KIND = 21,
    TOLD_NOT_SUPPORTED = 27,
    TOLD_HELD = 39, /* by another subscriber */
    TOLD_UNKNOWN = 999
};

enum told_domain { TOLD_DRIVER = 1, TOLD_RUNTIME = 2, TOLD_RESOURCE = 3, TOLD_DOMAINS = 9 };
enum told_site { TOLD_ENTER = 0, TOLD_EXIT = 1 };
enum told_resource_number { TOLD_CONTEXT_CREATED = 1, TOLD_RESOURCES = 32 };

/* CUpti_CallbackData */
struct told_data {
    uint32_t site;
    const char *function;
    const void *params;
    const void *result; /* at the exit */
    const char *symbol;
    const void *context; /* current in the thread, or NULL */
    uint32_t context_number;
    uint64_t *own; /* the listener's, the same at enter and exit */
    uint32_t correlation;
};

/* CUpti_ResourceData */
struct told_resource {
    const void *context;
    void *handle;
    void *descriptor;
};

typedef void (*told_function)(void *own, int domain, uint32_t number, const void *data);

/* CUpti_SubscriberParams, of 13.0 */
struct told_subscriber_params {
    size_t bytes;
    const char *name;
    char *old_name; /* gets the name of who has subscribed */
    size_t old_bytes;
};

/* ---- records ---- */

enum { TOLD_MEMORY2 = 49 };
enum told_operation { TOLD_ALLOCATION = 1, TOLD_RELEASE = 2 };
enum told_memory_kind { TOLD_PINNED = 2, TOLD_DEVICE = 3, TOLD_MANAGED = 5 };
#define TOLD_NO_STREAM 0xffffffffu
enum { TOLD_POOL_LOCAL = 1 };

/* CUpti_ActivityMemory4 */
struct told_memory {
    uint32_t kind, operation, memory_kind, correlation;
    uint64_t address, bytes, time, pc;
    uint32_t process, device, context, stream;
    const char *name;
    uint32_t is_async, padding;
    uint32_t pool_type, padding2;
    uint64_t pool, pool_threshold, pool_bytes, pool_used;
    const char *source;
};

typedef void (*told_request)(uint8_t **buffer, size_t *bytes, size_t *records);
typedef void (*told_complete)(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                              size_t valid);

#endif
