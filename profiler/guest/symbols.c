/*
 * symbols.c - see symbols.h: the GNU hash table of each loaded object. A header of four
 * words (buckets, first hashed symbol, Bloom words, Bloom shift), the Bloom filter, the buckets
 * (the first symbol of a chain), then the hashes of the chains' symbols, bit 0 = last of its chain.
 */
#include "symbols.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

struct object {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *hash;
};

struct search {
    struct symbol *symbols;
    size_t count;
    bool behind, passed;
    uintptr_t around; /* 0: anywhere */
};

/* The loader relocates these entries in place, except in the kernel's own object. */
static const void *entry_address(const struct object *object, ElfW(Addr) value)
{
    return (const void *)(value < object->base ? value + object->base : value);
}

static bool read_object(const struct dl_phdr_info *info, struct object *object)
{
    const ElfW(Dyn) *entry = NULL;
    *object = (struct object){.base = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const ElfW(Dyn) *)(object->base + info->dlpi_phdr[i].p_vaddr);
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB)
            object->symbols = entry_address(object, entry->d_un.d_ptr);
        else if (entry->d_tag == DT_STRTAB)
            object->strings = entry_address(object, entry->d_un.d_ptr);
        else if (entry->d_tag == DT_GNU_HASH)
            object->hash = entry_address(object, entry->d_un.d_ptr);
    }
    return object->symbols && object->strings && object->hash;
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static const ElfW(Sym) * lookup(const struct object *object, const char *name)
{
    uint32_t buckets = object->hash[0], first = object->hash[1], blooms = object->hash[2];
    const uint64_t *bloom = (const uint64_t *)(const void *)(object->hash + 4);
    const uint32_t *bucket = (const uint32_t *)(const void *)(bloom + blooms);
    const uint32_t *chain = bucket + buckets;
    uint32_t hash = hash_of(name);
    if (buckets == 0 || blooms == 0)
        return NULL;
    uint64_t word = bloom[hash / 64 % blooms];
    if (!(word >> (hash % 64) & 1) || !(word >> ((hash >> object->hash[3]) % 64) & 1))
        return NULL;
    for (uint32_t i = bucket[hash % buckets]; i >= first; i++) {
        const ElfW(Sym) *symbol = &object->symbols[i];
        if ((chain[i - first] | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF &&
            strcmp(object->strings + symbol->st_name, name) == 0)
            return symbol;
        if (chain[i - first] & 1)
            break;
    }
    return NULL;
}

static bool has_in_it(const struct dl_phdr_info *info, uintptr_t here)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && here - (info->dlpi_addr + part->p_vaddr) < part->p_memsz)
            return true;
    }
    return false;
}

static int look_into(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct search *search = argument;
    struct object object;
    (void)size;
    if (search->behind &&
        !search->passed) { /* as RTLD_NEXT has it: another copy of us may be before */
        search->passed = has_in_it(info, (uintptr_t)&symbols_find);
        return 0;
    }
    if (search->around && !has_in_it(info, search->around))
        return 0;
    if (!read_object(info, &object))
        return 0;
    for (size_t i = 0; i < search->count; i++) {
        struct symbol *wanted = &search->symbols[i];
        const ElfW(Sym) *symbol = wanted->address ? NULL : lookup(&object, wanted->name);
        if (!symbol)
            continue;
        wanted->address = (void *)(object.base + symbol->st_value);
        wanted->bytes = symbol->st_size;
    }
    return 0;
}

void symbols_find(struct symbol *symbols, size_t count)
{
    struct search search = {.symbols = symbols, .count = count};
    dl_iterate_phdr(look_into, &search);
}

void symbols_find_behind(struct symbol *symbols, size_t count)
{
    struct search search = {.symbols = symbols, .count = count, .behind = true};
    dl_iterate_phdr(look_into, &search);
}

void symbols_find_around(const void *address, struct symbol *symbols, size_t count)
{
    struct search search = {.symbols = symbols, .count = count, .around = (uintptr_t)address};
    dl_iterate_phdr(look_into, &search);
}
