/* fatbin.c - see fatbin.h. */
#include "fatbin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "error.h"

#define SECTION ".nv_fatbin"
#define MAGIC UINT32_C(0xba55ed50)
#define CONTAINER_BYTES 16u
#define ENTRY_BYTES 32u /* of its header, as far as we read */
#define CAPABILITY_AT 28u

enum { KIND_PTX = 1, KIND_CODE = 2 };

struct bytes { /* what is left to read */
    const uint8_t *at;
    uint64_t count;
};

static uint64_t number(const uint8_t *at, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = bytes; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

static void skip(struct bytes *bytes, uint64_t count)
{
    bytes->at += count;
    bytes->count -= count;
}

/* Of boards with their own processor: machine code of others does not run there, nor theirs on
 * others. */
static bool is_board(int32_t capability)
{
    static const int32_t boards[] = {53, 62, 72, 87, 101};
    for (size_t i = 0; i < sizeof boards / sizeof *boards; i++)
        if (capability == boards[i])
            return true;
    return false;
}

static bool runs(bool ptx, int32_t target, int32_t capability)
{
    if (ptx || target == capability)
        return target <= capability;
    return target < capability && target / 10 == capability / 10 && !is_board(target) &&
           !is_board(capability);
}

/* ---- what was found ---- */

static int order(const struct fatbin_target *target, bool ptx, int32_t capability)
{
    return target->capability != capability ? target->capability - capability
                                            : (int)target->ptx - (int)ptx;
}

/* Once for each container: `seen` has a bit for each target that it had before. Targets move up
 * where a new one comes between, and so do the bits. */
static void add(struct fatbin *out, uint32_t *seen, bool ptx, int32_t capability)
{
    size_t at = 0;
    while (at < out->target_count && order(&out->targets[at], ptx, capability) < 0)
        at++;
    bool there = at < out->target_count && order(&out->targets[at], ptx, capability) == 0;
    if (!there && out->target_count == FATBIN_TARGETS)
        return;
    if (!there) {
        memmove(&out->targets[at + 1], &out->targets[at],
                (out->target_count - at) * sizeof *out->targets);
        out->targets[at] = (struct fatbin_target){ptx, capability, 0};
        out->target_count++;
        uint32_t below = (UINT32_C(1) << at) - 1;
        *seen = (*seen & below) | (*seen & ~below) << 1;
    }
    out->targets[at].containers += !(*seen >> at & 1);
    *seen |= UINT32_C(1) << at;
}

/* ---- the walk ---- */

/* False: this is no entry, or it does not end in the container. */
static bool read_entry(struct bytes *entries, int32_t capability, struct fatbin *out,
                       uint32_t *seen, bool *runnable)
{
    if (entries->count < ENTRY_BYTES)
        return false;
    const uint8_t *at = entries->at;
    uint64_t kind = number(at, 2), header = number(at + 4, 4), payload = number(at + 8, 8);
    uint64_t target = number(at + CAPABILITY_AT, 4);
    if (header < ENTRY_BYTES || header > entries->count || payload > entries->count - header)
        return false;
    if ((kind == KIND_PTX || kind == KIND_CODE) && target < 1000) {
        add(out, seen, kind == KIND_PTX, (int32_t)target);
        *runnable = *runnable || runs(kind == KIND_PTX, (int32_t)target, capability);
    }
    skip(entries, header + payload);
    return true;
}

static bool read_container(struct bytes *section, int32_t capability, struct fatbin *out)
{
    if (section->count < CONTAINER_BYTES || number(section->at, 4) != MAGIC)
        return false;
    uint64_t header = number(section->at + 6, 2), payload = number(section->at + 8, 8);
    if (header < CONTAINER_BYTES || header > section->count || payload > section->count - header)
        return false;
    struct bytes entries = {section->at + header, payload};
    uint32_t seen = 0;
    bool runnable = false;
    while (read_entry(&entries, capability, out, &seen, &runnable))
        ;
    out->containers++;
    out->runnable += runnable;
    skip(section, header + payload);
    return true;
}

/* Between two containers there may be zeros, for the sake of alignment. */
static void pass_zeros(struct bytes *section)
{
    while (section->count >= 8 && number(section->at, 8) == 0)
        skip(section, 8);
}

int fatbin_read(const char *path, int32_t major, int32_t minor, struct fatbin *out)
{
    struct elf_file file;
    struct bytes section;
    *out = (struct fatbin){0};
    int err = elf_open(&file, path);
    if (err)
        return err;
    section.at = elf_section(&file, SECTION, &section.count);
    do
        pass_zeros(&section);
    while (section.at && read_container(&section, major * 10 + minor, out));
    elf_close(&file);
    return BASE_OK;
}

bool fatbin_lacks(const struct fatbin *fatbin)
{
    return fatbin->containers && 2 * fatbin->runnable <= fatbin->containers;
}

void fatbin_text(const struct fatbin *fatbin, char *text, size_t room)
{
    size_t used = 0;
    *text = '\0';
    for (size_t i = 0; i < fatbin->target_count && used < room; i++) {
        const struct fatbin_target *target = &fatbin->targets[i];
        if (2 * target->containers > fatbin->containers)
            used += (size_t)snprintf(text + used, room - used, "%s%s%d.%d", used ? ", " : "",
                                     target->ptx ? "PTX of " : "", target->capability / 10,
                                     target->capability % 10);
    }
}

void fatbin_write(const struct fatbin *fatbin, char *text, size_t room)
{
    size_t used = 0;
    *text = '\0';
    for (size_t i = 0; i < fatbin->target_count && used < room; i++) {
        const struct fatbin_target *target = &fatbin->targets[i];
        if (2 * target->containers > fatbin->containers)
            used += (size_t)snprintf(text + used, room - used, "%s%s%d", used ? " " : "",
                                     target->ptx ? "p" : "", target->capability);
    }
}

bool fatbin_written_lacks(const char *text, int32_t major, int32_t minor)
{
    bool any = false;
    while (*text) {
        bool ptx = *text == 'p';
        char *end;
        long target = strtol(text + ptx, &end, 10);
        if (end == text + ptx || target < 0 || target >= 1000)
            return false; /* nothing that we wrote */
        if (runs(ptx, (int32_t)target, major * 10 + minor))
            return false;
        any = true;
        text = end + (*end == ' ');
    }
    return any;
}

bool fatbin_is_valid(const struct fatbin *fatbin)
{
    for (size_t i = 0; i < fatbin->target_count; i++) {
        const struct fatbin_target *target = &fatbin->targets[i];
        if (target->containers == 0 || target->containers > fatbin->containers ||
            (i && order(target - 1, target->ptx, target->capability) >= 0))
            return false;
    }
    return fatbin->runnable <= fatbin->containers && fatbin->target_count <= FATBIN_TARGETS;
}
