/* torch_slots.c - see torch_slots.h. */
#include "torch_slots.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <unistd.h>

#include "dynlink.h"

#if defined(__x86_64__)
#define BY_CALL R_X86_64_JUMP_SLOT
#define BY_DATA R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define BY_CALL R_AARCH64_JUMP_SLOT
#define BY_DATA R_AARCH64_GLOB_DAT
#else
#define BY_CALL UINT64_MAX /* none is looked at */
#define BY_DATA UINT64_MAX
#endif

struct search {
    uintptr_t around; /* 0: all objects but our own */
    torch_slot_fn see;
    void *self;
};

struct tables {
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * relocations[2];
    size_t bytes[2];
};

/* The loader writes addresses over the offsets, but for objects that it cannot write to. */
static const void *at(const struct dl_phdr_info *object, ElfW(Addr) value)
{
    uintptr_t address = value < object->dlpi_addr ? object->dlpi_addr + value : value;
    return (const void *)address;
}

static void read_dynamic(const struct dl_phdr_info *object, const ElfW(Dyn) * dynamic,
                         struct tables *out)
{
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == DT_SYMTAB)
            out->symbols = at(object, dynamic->d_un.d_ptr);
        else if (dynamic->d_tag == DT_STRTAB)
            out->names = at(object, dynamic->d_un.d_ptr);
        else if (dynamic->d_tag == DT_JMPREL)
            out->relocations[0] = at(object, dynamic->d_un.d_ptr);
        else if (dynamic->d_tag == DT_PLTRELSZ)
            out->bytes[0] = dynamic->d_un.d_val;
        else if (dynamic->d_tag == DT_RELA)
            out->relocations[1] = at(object, dynamic->d_un.d_ptr);
        else if (dynamic->d_tag == DT_RELASZ)
            out->bytes[1] = dynamic->d_un.d_val;
    }
}

/* The loader takes the right to write from whole pages alone. */
static bool is_protected(const struct dl_phdr_info *object, uintptr_t slot)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < object->dlpi_phnum; i++) {
        uintptr_t begin = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
        uintptr_t end = (begin + object->dlpi_phdr[i].p_memsz) & ~(page - 1);
        if (object->dlpi_phdr[i].p_type == PT_GNU_RELRO && slot >= begin && slot < end)
            return true;
    }
    return false;
}

static void look_at_slot(const struct search *search, const struct dl_phdr_info *object,
                         const struct tables *tables, const ElfW(Rela) * relocation)
{
    uint64_t type = ELF64_R_TYPE(relocation->r_info);
    if (type != BY_CALL && type != BY_DATA)
        return;
    const char *name = tables->names + tables->symbols[ELF64_R_SYM(relocation->r_info)].st_name;
    if (name[0] != '_' || name[1] != 'Z' || name[2] != 'N')
        return;
    uintptr_t slot = object->dlpi_addr + relocation->r_offset;
    search->see(search->self, &(struct torch_slot){slot, name, is_protected(object, slot)});
}

static bool is_sought(const struct search *search, const struct dl_phdr_info *object)
{
    if (search->around)
        return dynlink_holds(object, search->around);
    return !dynlink_holds(object, (uintptr_t)&torch_slots_each);
}

static int look_at_object(struct dl_phdr_info *object, size_t size, void *argument)
{
    struct tables tables = {0};
    (void)size;
    if (!is_sought(argument, object))
        return 0;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            read_dynamic(object, at(object, object->dlpi_addr + object->dlpi_phdr[i].p_vaddr),
                         &tables);
    if (!tables.symbols || !tables.names)
        return 0;
    for (int i = 0; i < 2; i++)
        for (size_t n = 0; tables.relocations[i] && n < tables.bytes[i] / sizeof(ElfW(Rela)); n++)
            look_at_slot(argument, object, &tables, &tables.relocations[i][n]);
    return 0;
}

void torch_slots_each(uintptr_t around, torch_slot_fn see, void *self)
{
    struct search search = {around, see, self};
    dl_iterate_phdr(look_at_object, &search);
}
