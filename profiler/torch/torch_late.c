/* torch_late.c - see torch_late.h. */
#include "torch_late.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "notes.h"
#include "torch_hook.h"

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

#define SLOTS 256u
#define ROWS (TORCH_HOOK_LATE + TORCH_NODE_LATE)

struct slot {
    uintptr_t at;
    uint32_t row;
    bool protected; /* by the loader, after relocation */
};

struct search {
    struct slot slots[SLOTS];
    uint32_t count;
    uint32_t seen[ROWS];
};

static const struct torch_late *row_at(uint32_t row)
{
    return row < TORCH_HOOK_LATE ? &torch_hook_late[row] : &torch_node_late[row - TORCH_HOOK_LATE];
}

/* ---- where the slots are ---- */

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

static void look_at_slot(struct search *search, const struct dl_phdr_info *object,
                         const struct tables *tables, const ElfW(Rela) * relocation)
{
    uint64_t type = ELF64_R_TYPE(relocation->r_info);
    if (type != BY_CALL && type != BY_DATA)
        return;
    const char *name = tables->names + tables->symbols[ELF64_R_SYM(relocation->r_info)].st_name;
    if (name[0] != '_' || name[1] != 'Z' || name[2] != 'N')
        return;
    for (uint32_t row = 0; row < ROWS; row++) {
        if (strcmp(name, row_at(row)->name) != 0 || search->count >= SLOTS)
            continue;
        uintptr_t slot = object->dlpi_addr + relocation->r_offset;
        search->slots[search->count++] = (struct slot){slot, row, is_protected(object, slot)};
        search->seen[row]++;
    }
}

static bool is_ours(const struct dl_phdr_info *object)
{
    uintptr_t own = (uintptr_t)&torch_hook_late;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        uintptr_t begin = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
        if (object->dlpi_phdr[i].p_type == PT_LOAD && own >= begin &&
            own - begin < object->dlpi_phdr[i].p_memsz)
            return true;
    }
    return false;
}

static int look_at_object(struct dl_phdr_info *object, size_t size, void *argument)
{
    struct tables tables = {0};
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            read_dynamic(object, at(object, object->dlpi_addr + object->dlpi_phdr[i].p_vaddr),
                         &tables);
    if (!tables.symbols || !tables.names || is_ours(object))
        return 0;
    for (int i = 0; i < 2; i++)
        for (size_t n = 0; tables.relocations[i] && n < tables.bytes[i] / sizeof(ElfW(Rela)); n++)
            look_at_slot(argument, object, &tables, &tables.relocations[i][n]);
    return 0;
}

/* ---- taking them ---- */

static bool take_slot(const struct slot *slot)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = slot->at & ~(page - 1);
    uintptr_t ours = (uintptr_t)row_at(slot->row)->ours;
    if (slot->protected && mprotect((void *)begin, page, PROT_READ | PROT_WRITE) != 0)
        return false;
    __atomic_store_n((uintptr_t *)slot->at, ours, __ATOMIC_RELEASE);
    if (slot->protected)
        mprotect((void *)begin, page, PROT_READ);
    return true;
}

static bool take_row(const struct search *search, uint32_t row)
{
    bool taken = true;
    for (uint32_t i = 0; i < search->count && taken; i++)
        if (search->slots[i].row == row)
            taken = take_slot(&search->slots[i]);
    return taken;
}

bool torch_late_bind(void)
{
    static struct search search;
    bool taken = true;
    int saved = errno;
    search.count = 0;
    memset(search.seen, 0, sizeof search.seen);
    torch_hook_bind();
    dl_iterate_phdr(look_at_object, &search);
    for (uint32_t row = TORCH_HOOK_LATE; row < ROWS; row++)
        take_row(&search, row);
    bool cpu = search.seen[0] > 0 && torch_hook_original(TORCH_DELETE) && take_row(&search, 0);
    for (uint32_t row = 1; row < TORCH_HOOK_LATE - 1; row++)
        taken = take_row(&search, row) && taken;
    if (cpu)
        cpu = take_row(&search, TORCH_HOOK_LATE - 1);
    if (torch_hook_original(TORCH_USAGE) && !cpu)
        notes_why_not(
            "torch-cpu: this libc10 does not let a library that comes late see its blocks");
    errno = saved;
    return taken && (cpu || !torch_hook_original(TORCH_USAGE));
}
