/*
 * cubin.h - how many parameters the kernels of an image have, and of which sizes. An image for the
 * device is an ELF file; of each kernel it has a section of attributes, with an entry for each
 * parameter. Other images, text and archives, are not looked into.
 */
#ifndef TIDEMARK_REHEARSAL_CUBIN_H
#define TIDEMARK_REHEARSAL_CUBIN_H

#include <stdint.h>

#define CUBIN_PARAMETERS_MAX 256
#define CUBIN_BYTES_MIN 64 /* of a file that may be one */

#define CUBIN_MAGIC UINT64_C(0x74696465636f7265)

struct cubin_kernel {
    uint64_t magic; /* CUBIN_MAGIC: a handle that is one of these */
    struct cubin_kernel *next;
    int32_t parameters; /* -1: not known */
    uint16_t bytes[CUBIN_PARAMETERS_MAX];
    char name[];
};

/* All kernels of an image; NULL: it is none of these, or there is no memory. */
struct cubin_kernel *cubin_read(const void *image);
void cubin_drop(struct cubin_kernel *kernels);

#endif
