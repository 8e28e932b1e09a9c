/*
 * fit_version.h - a recording under the policies of other releases of PyTorch, and the first
 * request that such a policy places otherwise.
 *
 * Two replays with the same memory are compared request by request: a request is placed otherwise
 * if its address, the size of its block or what the allocator then holds differ, or if one of them
 * is refused. Which rule that is, is found by changing one switch of the policy at a time.
 */
#ifndef TIDEMARK_ANALYSIS_FIT_VERSION_H
#define TIDEMARK_ANALYSIS_FIT_VERSION_H

#include "fit.h"

struct fit_version {
    const struct alloc_release *release;
    struct alloc_config config;     /* the settings, as it reads them */
    const struct fit_version *like; /* one before it with the same policy for these settings: what
                                     * follows is there. NULL: there is none */
    char trouble[160];    /* why it refuses the settings: the program would not start. "" */
    struct fit_need need; /* unless it does */
    bool parts;           /* some request is placed otherwise; the first one: */
    struct fit_place place;
    uint64_t requested;
    const struct alloc_rule *rule; /* NULL: several together */
};

/* The release of the record; the last one where it is not known. */
const struct alloc_release *fit_version_recorded(const struct fit *fit);

/* Settings that are compared with, and what they need. */
struct fit_version_base {
    const char *conf;
    struct alloc_config config; /* conf, by the policy that is compared with */
    const struct fit_need *need;
    uint64_t ceiling; /* that of fit_measure, and the memory of the comparison; 0 = enough */
};

/* The same settings under the policy of `release`, behind `count` others in versions[]. */
int fit_version_measure(struct fit *fit, struct db *db, const struct fit_version_base *base,
                        const struct alloc_release *release, struct fit_version *versions,
                        size_t count);
/* Where the figures of a version are. */
static inline const struct fit_version *fit_version_figures(const struct fit_version *version)
{
    return version->like ? version->like : version;
}
void fit_version_clear(struct fit_version *version);

#endif
