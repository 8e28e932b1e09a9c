/* cubin.c - see cubin.h. */
#include "cubin.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "mem.h"

#define MACHINE_CUDA 190
#define IMAGE_MOST (UINT64_C(1) << 30)
#define PREFIX ".nv.info."

/* An attribute: what follows, which one it is, and a number or how many bytes follow. */
struct attribute {
    uint8_t format, kind;
    uint16_t value;
};
enum { FORMAT_BYTES = 4, KIND_PARAMETER = 0x17 };

/* Of a parameter; its bytes stand in the upper bits of `size`. */
struct parameter {
    uint32_t index;
    uint16_t ordinal, offset;
    uint32_t size;
};
#define PARAMETER_SIZE_SHIFT 18

static bool is_cubin(const Elf64_Ehdr *elf)
{
    return memcmp(elf->e_ident, ELFMAG, SELFMAG) == 0 && elf->e_ident[EI_CLASS] == ELFCLASS64 &&
           elf->e_machine == MACHINE_CUDA && elf->e_shentsize == sizeof(Elf64_Shdr) &&
           elf->e_shoff < IMAGE_MOST && elf->e_shstrndx < elf->e_shnum;
}

static void read_parameter(const uint8_t *at, struct cubin_kernel *kernel, int32_t *highest)
{
    struct parameter parameter;
    memcpy(&parameter, at, sizeof parameter);
    if (parameter.ordinal >= CUBIN_PARAMETERS_MAX) {
        *highest = CUBIN_PARAMETERS_MAX;
        return;
    }
    kernel->parameters++;
    kernel->bytes[parameter.ordinal] = (uint16_t)(parameter.size >> PARAMETER_SIZE_SHIFT);
    if (parameter.ordinal > *highest)
        *highest = parameter.ordinal;
}

/* Each parameter has one entry; where one is missing nothing is known. */
static void read_attributes(const uint8_t *at, uint64_t bytes, struct cubin_kernel *kernel)
{
    const uint8_t *end = at + bytes;
    int32_t highest = -1;
    while (end - at >= (ptrdiff_t)sizeof(struct attribute)) {
        struct attribute attribute;
        memcpy(&attribute, at, sizeof attribute);
        at += sizeof attribute;
        if (attribute.format != FORMAT_BYTES)
            continue;
        if (end - at < attribute.value)
            break;
        if (attribute.kind == KIND_PARAMETER && attribute.value == sizeof(struct parameter))
            read_parameter(at, kernel, &highest);
        at += attribute.value;
    }
    if (kernel->parameters == 0 || kernel->parameters != highest + 1)
        kernel->parameters = -1;
}

struct cubin_kernel *cubin_read(const void *image)
{
    Elf64_Ehdr elf;
    struct cubin_kernel *kernels = NULL;
    memcpy(&elf, image, sizeof elf.e_ident);
    if (memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0)
        return NULL;
    memcpy(&elf, image, sizeof elf);
    if (!is_cubin(&elf))
        return NULL;
    const uint8_t *base = image;
    Elf64_Shdr names, section;
    memcpy(&names, base + elf.e_shoff + elf.e_shstrndx * sizeof names, sizeof names);
    for (uint32_t i = 0; i < elf.e_shnum; i++) {
        memcpy(&section, base + elf.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_name >= names.sh_size || section.sh_offset + section.sh_size > IMAGE_MOST)
            continue;
        const char *name = (const char *)base + names.sh_offset + section.sh_name;
        size_t length = strnlen(name, names.sh_size - section.sh_name), prefix = strlen(PREFIX);
        if (length <= prefix || strncmp(name, PREFIX, prefix) != 0)
            continue;
        struct cubin_kernel *kernel = mem_alloc(1, sizeof *kernel + length - prefix + 1);
        if (!kernel)
            break;
        kernel->magic = CUBIN_MAGIC;
        memcpy(kernel->name, name + prefix, length - prefix);
        read_attributes(base + section.sh_offset, section.sh_size, kernel);
        kernel->next = kernels;
        kernels = kernel;
    }
    return kernels;
}

void cubin_drop(struct cubin_kernel *kernels)
{
    while (kernels) {
        struct cubin_kernel *next = kernels->next;
        mem_free(kernels);
        kernels = next;
    }
}
