/* kernels.c - makes a program one that was built for capability 8.0 only: what its file says of
 * that, as far as it is read (rehearsal/needs/fatbin.h). Nothing of it is ever launched. */
#include <stdint.h>

/* Whoever carries kernels registers them with the runtime. */
extern void **__cudaRegisterFatBinary(void *) __attribute__((weak));
void **(*const kernels_registration)(void *) = __cudaRegisterFatBinary;

struct container {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;
    struct {
        uint16_t kind, version;
        uint32_t header_bytes;
        uint64_t bytes;
        uint32_t rest[3], capability;
        uint64_t code;
    } entry;
};

__attribute__((section(".nv_fatbin"), used)) static const struct container kernels = {
    .magic = 0xba55ed50,
    .version = 1,
    .header_bytes = 16,
    .bytes = sizeof kernels.entry,
    .entry = {.kind = 2, .version = 1, .header_bytes = 32, .bytes = 8, .capability = 80}};
