/*
 * One recording under the policies of several releases: which request is the first to be placed
 * otherwise, and by which rule; and that nothing is said where nothing differs.
 */
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "fit_version.h"
#include "program.h"
#include "test.h"

#define MIB (UINT64_C(1) << 20)

static struct db *record(const char *conf, uint64_t memory)
{
    const struct program program = {.seed = 3,
                                    .calls = 400,
                                    .living = 40,
                                    .streams = 2,
                                    .largest = 48 * MIB,
                                    .memory = memory,
                                    .conf = conf};
    struct program_result was;
    return program_record("version.db", &program, &was);
}

static void load(const char *conf, uint64_t memory, struct fit *fit, struct db **db)
{
    *db = record(conf, memory);
    REQUIRE(fit_begin(*db, 1, 1, fit) == 0);
}

static void unload(struct fit *fit, struct db *db)
{
    fit_clear(fit);
    db_close(db);
    remove(test_path("version.db"));
}

/* `conf` as the newest policy reads it, against each of those releases. */
static void measure(struct fit *fit, struct db *db, const char *conf, uint64_t memory,
                    const char *const *releases, size_t count, struct fit_version *out)
{
    struct fit_need need;
    struct fit_version_base base = {.conf = conf, .need = &need, .ceiling = memory};
    alloc_config_default(&base.config);
    REQUIRE(alloc_config_parse(&base.config, conf, NULL, 0) == 0);
    REQUIRE(fit_measure(fit, &base.config, 0, &need) == 0);
    for (size_t i = 0; i < count; i++)
        REQUIRE(fit_version_measure(fit, db, &base, alloc_release_of(releases[i]), out, i) == 0);
}

static struct fit_version measured(struct fit *fit, struct db *db, const char *conf,
                                   const char *release, uint64_t memory)
{
    struct fit_version version;
    measure(fit, db, conf, memory, &release, 1, &version);
    return version;
}

/* But for 2.12, which takes another of several free blocks of one size. */
TEST(nothing_differs_without_settings)
{
    struct fit fit;
    struct db *db;
    size_t count;
    const struct alloc_release *releases = alloc_releases(&count);
    struct fit_need need;
    load("", 0, &fit, &db);
    REQUIRE(fit_measure(&fit, &fit.recorded, 0, &need) == 0);
    CHECK(fit_version_recorded(&fit) == &releases[count - 1]);
    for (size_t i = 0; i < count; i++) {
        struct fit_version version = measured(&fit, db, "", releases[i].name, 0);
        CHECK_STR(version.trouble, "");
        if (strcmp(releases[i].name, "2.12") == 0) {
            CHECK(version.parts && version.rule && strcmp(version.rule->key, "oldest_first") == 0);
            fit_version_clear(&version);
            continue;
        }
        CHECK(!version.parts);
        CHECK_INT(version.need.smallest, need.smallest);
        CHECK_INT(version.need.peak_reserved, need.peak_reserved);
        fit_version_clear(&version);
    }
    unload(&fit, db);
}

/* Requests above the last boundary, up to twice as large, are what older releases divide otherwise.
 */
TEST(the_rule_is_named)
{
    static const char conf[] = "roundup_power2_divisions:[1:1,8:1,>:4]";
    struct fit fit;
    struct db *db;
    load(conf, 0, &fit, &db);
    struct fit_version version = measured(&fit, db, conf, "2.9", 0);
    CHECK(version.parts);
    CHECK_STR(version.rule ? version.rule->key : "", "roundup_above");
    CHECK(version.requested > 8 * MIB && version.requested < 16 * MIB);
    CHECK(version.place.allocation > 0);
    fit_version_clear(&version);
    version = measured(&fit, db, conf, "2.10", 0);
    CHECK(!version.parts);
    fit_version_clear(&version);
    unload(&fit, db);
}

/* What reads the settings alike is replayed once. */
TEST(like_policies_are_one)
{
    static const char conf[] = "roundup_power2_divisions:[1:1,8:1,>:4]";
    static const char *const names[] = {"2.14", "2.6", "2.9", "2.10"};
    struct fit_version versions[4];
    struct fit fit;
    struct db *db;
    load(conf, 0, &fit, &db);
    measure(&fit, db, conf, 0, names, 4, versions);
    CHECK(!versions[0].like && !versions[0].parts);
    CHECK(!versions[1].like && versions[1].parts);
    CHECK(versions[2].like == &versions[1]);
    CHECK(versions[3].like == &versions[0]);
    CHECK(fit_version_figures(&versions[2])->need.smallest == versions[1].need.smallest);
    for (size_t i = 0; i < 4; i++)
        fit_version_clear(&versions[i]);
    unload(&fit, db);
}

/* A limit that an older release sets one byte lower. */
TEST(a_limit_differs_by_a_byte)
{
    static const char conf[] = "per_process_memory_fraction:0.29";
    struct fit fit;
    struct db *db;
    load("", 0, &fit, &db);
    struct fit_version version = measured(&fit, db, conf, "2.13", 0);
    CHECK(!version.parts);
    int64_t smallest = version.need.smallest;
    fit_version_clear(&version);
    CHECK(smallest > 0 && smallest % (int64_t)FIT_STEP == 0);
    version = measured(&fit, db, conf, "2.12", (uint64_t)smallest);
    CHECK(version.parts && version.rule && strcmp(version.rule->key, "oldest_first") == 0);
    fit_version_clear(&version);
    version = measured(&fit, db, conf, "2.9", 0);
    CHECK_STR(version.trouble, "there is no setting 'per_process_memory_fraction'");
    CHECK(!version.parts);
    fit_version_clear(&version);
    unload(&fit, db);
}

static struct replay_outcome replayed(struct fit *fit, const struct alloc_config *config,
                                      uint64_t memory)
{
    struct replay_outcome outcome;
    const struct replay_setup setup = fit_setup(fit, config, memory);
    REQUIRE(replay_run(&fit->trace, &setup, &fit->scratch, NULL, &outcome) == 0);
    return outcome;
}

/* Half of a device does what a device of half the size does; what others have is of the device. */
TEST(a_part_is_one_of_the_whole_device)
{
    struct fit fit;
    struct db *db;
    struct fit_need all, half;
    struct alloc_config config;
    load("", 0, &fit, &db);
    REQUIRE(fit_measure(&fit, &fit.recorded, 0, &all) == 0);
    alloc_config_default(&config);
    config.memory_fraction = 0.5;
    for (uint64_t memory = 64 * MIB; memory < (uint64_t)all.peak_reserved; memory += 64 * MIB) {
        struct replay_outcome whole = replayed(&fit, &fit.recorded, memory);
        struct replay_outcome part = replayed(&fit, &config, 2 * memory);
        CHECK_INT(part.survived, whole.survived);
        CHECK_INT(part.retries, whole.retries);
        fit.aside = 32 * MIB;
        part = replayed(&fit, &config, 2 * memory - 32 * MIB);
        fit.aside = 0;
        CHECK_INT(part.survived, whole.survived);
    }
    REQUIRE(fit_measure(&fit, &config, 0, &half) == 0);
    CHECK_INT(half.peak_reserved, all.peak_reserved);
    CHECK(half.smallest > all.smallest && half.smallest <= 2 * all.peak_reserved);
    CHECK(replayed(&fit, &config, (uint64_t)half.smallest).survived);
    CHECK(!replayed(&fit, &config, (uint64_t)half.smallest - FIT_STEP).survived);
    unload(&fit, db);
}

/* Thrown where segments and cache are more than the device, a cache is of no use; with a part as
 * the limit it is never thrown, as with PyTorch 2.12 to 2.14. */
TEST(throwing_needs_more)
{
    struct fit fit;
    struct db *db;
    struct fit_need kept, thrown;
    struct alloc_config config;
    load("", 0, &fit, &db);
    alloc_config_default(&config);
    REQUIRE(fit_measure(&fit, &config, 0, &kept) == 0);
    config.throws = true;
    REQUIRE(fit_measure(&fit, &config, 0, &thrown) == 0);
    CHECK(kept.retries > 0 && kept.smallest < kept.peak_reserved);
    CHECK_INT(thrown.retries, 0);
    CHECK_INT(thrown.smallest, thrown.peak_reserved);
    config.memory_fraction = 0.5;
    for (uint64_t memory = 64 * MIB; memory < (uint64_t)kept.peak_reserved; memory += 64 * MIB) {
        struct replay_outcome part = replayed(&fit, &config, 2 * memory);
        CHECK_INT(part.survived, replayed(&fit, &fit.recorded, memory).survived);
    }
    /* What others have is of the device that the rule looks at, and not for the allocator. */
    config.memory_fraction = 1;
    fit.aside = (uint64_t)kept.peak_reserved;
    REQUIRE(fit_measure(&fit, &config, 0, &thrown) == 0);
    CHECK_INT(thrown.smallest, kept.smallest);
    unload(&fit, db);
}

TEST_MAIN(TEST_CASE(nothing_differs_without_settings), TEST_CASE(the_rule_is_named),
          TEST_CASE(like_policies_are_one), TEST_CASE(a_limit_differs_by_a_byte),
          TEST_CASE(a_part_is_one_of_the_whole_device), TEST_CASE(throwing_needs_more))
