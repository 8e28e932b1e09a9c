/* nvtx_use.h - NVTX as NVIDIA has it, or what plays its part. */
#ifndef TIDEMARK_TESTS_NVTX_USE_H
#define TIDEMARK_TESTS_NVTX_USE_H

#ifdef TEST_REAL_NVTX
#include <nvtx3/nvToolsExt.h>
#else
#include "fake_nvtx.h"
#endif

static inline nvtxEventAttributes_t nvtx_named(const char *name, long value)
{
    nvtxEventAttributes_t made = {.version = NVTX_VERSION};
    made.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    made.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    made.payload.llValue = value;
    made.messageType = NVTX_MESSAGE_TYPE_ASCII;
    made.message.ascii = name;
    return made;
}

#endif
