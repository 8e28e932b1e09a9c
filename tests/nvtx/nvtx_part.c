/* nvtx_part.c - see nvtx_part.h. */
#include "nvtx_part.h"

#include "nvtx_use.h"

#define SHOWN __attribute__((visibility("default")))

static nvtxDomainHandle_t own;

SHOWN int part_do(const char *name, void (*inside)(void))
{
    nvtxEventAttributes_t attributes = nvtx_named(name, 0);
    if (!own)
        own = nvtxDomainCreateA("NCCL");
    int level = nvtxDomainRangePushEx(own, &attributes);
    if (inside)
        inside();
    nvtxDomainRangePop(own);
    return level;
}

SHOWN void part_mark(const char *name, long value)
{
    nvtxEventAttributes_t attributes = nvtx_named(name, value);
    if (!own)
        own = nvtxDomainCreateA("NCCL");
    nvtxDomainMarkEx(own, &attributes);
}
