/* profile_parts.c - a GPU made of parts: "cc=8.0,memory=40GiB,sms=108". */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "error.h"
#include "profile_read.h"

#define SMS_MOST 1024

/* "40GiB", "40g", "512MiB", "42298834944". False: no such size. */
static bool read_size(const char *text, uint64_t *bytes)
{
    static const struct {
        const char *unit;
        int shift;
    } units[] = {{"", 0},     {"b", 0},  {"k", 10},   {"kib", 10}, {"m", 20},
                 {"mib", 20}, {"g", 30}, {"gib", 30}, {"t", 40},   {"tib", 40}};
    char *end;
    if (!isdigit((unsigned char)text[0]))
        return false;
    double value = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double scaled = value * (double)(UINT64_C(1) << units[i].shift);
        if (strcasecmp(end, units[i].unit) == 0 && scaled >= 1 && scaled < 1e18) {
            *bytes = (uint64_t)scaled;
            return true;
        }
    }
    return false;
}

static bool read_capability(const char *text, const struct capability **capability)
{
    int major, minor, used = 0;
    if (sscanf(text, "%2d.%1d%n", &major, &minor, &used) != 2 || text[used])
        return false;
    *capability = profile_capability(major, minor);
    return *capability != NULL;
}

static bool read_sms(const char *text, int32_t *sms)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end || value < 1 || value > SMS_MOST)
        return false;
    *sms = (int32_t)value;
    return true;
}

static bool read_part(const char *part, size_t length, struct profile *profile)
{
    char copy[48];
    if (length >= sizeof copy)
        return false;
    memcpy(copy, part, length);
    copy[length] = '\0';
    if (strncmp(copy, "cc=", 3) == 0)
        return read_capability(copy + 3, &profile->capability);
    if (strncmp(copy, "memory=", 7) == 0)
        return read_size(copy + 7, &profile->memory);
    return strncmp(copy, "sms=", 4) == 0 && read_sms(copy + 4, &profile->sms);
}

/* The first profile of that capability, or of the nearest below that has one. */
static struct profile like(const struct capability *capability)
{
    struct profile best, profile;
    int nearest = -1;
    (void)profile_at(0, &best);
    for (size_t i = 0; profile_at(i, &profile); i++) {
        int its = profile.capability->major * 10 + profile.capability->minor;
        if (its > nearest && its <= capability->major * 10 + capability->minor) {
            nearest = its;
            best = profile;
        }
    }
    return best;
}

/* What was not named is as on a card of that capability. The name says all that settings.c does not
 * write beside it. */
static void complete(struct profile *profile)
{
    const struct profile given = *profile;
    char sms[16] = "";
    *profile = like(given.capability);
    profile->capability = given.capability;
    profile->from = "as on the command line; the rest as on the first profile of the capability";
    if (given.memory)
        profile->memory = given.memory;
    if (given.sms) {
        profile->sms = given.sms;
        snprintf(sms, sizeof sms, ",sms=%d", given.sms);
    }
    profile_compute_context(profile);
    snprintf(profile->name, sizeof profile->name, "cc=%d.%d%s", given.capability->major,
             given.capability->minor, sms);
    snprintf(profile->title, sizeof profile->title, "Rehearsed GPU, capability %d.%d",
             given.capability->major, given.capability->minor);
}

int profile_read_parts(const char *text, struct profile *profile, char *why, size_t room)
{
    *profile = (struct profile){0};
    while (*text) {
        size_t length = strcspn(text, ",");
        if (!read_part(text, length, profile)) {
            snprintf(why, room, "'%.*s' is not cc=MAJOR.MINOR, memory=SIZE or sms=COUNT",
                     (int)length, text);
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
    return strchr(text, '=') ? profile_read_parts(text, profile, why, room)
                             : profile_read_name(text, profile, why, room);
}
