/* fake_cupti.c - see fake_cupti.h. As much of libcupti.so.13 as the source asks for. */
#include "fake_cupti.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NUMBER_FROM(variable, otherwise) (getenv(variable) ? atoi(getenv(variable)) : (otherwise))

struct fake_cupti fake_cupti = {.version = 130001};

int cuptiGetVersion(uint32_t *version);
int cuptiGetResultString(int result, const char **text);
int cuptiGetTimestamp(uint64_t *ns);
int cuptiSubscribe(abi_subscriber *subscriber, abi_callback_fn callback, void *own);
int cuptiSubscribe_v2(abi_subscriber *subscriber, abi_callback_fn callback, void *own,
                      struct abi_subscriber_params *params);
int cuptiUnsubscribe(abi_subscriber subscriber);
int cuptiEnableCallback(uint32_t on, abi_subscriber subscriber, int domain, uint32_t cbid);
int cuptiGetDeviceId(const void *context, uint32_t *device);
int cuptiActivityRegisterCallbacks(abi_request_fn request, abi_complete_fn complete);
int cuptiActivityEnable(int kind);
int cuptiActivityDisable(int kind);
int cuptiActivityFlushAll(uint32_t flags);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, struct abi_record **record);
int cuptiActivityGetNumDroppedRecords(const void *context, uint32_t stream, size_t *count);
int cuptiActivitySetAttribute(int attribute, size_t *bytes, void *value);
void fake_cupti_call(int domain, int place, uint32_t cbid, const void *params, const void *context,
                     int result, uint32_t correlation);

int cuptiGetVersion(uint32_t *version)
{
    *version = (uint32_t)NUMBER_FROM("FAKE_CUPTI_VERSION", (int)fake_cupti.version);
    return ABI_OK;
}

int cuptiGetResultString(int result, const char **text)
{
    *text = result == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_UNKNOWN";
    return ABI_OK;
}

int cuptiGetTimestamp(uint64_t *ns)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return ABI_OK;
}

int cuptiSubscribe(abi_subscriber *subscriber, abi_callback_fn callback, void *own)
{
    (void)own;
    int result = NUMBER_FROM("FAKE_CUPTI_SUBSCRIBE", fake_cupti.subscribe_result);
    if (result != ABI_OK)
        return result;
    if (fake_cupti.callback)
        return ABI_HELD;
    fake_cupti.callback = callback;
    fake_cupti.subscribed++;
    *subscriber = (abi_subscriber)&fake_cupti;
    return ABI_OK;
}

int cuptiSubscribe_v2(abi_subscriber *subscriber, abi_callback_fn callback, void *own,
                      struct abi_subscriber_params *params)
{
    const char *holder = fake_cupti.holder ? fake_cupti.holder : "CUPTI for the other one";
    int result = cuptiSubscribe(subscriber, callback, own);
    if (result == ABI_HELD && params->old_name && strlen(holder) < params->old_bytes)
        memcpy(params->old_name, holder, strlen(holder) + 1);
    return result;
}

int cuptiUnsubscribe(abi_subscriber subscriber)
{
    if ((void *)subscriber != &fake_cupti || !fake_cupti.callback)
        return 1;
    fake_cupti.callback = NULL;
    fake_cupti.unsubscribed++;
    return ABI_OK;
}

int cuptiEnableCallback(uint32_t on, abi_subscriber subscriber, int domain, uint32_t cbid)
{
    (void)domain;
    if ((void *)subscriber != &fake_cupti || (domain == ABI_DRIVER && cbid > 760))
        return 1; /* an old library does not know the newest calls */
    fake_cupti.enabled += on && fake_cupti.enable_result == ABI_OK;
    return fake_cupti.enable_result;
}

int cuptiGetDeviceId(const void *context, uint32_t *device)
{
    *device = (uint32_t)(uintptr_t)context & 0xf;
    return ABI_OK;
}

int cuptiActivityRegisterCallbacks(abi_request_fn request, abi_complete_fn complete)
{
    fake_cupti.request = request;
    fake_cupti.complete = complete;
    return ABI_OK;
}

int cuptiActivityEnable(int kind)
{
    int result = NUMBER_FROM("FAKE_CUPTI_ACTIVITY", fake_cupti.activity_result);
    if (result != ABI_OK)
        return result;
    fake_cupti.kinds |= 1ull << kind;
    return ABI_OK;
}

int cuptiActivityDisable(int kind)
{
    fake_cupti.kinds &= ~(1ull << kind);
    return ABI_OK;
}

int cuptiActivityFlushAll(uint32_t flags)
{
    uint8_t *buffer = NULL;
    size_t bytes = 0, most = 0, used = 0;
    fake_cupti.flushes++;
    fake_cupti.forced += (flags & ABI_FLUSH_FORCED) != 0;
    if (!fake_cupti.queued_count || !fake_cupti.request)
        return ABI_OK;
    fake_cupti.request(&buffer, &bytes, &most);
    for (int i = 0; buffer && i < fake_cupti.queued_count; i++) {
        memcpy(buffer + used, fake_cupti.queued[i], 256);
        used += 256;
    }
    fake_cupti.queued_count = 0;
    if (buffer)
        fake_cupti.complete(NULL, 0, buffer, bytes, used);
    return ABI_OK;
}

/* All records of ours have one size; kind 99 is one that cannot be stepped over. */
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, struct abi_record **record)
{
    uint8_t *at = *record ? (uint8_t *)*record + 256 : buffer;
    if (at >= buffer + valid)
        return ABI_LIMIT;
    *record = (struct abi_record *)(void *)at;
    return (*record)->kind == 99 ? ABI_INVALID_KIND : ABI_OK;
}

int cuptiActivityGetNumDroppedRecords(const void *context, uint32_t stream, size_t *count)
{
    (void)context;
    (void)stream;
    *count = (size_t)fake_cupti.dropped;
    fake_cupti.dropped = 0;
    return ABI_OK;
}

int cuptiActivitySetAttribute(int attribute, size_t *bytes, void *value)
{
    if (*bytes == 1 && *(uint8_t *)value == 1)
        fake_cupti.attributes |= 1ull << attribute;
    return ABI_OK;
}

void fake_cupti_call(int domain, int place, uint32_t cbid, const void *params, const void *context,
                     int result, uint32_t correlation)
{
    uint64_t own = 0;
    struct abi_callback data = {
        .place = (uint32_t)place,
        .function = "?",
        .params = params,
        .result = &result,
        .context = context,
        .own = &own,
        .correlation = correlation,
    };
    struct abi_resource_data resource = {.context = context};
    if (fake_cupti.callback)
        fake_cupti.callback(NULL, domain, cbid,
                            domain == ABI_RESOURCE ? (const void *)&resource : &data);
}
