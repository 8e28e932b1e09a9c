#include "policy.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* What a release lacks is what came with all later ones. */
#define LACKS_2_14 ALLOC_KEY_RESERVE
#define LACKS_2_13 LACKS_2_14
#define LACKS_2_12 (LACKS_2_13 | ALLOC_KEY_PINNED_LIMITS)
#define LACKS_2_11 (LACKS_2_12 | ALLOC_KEY_THROW | ALLOC_KEY_PINNED_CATCH)
#define LACKS_2_10 (LACKS_2_11 | ALLOC_KEY_LARGE_SEGMENT)
#define LACKS_2_9 (LACKS_2_10 | ALLOC_KEY_PROCESS_FRACTION | ALLOC_KEY_PINNED_SEGMENT)
#define LACKS_2_8 (LACKS_2_9 | ALLOC_KEY_RECORD_STREAM_REUSE)
#define LACKS_2_5 (LACKS_2_8 | ALLOC_KEY_NON_SPLIT_ROUNDING | ALLOC_KEY_PINNED_BACKGROUND)

/* What went with the settings' parser of 2.10 and with the limit of 2.13. */
#define UNTIL_2_9(lacks)                                                                           \
    {                                                                                              \
        .above_is_from = true, .split_is_above = true, .fraction_is_cut = true, .missing = (lacks) \
    }
#define UNTIL_2_12(lacks)                                                                          \
    {                                                                                              \
        .fraction_is_cut = true, .missing = (lacks)                                                \
    }

static const struct alloc_release releases[] = {
    {"2.4", UNTIL_2_9(LACKS_2_5)},
    {"2.5", UNTIL_2_9(LACKS_2_5)},
    {"2.6", UNTIL_2_9(LACKS_2_8)},
    {"2.7", UNTIL_2_9(LACKS_2_8)},
    {"2.8", UNTIL_2_9(LACKS_2_8)},
    {"2.9", UNTIL_2_9(LACKS_2_9)},
    {"2.10", UNTIL_2_12(LACKS_2_10)},
    {"2.11", UNTIL_2_12(LACKS_2_11)},
    {"2.12", {.fraction_is_cut = true, .oldest_first = true, .missing = LACKS_2_12}},
    {"2.13", {.missing = LACKS_2_13}},
    {"2.14", {.missing = LACKS_2_14}},
    {"main", {0}},
};

static const struct alloc_rule rules[] = {
    {"oldest_first", "which of several free blocks of the same size is taken",
     offsetof(struct alloc_policy, oldest_first)},
    {"roundup_above", "where > of roundup_power2_divisions begins",
     offsetof(struct alloc_policy, above_is_from)},
    {"fraction_rounding", "how per_process_memory_fraction is rounded to bytes",
     offsetof(struct alloc_policy, fraction_is_cut)},
};

const struct alloc_release *alloc_releases(size_t *count)
{
    *count = COUNT(releases);
    return releases;
}

/* Major and minor as one number that ascends with the releases; 0 = that is no version. */
static unsigned long number_of(const char *version)
{
    char *end;
    unsigned long major = strtoul(version, &end, 10);
    if (end == version || *end != '.' || end[1] < '0' || end[1] > '9')
        return 0;
    unsigned long minor = strtoul(end + 1, NULL, 10);
    return major < 1000 && minor < 1000 ? major * 1000 + minor : 0;
}

const struct alloc_release *alloc_release_of(const char *version)
{
    const struct alloc_release *last = &releases[COUNT(releases) - 1];
    unsigned long number = number_of(version);
    if (strcmp(version, last->name) == 0)
        return last;
    for (size_t i = 0; number && i + 1 < COUNT(releases); i++)
        if (number_of(releases[i].name) == number)
            return &releases[i];
    return number > number_of(last[-1].name) ? last : NULL;
}

const struct alloc_rule *alloc_rules(size_t *count)
{
    *count = COUNT(rules);
    return rules;
}

bool alloc_rule_take(const struct alloc_rule *rule, struct alloc_policy *to,
                     const struct alloc_policy *from)
{
    bool *mine = (bool *)((char *)to + rule->offset);
    bool other = *(const bool *)((const char *)from + rule->offset);
    bool differs = *mine != other;
    *mine = other;
    return differs;
}
