/* profile.c - the tables, see profile.h. */
#include "profile.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Each context that was measured is within a tenth of this many bytes for each resident thread;
 * docs/gpu-profiles.md has the comparison, and a test does it again. */
#define CONTEXT_PER_THREAD 2048

static const struct capability capabilities[] = {
#define CAPABILITY(major, minor, threads, blocks, shared, optin, reserved)                         \
    {major, minor, threads, blocks, (shared)*1024, (optin)*1024, (reserved)*1024},
#include "capabilities.def"
#undef CAPABILITY
};

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

static const struct context_row {
    const char *name;
    uint64_t bytes;
    const char *from;
} contexts[] = {
#define CONTEXT(name, bytes, from) {name, bytes, from},
#include "contexts.def"
#undef CONTEXT
};

void profile_compute_context(struct profile *profile)
{
    uint64_t threads = (uint64_t)profile->sms * (uint64_t)profile->capability->threads_per_sm;
    profile->context = threads * CONTEXT_PER_THREAD;
    profile->context_measured = false;
    profile->context_from = "computed: 2 KiB for each thread that can be resident";
}

static void find_context(struct profile *profile)
{
    profile_compute_context(profile);
    for (size_t i = 0; i < COUNT(contexts); i++) {
        if (strcmp(contexts[i].name, profile->name) == 0) {
            profile->context = contexts[i].bytes;
            profile->context_measured = true;
            profile->context_from = contexts[i].from;
        }
    }
}

bool profile_at(size_t index, struct profile *profile)
{
    if (index >= COUNT(rows))
        return false;
    const struct row *row = &rows[index];
    *profile = (struct profile){.capability = profile_capability(row->major, row->minor),
                                .memory = row->memory,
                                .sms = row->sms,
                                .l2 = row->l2_kib * 1024,
                                .bus_bits = row->bus_bits,
                                .from = row->from};
    snprintf(profile->name, sizeof profile->name, "%s", row->name);
    snprintf(profile->title, sizeof profile->title, "%s", row->title);
    find_context(profile);
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
