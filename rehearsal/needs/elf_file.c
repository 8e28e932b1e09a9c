/* elf_file.c - see elf_file.h. */
#include "elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

static int map(struct elf_file *file, int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(Elf64_Ehdr))
        return ERR_CORRUPT;
    void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return ERR_NOMEM;
    *file = (struct elf_file){bytes, (size_t)st.st_size};
    return BASE_OK;
}

int elf_open(struct elf_file *file, const char *path)
{
    static const uint8_t magic[] = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *file = (struct elf_file){0};
    if (fd < 0)
        return ERR_NOTFOUND;
    int err = map(file, fd);
    close(fd);
    if (!err && memcmp(file->bytes, magic, sizeof magic) != 0) {
        elf_close(file);
        err = ERR_CORRUPT;
    }
    return err;
}

void elf_close(struct elf_file *file)
{
    if (file->bytes)
        munmap((void *)(uintptr_t)file->bytes, file->count);
    *file = (struct elf_file){0};
}

/* NULL if a part of it lies outside of the file. */
static const void *part(const struct elf_file *file, uint64_t at, uint64_t bytes)
{
    if (at > file->count || bytes > file->count - at)
        return NULL;
    return file->bytes + at;
}

static bool section(const struct elf_file *file, uint32_t index, Elf64_Shdr *out)
{
    Elf64_Ehdr header;
    memcpy(&header, file->bytes, sizeof header);
    if (index >= header.e_shnum || header.e_shentsize != sizeof *out ||
        header.e_shoff > file->count)
        return false;
    const void *at = part(file, header.e_shoff + (uint64_t)index * sizeof *out, sizeof *out);
    if (at)
        memcpy(out, at, sizeof *out);
    return at != NULL;
}

/* A text in a section of texts; NULL unless it ends there. */
static const char *text(const struct elf_file *file, const Elf64_Shdr *texts, uint64_t at)
{
    const char *from = part(file, texts->sh_offset, texts->sh_size);
    if (!from || at >= texts->sh_size || !memchr(from + at, '\0', texts->sh_size - at))
        return NULL;
    return from + at;
}

static bool find_section(const struct elf_file *file, const char *name, Elf64_Shdr *out)
{
    Elf64_Ehdr header;
    Elf64_Shdr texts;
    memcpy(&header, file->bytes, sizeof header);
    if (!section(file, header.e_shstrndx, &texts))
        return false;
    for (uint32_t i = 0; section(file, i, out); i++) {
        const char *its = text(file, &texts, out->sh_name);
        if (its && strcmp(its, name) == 0)
            return true;
    }
    return false;
}

bool elf_has_section(const struct elf_file *file, const char *name)
{
    Elf64_Shdr found;
    return find_section(file, name, &found);
}

const uint8_t *elf_section(const struct elf_file *file, const char *name, uint64_t *bytes)
{
    Elf64_Shdr found;
    const uint8_t *at = NULL;
    if (find_section(file, name, &found) && found.sh_type != SHT_NOBITS)
        at = part(file, found.sh_offset, found.sh_size);
    *bytes = at ? found.sh_size : 0;
    return at;
}

static void symbols_of(const struct elf_file *file, const Elf64_Shdr *table, elf_symbol_fn each,
                       void *of)
{
    Elf64_Shdr texts;
    const uint8_t *from = part(file, table->sh_offset, table->sh_size);
    if (!from || !section(file, table->sh_link, &texts))
        return;
    for (uint64_t i = 0; i < table->sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, from + i * sizeof symbol, sizeof symbol);
        const char *name = text(file, &texts, symbol.st_name);
        if (name && *name)
            each(of, name, symbol.st_shndx != SHN_UNDEF);
    }
}

void elf_symbols(const struct elf_file *file, elf_symbol_fn each, void *of)
{
    Elf64_Shdr it;
    for (uint32_t i = 0; section(file, i, &it); i++)
        if (it.sh_type == SHT_DYNSYM)
            symbols_of(file, &it, each, of);
}
