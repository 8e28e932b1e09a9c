/*
 * fake_nvtx.h - plays NVTX's part where NVIDIA's headers are not: the calls that the tests make, by
 * the names that they have there, through a table of functions that an injection may fill. Each
 * program and library that is built with fake_nvtx.c has a table of its own.
 */
#ifndef TIDEMARK_TESTS_FAKE_NVTX_H
#define TIDEMARK_TESTS_FAKE_NVTX_H

#include <stdint.h>
#include <wchar.h>

#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))
#define NVTX_MESSAGE_TYPE_ASCII 1
#define NVTX_MESSAGE_TYPE_REGISTERED 3
#define NVTX_PAYLOAD_TYPE_INT64 2

typedef uint64_t nvtxRangeId_t;
typedef const void *nvtxDomainHandle_t;
typedef const void *nvtxStringHandle_t;

typedef struct {
    uint16_t version, size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType, reserved0;
    union {
        int64_t llValue;
    } payload;
    int32_t messageType;
    union {
        const char *ascii;
        nvtxStringHandle_t registered;
    } message;
} nvtxEventAttributes_t;

void nvtxMarkA(const char *message);
void nvtxMarkEx(const nvtxEventAttributes_t *attributes);
nvtxRangeId_t nvtxRangeStartA(const char *message);
void nvtxRangeEnd(nvtxRangeId_t id);
int nvtxRangePushA(const char *message);
int nvtxRangePushW(const wchar_t *message);
int nvtxRangePop(void);
void nvtxDomainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes);
nvtxRangeId_t nvtxDomainRangeStartEx(nvtxDomainHandle_t domain,
                                     const nvtxEventAttributes_t *attributes);
void nvtxDomainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t id);
int nvtxDomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes);
int nvtxDomainRangePop(nvtxDomainHandle_t domain);
nvtxDomainHandle_t nvtxDomainCreateA(const char *name);
nvtxStringHandle_t nvtxDomainRegisterStringA(nvtxDomainHandle_t domain, const char *string);

#endif
