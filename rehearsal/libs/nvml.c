/* nvml.c - NVML, as PyTorch and monitors of training runs ask it. */
#include "device.h"
#include "machine.h"
#include "result_text.h"
#include "stub.h"

enum { NVML_FINE = 0, NVML_INVALID = 2, NVML_NOT_SUPPORTED = 3, NVML_NOT_FOUND = 6 };

/* A device's handle is its number, plus one. */
static int32_t device_of(const void *handle)
{
    return (int32_t)(uintptr_t)handle - 1;
}

static bool is_device(int32_t device)
{
    return device_open() && device >= 0 && device < machine_devices();
}

API(int, nvmlInit_v2, void)
{
    return device_open() ? NVML_FINE : NVML_NOT_FOUND;
}

API(int, nvmlInit, void)
{
    return nvmlInit_v2();
}

API(int, nvmlInitWithFlags, unsigned flags)
{
    (void)flags;
    return nvmlInit_v2();
}

API(int, nvmlShutdown, void)
{
    return NVML_FINE;
}

API(const char *, nvmlErrorString, int result)
{
    return result == NVML_FINE            ? "Success"
           : result == NVML_NOT_SUPPORTED ? "Not Supported"
           : result == NVML_NOT_FOUND     ? "Not Found"
                                          : "Invalid Argument";
}

API(int, nvmlSystemGetCudaDriverVersion_v2, int *version)
{
    *version = DRIVER_VERSION;
    return NVML_FINE;
}

API(int, nvmlSystemGetCudaDriverVersion, int *version)
{
    return nvmlSystemGetCudaDriverVersion_v2(version);
}

static int put_text(char *text, unsigned room, const char *value)
{
    if (strlen(value) >= room)
        return NVML_INVALID;
    memcpy(text, value, strlen(value) + 1);
    return NVML_FINE;
}

API(int, nvmlSystemGetDriverVersion, char *text, unsigned room)
{
    return put_text(text, room, "580.00.00");
}

API(int, nvmlDeviceGetCount_v2, unsigned *count)
{
    *count = device_open() ? (unsigned)machine_devices() : 0;
    return NVML_FINE;
}

API(int, nvmlDeviceGetHandleByIndex_v2, unsigned index, void **handle)
{
    *handle = (void *)(uintptr_t)(index + 1);
    return is_device((int32_t)index) ? NVML_FINE : NVML_INVALID;
}

/* "00000000:01:00.0" here, "0000:01:00.0" to CUDA. */
API(int, nvmlDeviceGetHandleByPciBusId_v2, const char *text, void **handle)
{
    char own[DEVICE_PCI_MAX];
    for (int32_t i = 0; device_open() && i < machine_devices(); i++) {
        size_t length, own_length;
        device_pci(own, sizeof own, i);
        length = strlen(text);
        own_length = strlen(own);
        if (length < own_length || strcmp(text + length - own_length, own) != 0)
            continue;
        *handle = (void *)(uintptr_t)(i + 1);
        return NVML_FINE;
    }
    return NVML_NOT_FOUND;
}

API(int, nvmlDeviceGetName, const void *handle, char *text, unsigned room)
{
    if (!is_device(device_of(handle)))
        return NVML_INVALID;
    return put_text(text, room, device_profile()->title);
}

API(int, nvmlDeviceGetIndex, const void *handle, unsigned *index)
{
    *index = (unsigned)device_of(handle);
    return is_device(device_of(handle)) ? NVML_FINE : NVML_INVALID;
}

#define UUID_TEXT_MAX 64

static void uuid_text(char text[UUID_TEXT_MAX], int32_t device)
{
    uint8_t b[DEVICE_UUID_BYTES];
    device_uuid(b, device);
    snprintf(text, UUID_TEXT_MAX,
             "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
             b[15]);
}

API(int, nvmlDeviceGetUUID, const void *handle, char *text, unsigned room)
{
    char own[UUID_TEXT_MAX];
    if (!is_device(device_of(handle)))
        return NVML_INVALID;
    uuid_text(own, device_of(handle));
    return put_text(text, room, own);
}

API(int, nvmlDeviceGetHandleByUUID, const char *text, void **handle)
{
    char own[UUID_TEXT_MAX];
    for (int32_t i = 0; device_open() && i < machine_devices(); i++) {
        uuid_text(own, i);
        if (strcmp(own, text) != 0)
            continue;
        *handle = (void *)(uintptr_t)(i + 1);
        return NVML_FINE;
    }
    return NVML_NOT_FOUND;
}

struct memory {
    unsigned long long total, free, used;
};

API(int, nvmlDeviceGetMemoryInfo, const void *handle, struct memory *memory)
{
    uint64_t free_bytes, total;
    if (!is_device(device_of(handle)))
        return NVML_INVALID;
    machine_memory(device_of(handle), &free_bytes, &total);
    *memory = (struct memory){total, free_bytes, total - free_bytes};
    return NVML_FINE;
}

API(int, nvmlDeviceGetCudaComputeCapability, const void *handle, int *major, int *minor)
{
    if (!is_device(device_of(handle)))
        return NVML_INVALID;
    *major = device_profile()->capability->major;
    *minor = device_profile()->capability->minor;
    return NVML_FINE;
}

API(int, nvmlDeviceGetComputeRunningProcesses_v3, const void *handle, unsigned *count, void *list)
{
    (void)handle, (void)list;
    *count = 0;
    return NVML_FINE;
}

API(int, nvmlDeviceGetComputeRunningProcesses, const void *handle, unsigned *count, void *list)
{
    return nvmlDeviceGetComputeRunningProcesses_v3(handle, count, list);
}

/* A card in no fabric of NVSwitches: all of the caller's record is 0, its state "not supported"
 * among them. The record's first word is its size, below the number of its version. PyTorch 2.13
 * takes no other answer where it maps segments. */
API(int, nvmlDeviceGetGpuFabricInfoV, const void *handle, unsigned *info)
{
    const unsigned size = *info & 0xffffff;
    if (!is_device(device_of(handle)) || size < sizeof *info)
        return NVML_INVALID;
    memset(info + 1, 0, size - sizeof *info);
    return NVML_FINE;
}

/* What a rehearsal has nothing to say of: heat, power, clocks, links, fabrics. */
#define NOT_SUPPORTED(name)                                                                        \
    API(int, name, void)                                                                           \
    {                                                                                              \
        return NVML_NOT_SUPPORTED;                                                                 \
    }
NOT_SUPPORTED(nvmlDeviceGetUtilizationRates)
NOT_SUPPORTED(nvmlDeviceGetTemperature)
NOT_SUPPORTED(nvmlDeviceGetPowerUsage)
NOT_SUPPORTED(nvmlDeviceGetClockInfo)
NOT_SUPPORTED(nvmlDeviceGetNvLinkState)
NOT_SUPPORTED(nvmlDeviceGetNvLinkRemoteDeviceType)
NOT_SUPPORTED(nvmlDeviceGetNvLinkRemotePciInfo_v2)
NOT_SUPPORTED(nvmlDeviceGetP2PStatus)
