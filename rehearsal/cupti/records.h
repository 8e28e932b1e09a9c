/*
 * records.h - CUPTI's records, as far as they are of memory: MEMORY2. Kernels and copies take no
 * time here, so there are none of them, and who asks for them is told so.
 *
 * Whoever registered last gives the buffers and gets them back; a buffer is asked for with the
 * first record that goes into it, in the thread of the call. A record for which there is none is
 * counted as dropped.
 */
#ifndef TIDEMARK_REHEARSAL_RECORDS_H
#define TIDEMARK_REHEARSAL_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "told_abi.h"

bool records_are_on(void);

/* A piece of memory that was given or taken. Of an asynchronous one, the stream's number. */
struct memory_record {
    enum told_operation operation;
    enum told_memory_kind kind;
    uint64_t address, bytes;
    int32_t device;
    bool is_async;
    uint32_t stream;
};
void records_add(const struct memory_record *record);

#endif
