/*
 * device.c - see device.h.
 */
#include "device.h"

#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_abi.h"
#include "current.h"
#include "error.h"
#include "machine.h"
#include "settings.h"

#define CUDA_MAJOR_USUAL 13
#define PROP_BYTES_12 1032
#define PROP_BYTES_13 1008
#define PROP_TITLE 0
#define PROP_UUID 256
#define PROP_MEMORY 288

static struct {
    pthread_once_t once;
    bool opened;
    struct settings settings;
} device = {.once = PTHREAD_ONCE_INIT};

static void open_once(void)
{
    char why[128];
    const char *text = getenv(SETTINGS_ENV);
    struct settings *settings = &device.settings;
    if (!text)
        return;
    if (settings_read(text, settings, why, sizeof why) != BASE_OK) {
        fprintf(stderr, "tidemark: no GPU is rehearsed: " SETTINGS_ENV ": %s\n", why);
        return;
    }
    struct machine_options options = {
        .devices = settings->devices, .memory = settings->gpu.memory, .context = settings->context};
    device.opened = machine_start(&options) == BASE_OK;
}

bool device_open(void)
{
    pthread_once(&device.once, open_once);
    return device.opened;
}

/* Any entry point may be the first that a program calls. */
__attribute__((constructor)) static void open_at_start(void)
{
    (void)device_open();
}

const struct profile *device_profile(void)
{
    return &device.settings.gpu;
}

/* "libcudart.so.12", wherever it lies: the program was built against this one. */
static int see_library(struct dl_phdr_info *info, size_t size, void *context)
{
    static const char name[] = "libcudart.so.";
    int *major = context;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *file = slash ? slash + 1 : info->dlpi_name;
    (void)size;
    if (strncmp(file, name, sizeof name - 1) == 0)
        *major = atoi(file + sizeof name - 1);
    return *major != 0;
}

/* Libraries come while the program runs: asked again until it is known. */
int cuda_major(void)
{
    static atomic_int known;
    int major = device.settings.cuda ? device.settings.cuda : atomic_load(&known);
    if (!major) {
        dl_iterate_phdr(see_library, &major);
        atomic_store(&known, major);
    }
    return major ? major : CUDA_MAJOR_USUAL;
}

int32_t device_attribute(int32_t number, int32_t which)
{
    const struct profile *p = &device.settings.gpu;
    const struct capability *c = p->capability;
    switch (number) {
#define ATTRIBUTE(n, value)                                                                        \
    case n:                                                                                        \
        return value;
#include "attributes.def"
#undef ATTRIBUTE
    default:
        return 0;
    }
}

/* ---- cudaDeviceProp ---- */

static const struct property {
    int16_t at_12, at_13;
    int16_t bytes, attribute;
} properties[] = {
#define PROPERTY(at_12, at_13, bytes, attribute) {at_12, at_13, bytes, attribute},
#include "properties.def"
#undef PROPERTY
};

void device_properties(void *out, int32_t which)
{
    bool later = cuda_major() >= 13;
    char *bytes = out;
    uint64_t memory = device.settings.gpu.memory;
    memset(out, 0, later ? PROP_BYTES_13 : PROP_BYTES_12);
    snprintf(bytes + PROP_TITLE, PROFILE_TITLE_MAX, "%s", device.settings.gpu.title);
    device_uuid((uint8_t *)bytes + PROP_UUID, which);
    memcpy(bytes + PROP_MEMORY, &memory, sizeof memory);
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
        const struct property *it = &properties[i];
        int at = later ? it->at_13 : it->at_12;
        int64_t value = device_attribute(it->attribute, which);
        if (at >= 0)
            memcpy(bytes + at, &value, (size_t)it->bytes); /* little-endian */
    }
}

void device_pci(char *text, size_t room, int32_t which)
{
    snprintf(text, room, "0000:%02x:00.0", (unsigned)device_attribute(33, which));
}

void device_uuid(uint8_t out[DEVICE_UUID_BYTES], int32_t which)
{
    memset(out, 0, DEVICE_UUID_BYTES);
    memcpy(out, "tidemark", 8);
    out[DEVICE_UUID_BYTES - 1] = (uint8_t)which;
}
