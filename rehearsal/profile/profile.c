/* profile.c - see profile.h. */
#include "profile.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "error.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct capability capabilities[] = {
#define CAPABILITY(major, minor, threads, blocks, shared, optin, reserved)                         \
    {major, minor, threads, blocks, (shared)*1024, (optin)*1024, (reserved)*1024},
#include "capabilities.def"
#undef CAPABILITY
};

/* The number of a capability in the table, so that a profile is a constant. */
static const struct capability *exactly(int32_t major, int32_t minor)
{
    for (size_t i = 0; i < COUNT(capabilities); i++)
        if (capabilities[i].major == major && capabilities[i].minor == minor)
            return &capabilities[i];
    return NULL;
}

struct row {
    const char *name, *title;
    int32_t major, minor;
    uint64_t memory;
    int32_t sms, bus_bits;
    uint32_t l2_kib;
    const char *from;
};

static const struct row rows[] = {
#define PROFILE(name, title, major, minor, memory, sms, l2_kib, bus_bits, from)                    \
    {name, title, major, minor, memory, sms, bus_bits, l2_kib, from},
#include "profiles.def"
#undef PROFILE
};

static void fill(struct profile *profile, const struct row *row)
{
    *profile = (struct profile){.capability = exactly(row->major, row->minor),
                                .memory = row->memory,
                                .sms = row->sms,
                                .l2 = row->l2_kib * 1024,
                                .bus_bits = row->bus_bits,
                                .from = row->from};
    snprintf(profile->name, sizeof profile->name, "%s", row->name);
    snprintf(profile->title, sizeof profile->title, "%s", row->title);
}

bool profile_at(size_t index, struct profile *profile)
{
    if (index >= COUNT(rows))
        return false;
    fill(profile, &rows[index]);
    return true;
}

const struct capability *profile_capability(int32_t major, int32_t minor)
{
    const struct capability *best = NULL;
    for (size_t i = 0; i < COUNT(capabilities); i++) {
        const struct capability *it = &capabilities[i];
        if (it->major < major || (it->major == major && it->minor <= minor))
            best = it;
    }
    return best;
}

/* ---- a GPU made of parts ---- */

/* "40GiB", "40g", "512MiB", "42298834944". False: no such size. */
static bool read_size(const char *text, size_t length, uint64_t *bytes)
{
    static const struct {
        const char *unit;
        int shift;
    } units[] = {{"", 0},    {"b", 0},    {"k", 10},  {"kib", 10}, {"m", 20},
                 {"mib", 20}, {"g", 30}, {"gib", 30}, {"t", 40},  {"tib", 40}};
    char copy[32], *end;
    if (length == 0 || length >= sizeof copy || !isdigit((unsigned char)text[0]))
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    double value = strtod(copy, &end);
    for (size_t i = 0; i < COUNT(units); i++) {
        double scaled = value * (double)(UINT64_C(1) << units[i].shift);
        if (strcasecmp(end, units[i].unit) == 0 && scaled >= 1 && scaled < 1e18) {
            *bytes = (uint64_t)scaled;
            return true;
        }
    }
    return false;
}

static bool read_capability(const char *text, size_t length, struct profile *profile)
{
    char copy[16];
    int major, minor, used = 0;
    if (length == 0 || length >= sizeof copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (sscanf(copy, "%2d.%1d%n", &major, &minor, &used) != 2 || copy[used])
        return false;
    profile->capability = profile_capability(major, minor);
    return profile->capability != NULL;
}

static bool read_part(const char *part, size_t length, struct profile *profile)
{
    const char *equals = memchr(part, '=', length);
    if (!equals)
        return false;
    size_t name = (size_t)(equals - part), rest = length - name - 1;
    if (name == 2 && memcmp(part, "cc", 2) == 0)
        return read_capability(equals + 1, rest, profile);
    if (name == 6 && memcmp(part, "memory", 6) == 0)
        return read_size(equals + 1, rest, &profile->memory);
    return false;
}

/* What is not named is as on the first profile of that capability. */
static void complete(struct profile *profile)
{
    const struct row *like = &rows[0];
    for (size_t i = COUNT(rows); i-- > 0;)
        if (exactly(rows[i].major, rows[i].minor) == profile->capability)
            like = &rows[i];
    uint64_t memory = profile->memory;
    const struct capability *capability = profile->capability;
    fill(profile, like);
    profile->memory = memory ? memory : profile->memory;
    profile->capability = capability;
    profile->from = "as given on the command line; the rest as on the GPU of the same capability";
    snprintf(profile->name, sizeof profile->name, "cc=%d.%d", capability->major,
             capability->minor);
    snprintf(profile->title, sizeof profile->title, "Rehearsed GPU, capability %d.%d",
             capability->major, capability->minor);
}

static int read_parts(const char *text, struct profile *profile, char *why, size_t room)
{
    *profile = (struct profile){0};
    while (*text) {
        size_t length = strcspn(text, ",");
        if (!read_part(text, length, profile)) {
            snprintf(why, room, "'%.*s' is not cc=MAJOR.MINOR or memory=SIZE", (int)length, text);
            return ERR_ARG;
        }
        text += length + (text[length] == ',');
    }
    if (!profile->capability) {
        snprintf(why, room, "cc=MAJOR.MINOR is missing (for example cc=8.0,memory=40GiB)");
        return ERR_ARG;
    }
    complete(profile);
    return BASE_OK;
}

int profile_read(const char *text, struct profile *profile, char *why, size_t room)
{
    if (strchr(text, '='))
        return read_parts(text, profile, why, room);
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (strcasecmp(rows[i].name, text) == 0) {
            fill(profile, &rows[i]);
            return BASE_OK;
        }
    }
    snprintf(why, room, "no GPU profile is called '%s' (--gpu list has all)", text);
    return ERR_ARG;
}
