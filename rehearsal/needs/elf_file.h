/*
 * elf_file.h - the dynamic symbols of a 64-bit ELF file, and the names of its sections. The file is
 * mapped and every place in it checked: it may be cut off or made to mislead.
 */
#ifndef TIDEMARK_REHEARSAL_ELF_FILE_H
#define TIDEMARK_REHEARSAL_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file {
    const uint8_t *bytes;
    size_t count;
};

int elf_open(struct elf_file *file, const char *path);
void elf_close(struct elf_file *file);
bool elf_has_section(const struct elf_file *file, const char *name);
/* Its bytes in the file; NULL and 0: there is none, or a part of it lies outside of the file. */
const uint8_t *elf_section(const struct elf_file *file, const char *name, uint64_t *bytes);

/* Calls `each` for every dynamic symbol with a name. */
typedef void (*elf_symbol_fn)(void *of, const char *name, bool is_defined);
void elf_symbols(const struct elf_file *file, elf_symbol_fn each, void *of);

#endif
