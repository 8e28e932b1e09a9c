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
void fake_cupti_memory(uint32_t operation, uint32_t kind, uint64_t address, uint64_t bytes,
                       uint32_t correlation);

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
    memset(fake_cupti.heard, 0, sizeof fake_cupti.heard);
    fake_cupti.unsubscribed++;
    return ABI_OK;
}

int cuptiEnableCallback(uint32_t on, abi_subscriber subscriber, int domain, uint32_t cbid)
{
    (void)domain;
    if ((void *)subscriber != &fake_cupti || (domain == ABI_DRIVER && cbid > 760))
        return 1; /* an old library does not know the newest calls */
    if (fake_cupti.on_enable)
        fake_cupti.on_enable(domain, cbid);
    fake_cupti.enabled += on && fake_cupti.enable_result == ABI_OK;
    if (domain == ABI_DRIVER && fake_cupti.enable_result == ABI_OK)
        fake_cupti.heard[cbid] = on != 0;
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
    fake_cupti.registered++;
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
    if (fake_cupti.on_disable)
        fake_cupti.on_disable(kind);
    fake_cupti.kinds &= ~(1ull << kind);
    return ABI_OK;
}

static void ask_for_buffer(void)
{
    size_t most = 0;
    fake_cupti.buffer = NULL;
    fake_cupti.buffer_used = fake_cupti.buffer_bytes = 0;
    if (fake_cupti.request)
        fake_cupti.request(&fake_cupti.buffer, &fake_cupti.buffer_bytes, &most);
    if (!fake_cupti.buffer || !(fake_cupti.attributes & 1ull << ABI_ATTR_ZEROED_BUFFERS))
        return;
    for (size_t i = 0; i < fake_cupti.buffer_bytes; i++)
        if (fake_cupti.buffer[i]) {
            fake_cupti.dirty++;
            return;
        }
}

static void give_back(void)
{
    uint8_t *buffer = fake_cupti.buffer;
    fake_cupti.buffer = NULL;
    if (buffer && fake_cupti.complete)
        fake_cupti.complete(NULL, 0, buffer, fake_cupti.buffer_bytes, fake_cupti.buffer_used);
}

static void put_record(const void *record)
{
    if (fake_cupti.buffer && fake_cupti.buffer_used + 256 > fake_cupti.buffer_bytes)
        give_back();
    if (!fake_cupti.buffer)
        ask_for_buffer();
    if (!fake_cupti.buffer) {
        fake_cupti.left_out++;
        return;
    }
    memcpy(fake_cupti.buffer + fake_cupti.buffer_used, record, 256);
    fake_cupti.buffer_used += 256;
}

int cuptiActivityFlushAll(uint32_t flags)
{
    fake_cupti.flushes++;
    fake_cupti.forced += (flags & ABI_FLUSH_FORCED) != 0;
    for (int i = 0; i < fake_cupti.queued_count && fake_cupti.request; i++)
        put_record(fake_cupti.queued[i]);
    if (fake_cupti.request)
        fake_cupti.queued_count = 0;
    give_back();
    return ABI_OK;
}

void fake_cupti_memory(uint32_t operation, uint32_t kind, uint64_t address, uint64_t bytes,
                       uint32_t correlation)
{
    char record[256] = {0};
    const struct abi_memory memory = {
        .kind = ABI_MEMORY2,
        .operation = operation,
        .memory_kind = kind,
        .address = address,
        .bytes = bytes,
        .correlation = correlation,
        .time = ++fake_cupti.now,
    };
    if (!(fake_cupti.kinds & 1ull << ABI_MEMORY2))
        return;
    memcpy(record, &memory, sizeof memory);
    put_record(record);
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
    else if (*bytes == 1)
        fake_cupti.attributes &= ~(1ull << attribute);
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
    if (fake_cupti.callback && (domain != ABI_DRIVER || fake_cupti.heard[cbid]))
        fake_cupti.callback(NULL, domain, cbid,
                            domain == ABI_RESOURCE ? (const void *)&resource : &data);
}
