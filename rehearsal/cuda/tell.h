/*
 * tell.h - calls that whoever listens by CUPTI is told of: each entry point that gives or takes
 * memory says so at its begin and its end.
 *
 *     API(int, cuMemFree_v2, uint64_t address)
 *     {
 *         TELL(cuMemFree_v2, address);
 *         return TOLD(... what is done ...);
 *     }
 *
 * The parameters are words, as told.h has it. Such a call starts the driver, and who is injected
 * then hears of it already.
 */
#ifndef TIDEMARK_REHEARSAL_TELL_H
#define TIDEMARK_REHEARSAL_TELL_H

#include "context.h"
#include "current.h"
#include "told.h"

static inline struct told_place tell_place(void)
{
    int32_t device = current_device();
    return (struct told_place){.context = context_made(device), .device = device};
}

static inline void tell_begin(struct told *told, enum told_call call, const uint64_t *params)
{
    context_start_driver();
    told_begin(told, call, params, tell_place());
}

static inline int tell_end(struct told *told, int result)
{
    return told_end(told, result, tell_place());
}

#define TELL(call, ...)                                                                            \
    const uint64_t told_params[] = {__VA_ARGS__};                                                  \
    struct told told;                                                                              \
    tell_begin(&told, TOLD_##call, told_params)
#define TOLD(result) tell_end(&told, (result))

#endif
