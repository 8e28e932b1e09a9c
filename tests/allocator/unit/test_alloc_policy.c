/*
 * The releases of PyTorch: which policy a version has, what an older one refuses, and where the
 * same settings mean something else.
 */
#include <string.h>

#include "bed.h"

static const char *name_of(const char *version)
{
    const struct alloc_release *release = alloc_release_of(version);
    return release ? release->name : "";
}

TEST(a_version_has_a_release)
{
    CHECK_STR(name_of("2.4"), "2.4");
    CHECK_STR(name_of("2.4.1"), "2.4");
    CHECK_STR(name_of("2.9.0+cu128"), "2.9");
    CHECK_STR(name_of("2.10.0a0+git1234567"), "2.10");
    CHECK_STR(name_of("2.14.1"), "2.14");
    CHECK_STR(name_of("2.15.0"), "main");
    CHECK_STR(name_of("3.0"), "main");
    CHECK_STR(name_of("main"), "main");
    CHECK_STR(name_of("2.3.1"), "");
    CHECK_STR(name_of("1.13"), "");
    CHECK_STR(name_of("2"), "");
    CHECK_STR(name_of("2.x"), "");
    CHECK_STR(name_of(""), "");
    CHECK_STR(name_of("newest"), "");
    CHECK_STR(name_of("2.99999999999999999999"), "");
}

/* The defaults are those of the last one, and no release forgets a setting. */
TEST(releases_ascend)
{
    size_t count;
    const struct alloc_release *releases = alloc_releases(&count);
    struct alloc_config config;
    alloc_config_default(&config);
    CHECK(memcmp(&config.policy, &releases[count - 1].policy, sizeof config.policy) == 0);
    for (size_t i = 1; i < count; i++) {
        CHECK((releases[i].policy.missing & ~releases[i - 1].policy.missing) == 0);
        CHECK(releases[i - 1].policy.above_is_from || !releases[i].policy.above_is_from);
        CHECK(releases[i - 1].policy.fraction_is_cut || !releases[i].policy.fraction_is_cut);
    }
}

static int parse_as(const char *version, const char *text, struct alloc_config *config)
{
    char why[200];
    alloc_config_default(config);
    config->policy = alloc_release_of(version)->policy;
    return alloc_config_parse(config, text, why, sizeof why);
}

TEST(a_release_knows_its_settings)
{
    static const struct {
        const char *text, *first, *before;
    } cases[] = {
        {"max_non_split_rounding_mb:64", "2.6", "2.5"},
        {"pinned_use_background_threads:True", "2.6", "2.5"},
        {"graph_capture_record_stream_reuse:True", "2.9", "2.8"},
        {"per_process_memory_fraction:0.5", "2.10", "2.9"},
        {"pinned_reserve_segment_size_mb:64", "2.10", "2.9"},
        {"max_split_size_mb:20", "2.10", "2.9"},
        {"large_segment_size_mb:32", "2.11", "2.10"},
        {"throw_on_cudamalloc_oom:True", "2.12", "2.11"},
        {"pinned_free_catch_all:True", "2.12", "2.11"},
        {"pinned_max_cached_size_mb:64", "2.13", "2.12"},
        {"pinned_max_round_threshold_mb:64", "2.13", "2.12"},
        {"expandable_segments_reserve:0.5", "main", "2.14"},
        {"expandable_segments_reserve_by_class:[a:0.5]", "main", "2.14"},
        {"pinned_num_register_threads:8,max_split_size_mb:21", "2.4", NULL},
    };
    struct alloc_config config;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_INT(parse_as(cases[i].first, cases[i].text, &config), BASE_OK);
        CHECK_INT(parse_as("main", cases[i].text, &config), BASE_OK);
        if (cases[i].before)
            CHECK_INT(parse_as(cases[i].before, cases[i].text, &config), ERR_ARG);
    }
}

/* [256:1,512:2,>:4]: 512 MiB to 1 GiB are divided by 4 until 2.9, by 2 since 2.10. */
TEST(where_above_begins)
{
    static const char text[] = "roundup_power2_divisions:[256:1,512:2,>:4]";
    struct alloc_config config, again;
    char written[200];
    CHECK_INT(parse_as("2.9", text, &config), BASE_OK);
    CHECK_INT(config.roundup[8], 1);
    CHECK_INT(config.roundup[9], 4);
    CHECK_INT(config.roundup[10], 4);
    alloc_config_format(&config, written, sizeof written);
    CHECK_INT(parse_as("2.9", written, &again), BASE_OK);
    CHECK(memcmp(again.roundup, config.roundup, sizeof config.roundup) == 0);
    CHECK_INT(parse_as("2.10", text, &config), BASE_OK);
    CHECK_INT(config.roundup[9], 2);
    CHECK_INT(config.roundup[10], 4);
    CHECK_INT(parse_as("2.9", "roundup_power2_divisions:[>:2]", &config), BASE_OK);
    CHECK_INT(config.roundup[0], 2);
    CHECK_INT(parse_as("2.10", "roundup_power2_divisions:[>:2]", &config), BASE_OK);
    CHECK_INT(config.roundup[0], 0);
}

/* The limit that refuses the request; 0: there was room. */
static int64_t refused_as(const char *version, double fraction, uint64_t device, uint64_t bytes)
{
    struct virtual_device *virtual;
    struct alloc_config config;
    struct alloc *alloc;
    struct alloc_refusal refusal;
    uint64_t address;
    alloc_config_default(&config);
    config.policy = alloc_release_of(version)->policy;
    config.memory_fraction = fraction;
    REQUIRE(virtual_new(&virtual, &(struct virtual_options){.capacity = device}) == BASE_OK);
    struct alloc_options options = {.device = virtual_seam(virtual), .config = &config};
    REQUIRE(alloc_new(&alloc, &options) == BASE_OK);
    int err = alloc_malloc(alloc, bytes, 0, &address, &refusal);
    alloc_delete(alloc);
    virtual_delete(virtual);
    return err == ERR_NOMEM ? (int64_t)refusal.limit : 0;
}

/* 0.29 times 800 MiB is 232 MiB, but in floating point it is a part of a byte less. */
TEST(a_fraction_is_cut_or_rounded)
{
    const uint64_t device = 800 * MIB;
    CHECK_INT(refused_as("2.12", 0.29, device, 232 * MIB), 232 * MIB - 1);
    CHECK_INT(refused_as("2.12", 0.29, device, 230 * MIB), 0);
    CHECK_INT(refused_as("2.13", 0.29, device, 232 * MIB), 0);
    CHECK_INT(refused_as("2.13", 0.29, device, 233 * MIB), 232 * MIB);
    CHECK_INT(refused_as("2.13", 1, device, 800 * MIB), 0);
}

/* Two segments that are wholly free: the record of the first went up in that of its last block. */
static uint64_t taken_as(const char *version)
{
    struct virtual_device *virtual;
    struct alloc_config config;
    struct alloc *alloc;
    uint64_t a, b, other, again;
    alloc_config_default(&config);
    config.policy = alloc_release_of(version)->policy;
    REQUIRE(virtual_new(&virtual, &(struct virtual_options){.capacity = 64 * MIB}) == BASE_OK);
    struct alloc_options options = {.device = virtual_seam(virtual), .config = &config};
    REQUIRE(alloc_new(&alloc, &options) == BASE_OK);
    REQUIRE(alloc_malloc(alloc, MIB, 0, &a, NULL) == BASE_OK);
    REQUIRE(alloc_malloc(alloc, MIB, 0, &b, NULL) == BASE_OK);
    REQUIRE(alloc_malloc(alloc, MIB, 0, &other, NULL) == BASE_OK);
    REQUIRE(alloc_give(alloc, a) == BASE_OK &&
            alloc_malloc(alloc, 512 * KIB, 0, &a, NULL) == BASE_OK);
    REQUIRE(alloc_give(alloc, other) == BASE_OK && alloc_give(alloc, b) == BASE_OK);
    REQUIRE(alloc_give(alloc, a) == BASE_OK);
    REQUIRE(alloc_malloc(alloc, 512, 0, &again, NULL) == BASE_OK);
    alloc_delete(alloc);
    virtual_delete(virtual);
    return again == a ? 1 : again == other ? 2 : 0;
}

TEST(which_of_two_is_taken)
{
    CHECK_INT(taken_as("2.11"), 1);
    CHECK_INT(taken_as("2.12"), 2);
    CHECK_INT(taken_as("2.13"), 1);
}

TEST(one_switch_at_a_time)
{
    size_t count;
    const struct alloc_rule *rules = alloc_rules(&count);
    struct alloc_policy old = alloc_release_of("2.9")->policy, policy = {0};
    for (size_t i = 0; i < count; i++) {
        bool differs = strcmp(rules[i].key, "oldest_first") != 0;
        CHECK(alloc_rule_take(&rules[i], &policy, &old) == differs);
        CHECK(!alloc_rule_take(&rules[i], &policy, &old));
    }
    CHECK(policy.oldest_first == old.oldest_first);
    policy.missing = old.missing; /* these two refuse settings, and move no block */
    policy.split_is_above = old.split_is_above;
    CHECK(memcmp(&policy, &old, sizeof policy) == 0);
}

TEST_MAIN(TEST_CASE(a_version_has_a_release), TEST_CASE(releases_ascend),
          TEST_CASE(a_release_knows_its_settings), TEST_CASE(where_above_begins),
          TEST_CASE(a_fraction_is_cut_or_rounded), TEST_CASE(which_of_two_is_taken),
          TEST_CASE(one_switch_at_a_time))
