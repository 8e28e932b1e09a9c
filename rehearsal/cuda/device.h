/*
 * device.h - what the devices of the machine say of themselves. All are of one profile.
 */
#ifndef TIDEMARK_REHEARSAL_DEVICE_H
#define TIDEMARK_REHEARSAL_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile.h"

#define DEVICE_PCI_MAX 16
#define DEVICE_UUID_BYTES 16

/* Reads the settings from the environment and starts the machine, once: when the library is loaded,
 * or before, by whoever asks first. False: they cannot be read, and there is no device. */
bool device_open(void);
const struct profile *device_profile(void);
int32_t device_attribute(int32_t number, int32_t device);
/* Fills a cudaDeviceProp of the major version that the program was built against. */
void device_properties(void *out, int32_t device);
void device_pci(char *text, size_t room, int32_t device);
void device_uuid(uint8_t out[DEVICE_UUID_BYTES], int32_t device);

#endif
