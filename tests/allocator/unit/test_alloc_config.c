/*
 * Settings as text: what is accepted and what it means, what is refused and with which words, and
 * that what is written is read again.
 */
#include <stdio.h>
#include <string.h>

#include "bed.h"

static struct alloc_config parsed(const char *text)
{
    struct alloc_config config;
    char why[200] = "";
    alloc_config_default(&config);
    CHECK_INT(alloc_config_parse(&config, text, why, sizeof why), BASE_OK);
    CHECK_STR(why, "");
    return config;
}

TEST(defaults)
{
    struct alloc_config config = parsed("");
    CHECK(config.max_split_size == UINT64_MAX);
    CHECK_INT(config.max_non_split_rounding, 20 * MIB);
    CHECK_INT(config.large_segment_size, 20 * MIB);
    CHECK(config.gc_threshold == 0);
    CHECK(!config.expandable_segments);
    for (int i = 0; i < ALLOC_ROUNDUP_SLOTS; i++)
        CHECK_INT(config.roundup[i], 0);
}

TEST(each_key)
{
    CHECK_INT(parsed("max_split_size_mb:20").max_split_size, 20 * MIB);
    CHECK_INT(parsed("max_split_size_mb:512").max_split_size, 512 * MIB);
    CHECK_INT(parsed("max_non_split_rounding_mb:64").max_non_split_rounding, 64 * MIB);
    CHECK_INT(parsed("large_segment_size_mb:32").large_segment_size, 32 * MIB);
    CHECK(parsed("garbage_collection_threshold:0.8").gc_threshold == 0.8);
    CHECK(parsed("expandable_segments:True").expandable_segments);
    CHECK(!parsed("expandable_segments:False").expandable_segments);
}

TEST(several_keys_and_white_space)
{
    struct alloc_config config =
        parsed(" max_split _size_mb : 1 28 ,\texpandable_segments:\nTrue , "
               "garbage_collection_threshold:.5,");
    CHECK_INT(config.max_split_size, 128 * MIB);
    CHECK(config.expandable_segments);
    CHECK(config.gc_threshold == 0.5);
}

TEST(keys_without_meaning_here)
{
    struct alloc_config config =
        parsed("backend:native,release_lock_on_cudamalloc:True,"
               "graph_capture_record_stream_reuse:False,pinned_free_catch_all:True,"
               "pinned_use_cuda_host_register:True,pinned_num_register_threads:8,"
               "pinned_max_cached_size_mb:8,expandable_segments_reserve_by_class:[a:1,b:2],"
               "max_split_size_mb:21");
    CHECK_INT(config.max_split_size, 21 * MIB);
    CHECK(config.reserve.value == 0);
}

/* Freed blocks that are not cut may be larger by as much as a segment is, unless it is said. */
TEST(what_depends_on_the_segments)
{
    CHECK_INT(parsed("large_segment_size_mb:32").max_non_split_rounding, 32 * MIB);
    CHECK_INT(parsed("large_segment_size_mb:12").max_non_split_rounding, 12 * MIB);
    CHECK_INT(
        parsed("max_non_split_rounding_mb:64,large_segment_size_mb:32").max_non_split_rounding,
        64 * MIB);
    CHECK_INT(parsed("max_split_size_mb:32,large_segment_size_mb:32").max_split_size, 32 * MIB);
}

TEST(limits)
{
    CHECK(parsed("").memory_fraction == 1);
    CHECK(parsed("per_process_memory_fraction:0.25").memory_fraction == 0.25);
    CHECK(parsed("per_process_memory_fraction:0").memory_fraction == 0);
    CHECK(parsed("throw_on_cudamalloc_oom:True").throws);
    CHECK(!parsed("throw_on_cudamalloc_oom:False").throws);
}

/* PyTorch warns of a value that it cannot read, and goes on without it. */
TEST(reserves)
{
    struct alloc_config config = parsed("expandable_segments_reserve:0.5");
    CHECK(config.reserve.value == 0.5 && !config.reserve.gib);
    config = parsed("expandable_segments_reserve:40G");
    CHECK(config.reserve.value == 40 && config.reserve.gib);
    static const char *const ignored[] = {"0", "-1", "abc", "G", "12X", "inf", "nan", "40Gi"};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) {
        char text[64];
        snprintf(text, sizeof text, "expandable_segments_reserve:%s", ignored[i]);
        CHECK(parsed(text).reserve.value == 0);
    }
}

static void check_slots(const char *text, const uint32_t want[ALLOC_ROUNDUP_SLOTS])
{
    struct alloc_config config = parsed(text);
    for (int i = 0; i < ALLOC_ROUNDUP_SLOTS; i++)
        CHECK_INT(config.roundup[i], want[i]);
}

TEST(divisions)
{
    check_slots("roundup_power2_divisions:4",
                (uint32_t[16]){4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4});
    check_slots("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]",
                (uint32_t[16]){1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8});
    check_slots("roundup_power2_divisions:[4:2]",
                (uint32_t[16]){2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    check_slots("roundup_power2_divisions:[1:8,16:4]",
                (uint32_t[16]){8, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    check_slots("roundup_power2_divisions:[>:2]",
                (uint32_t[16]){0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2});
    check_slots("roundup_power2_divisions:[32768:16,65536:32]",
                (uint32_t[16]){16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 32});
    check_slots("roundup_power2_divisions:0", (uint32_t[16]){0});
}

TEST(what_is_refused)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"max_split_size_mb:19", "max_split_size_mb must be at least 20, not 19"},
        {"max_split_size_mb:-1", "'-1' is no whole number"},
        {"max_split_size_mb:20x", "'20x' is no whole number"},
        {"max_split_size_mb:", "a number is missing at the end"},
        {"max_split_size_mb", "':' is missing before ''"},
        {"max_split_size_mb:99999999999999", "99999999999999 is too large"},
        {"max_split_size_mb:99999999999999999999999", "99999999999999999999999 is too large"},
        {"max_non_split_rounding_mb:10", "max_non_split_rounding_mb must be at least 20, not 10"},
        {"large_segment_size_mb:10", "large_segment_size_mb must be at least 11, not 10"},
        {"large_segment_size_mb:21", "large_segment_size_mb must be an even number of MiB"},
        {"garbage_collection_threshold:0",
         "garbage_collection_threshold must be above 0 and below 1"},
        {"garbage_collection_threshold:1.0",
         "garbage_collection_threshold must be above 0 and below 1"},
        {"garbage_collection_threshold:nan",
         "garbage_collection_threshold must be above 0 and below 1"},
        {"garbage_collection_threshold:x",
         "garbage_collection_threshold must be a number, not 'x'"},
        {"expandable_segments:true", "expandable_segments must be True or False, not 'true'"},
        {"expandable_segments:1", "expandable_segments must be True or False, not '1'"},
        {"release_lock_on_cudamalloc:yes",
         "release_lock_on_cudamalloc must be True or False, not 'yes'"},
        {"per_process_memory_fraction:1.5", "per_process_memory_fraction must be from 0 to 1"},
        {"backend:cudaMallocAsync", "this is the native backend, not 'cudaMallocAsync'"},
        {"roundup_power2_divisions:3", "divisions must be 0 or a power of two, not 3"},
        {"roundup_power2_divisions:[3:4]", "a boundary must be a power of two, not 3"},
        {"roundup_power2_divisions:[4:4", "']' is missing before ''"},
        {"roundup_power2_divisions:[4,4]", "':' is missing before ','"},
        {"roundup_power2_divisions:[>4]", "'>4' is no whole number"},
        {"pinned_x:", "pinned_x has no value"},
        {"max_split_size_mb:31,large_segment_size_mb:32",
         "max_split_size_mb must be at least large_segment_size_mb"},
        {"max_non_split_rounding_mb:31,large_segment_size_mb:32",
         "max_non_split_rounding_mb must be at least large_segment_size_mb"},
        {"expandable_segments_reserve:", "expandable_segments_reserve has no value"},
        {"expandable_segments_reserve_by_class:[1",
         "the list of expandable_segments_reserve_by_class has no end"},
        {"max_split_size:20", "there is no setting 'max_split_size'"},
        {"max_split_size_mb:20 expandable_segments:True",
         "'20expandable_segments' is no whole number"},
        {"expandable_segments:True:1", "',' is missing before ':'"},
        {",expandable_segments:True", "a key is missing before ','"},
        {":", "a key is missing before ':'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct alloc_config config = {.max_split_size = 123}, before = config;
        char why[200] = "";
        CHECK_INT(alloc_config_parse(&config, cases[i].text, why, sizeof why), ERR_ARG);
        CHECK_STR(why, cases[i].why);
        CHECK(memcmp(&config, &before, sizeof config) == 0);
        CHECK_INT(alloc_config_parse(&config, cases[i].text, NULL, 0), ERR_ARG);
    }
}

/* A word longer than any: refused, with as much of it as fits. */
TEST(long_words)
{
    char text[1000], why[40];
    struct alloc_config config;
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    alloc_config_default(&config);
    CHECK_INT(alloc_config_parse(&config, text, why, sizeof why), ERR_ARG);
    CHECK_STR(why, "':' is missing before ''");
    text[500] = ':';
    CHECK_INT(alloc_config_parse(&config, text, why, sizeof why), ERR_ARG);
    CHECK_STR(why, "there is no setting 'xxxxxxxxxxxxxxxxxx");
}

/* All but expandable_segments begins anew with each string. */
TEST(a_parse_begins_with_defaults)
{
    struct alloc_config config = parsed("expandable_segments:True,max_split_size_mb:64,"
                                        "garbage_collection_threshold:0.5,"
                                        "roundup_power2_divisions:8");
    CHECK_INT(alloc_config_parse(&config, "", NULL, 0), BASE_OK);
    CHECK(config.expandable_segments);
    CHECK(config.max_split_size == UINT64_MAX);
    CHECK(config.gc_threshold == 0);
    CHECK_INT(config.roundup[3], 0);
    CHECK_INT(alloc_config_parse(&config, "expandable_segments:False", NULL, 0), BASE_OK);
    CHECK(!config.expandable_segments);
}

TEST(writing_and_reading_again)
{
    static const char *const texts[] = {
        "",
        "max_split_size_mb:64",
        "max_split_size_mb:128,max_non_split_rounding_mb:40,large_segment_size_mb:32,"
        "garbage_collection_threshold:0.75,roundup_power2_divisions:4,"
        "per_process_memory_fraction:0.5,throw_on_cudamalloc_oom:True,expandable_segments:True,"
        "expandable_segments_reserve:40G",
        "large_segment_size_mb:32",
        "expandable_segments_reserve:0.5",
        "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]",
        "expandable_segments:True",
    };
    char text[400];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct alloc_config config = parsed(texts[i]);
        alloc_config_format(&config, text, sizeof text);
        CHECK_STR(text, texts[i]);
    }
    uint64_t seed = 5;
    for (int i = 0; i < 300; i++) {
        struct alloc_config config, again;
        alloc_config_default(&config);
        for (int slot = 0; slot < ALLOC_ROUNDUP_SLOTS; slot++) {
            uint64_t r = test_random(&seed) % 8;
            config.roundup[slot] = r < 4 && slot ? config.roundup[slot - 1] : r < 7 ? 1u << r : 0;
        }
        alloc_config_format(&config, text, sizeof text);
        again = parsed(text);
        CHECK(memcmp(config.roundup, again.roundup, sizeof config.roundup) == 0);
    }
}

TEST(a_short_buffer_cuts_the_text)
{
    struct alloc_config config = parsed("max_split_size_mb:64,expandable_segments:True");
    char text[12] = "untouched!!";
    alloc_config_format(&config, text, 0);
    CHECK_STR(text, "untouched!!");
    alloc_config_format(&config, text, sizeof text);
    CHECK_STR(text, "max_split_s");
}

/* Texts put together from pieces of good ones: read or refused with a sentence; what was read is
 * valid, and is read again as it is written. */
TEST(random_texts)
{
    static const char *const pieces[] = {
        "max_split_size_mb",
        "roundup_power2_divisions",
        "expandable_segments",
        "backend",
        ":",
        ":",
        ":",
        ",",
        ",",
        "[",
        "]",
        ">",
        "True",
        "False",
        "native",
        "64",
        "4",
        "0",
        "1",
        "0.5",
        " ",
        "garbage_collection_threshold",
        "large_segment_size_mb",
        "pinned_x",
        "18446744073709551616",
    };
    uint64_t seed = 21;
    int good = 0;
    for (int i = 0; i < 200000; i++) {
        char text[300] = "", why[200] = "", again[300];
        struct alloc_config config = {0}, second = {0};
        for (uint64_t n = test_random(&seed) % 9; n > 0; n--)
            strncat(text, pieces[test_random(&seed) % (sizeof pieces / sizeof *pieces)], 30);
        int err = alloc_config_parse(&config, text, why, sizeof why);
        CHECK((err == BASE_OK) == (why[0] == '\0'));
        if (err != BASE_OK)
            continue;
        good++;
        alloc_config_format(&config, again, sizeof again);
        CHECK_INT(alloc_config_parse(&second, again, why, sizeof why), BASE_OK);
        CHECK(memcmp(&config, &second, sizeof config) == 0);
    }
    CHECK(good > 100);
}

/* What the divisions do to a request. */
TEST(rounding_by_divisions)
{
    static const struct {
        uint64_t bytes, block;
    } cases[] = {
        {1200, 1536}, /* not above 512 * 4: as without */
        {2048, 2048},        {2049, 2560},           {2561, 3072}, {3000, 3072},
        {3073, 3584},        {4096, 4096},           {4097, 5120}, {5 * KIB, 5 * KIB},
        {5 * KIB + 1, 6144}, {700 * KIB, 768 * KIB}, {MIB, MIB},
    };
    static struct bed bed;
    bed_begin(&bed, &(struct bed_options){.config = "roundup_power2_divisions:4"});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t address = bed_malloc(&bed, cases[i].bytes, 0);
        CHECK_INT(alloc_block_size(bed.alloc, address), cases[i].block);
        bed_give(&bed, address);
    }
    bed_configure(&bed, "roundup_power2_divisions:[1:1,2:2,>:8]");
    CHECK_INT(alloc_block_size(bed.alloc, bed_malloc(&bed, MIB + MIB / 8, 0)), MIB + MIB / 8);
    CHECK_INT(alloc_block_size(bed.alloc, bed_malloc(&bed, 2 * MIB + 1, 0)), 3 * MIB);
    CHECK_INT(alloc_block_size(bed.alloc, bed_malloc(&bed, 4 * MIB + 1, 0)), 4 * MIB + 512 * KIB);
    bed_end(&bed);
}

TEST(settings_that_make_no_sense)
{
    static struct bed bed;
    struct alloc_config config;
    struct alloc *alloc;
    bed_begin(&bed, &(struct bed_options){0});
    for (int i = 0; i < 7; i++) {
        alloc_config_default(&config);
        config.memory_fraction = i == 5 ? 1.5 : 1;
        config.reserve.value = i == 6 ? -1 : 0;
        config.roundup[3] = i == 0 ? 3 : 0;
        config.gc_threshold = i == 1 ? 1 : 0;
        config.large_segment_size = i == 2 ? 8 * MIB : i == 3 ? 21 * MIB : 20 * MIB;
        config.max_split_size = i == 4 ? 0 : UINT64_MAX;
        CHECK_INT(alloc_configure(bed.alloc, &config), ERR_ARG);
        struct alloc_options options = {.device = virtual_seam(bed.device), .config = &config};
        CHECK_INT(alloc_new(&alloc, &options), ERR_ARG);
        CHECK(alloc == NULL);
    }
    CHECK_INT(alloc_new(&alloc, &(struct alloc_options){0}), ERR_ARG);
    bed_end(&bed);
}

TEST_MAIN(TEST_CASE(defaults), TEST_CASE(each_key), TEST_CASE(several_keys_and_white_space),
          TEST_CASE(keys_without_meaning_here), TEST_CASE(what_depends_on_the_segments),
          TEST_CASE(limits), TEST_CASE(reserves), TEST_CASE(divisions), TEST_CASE(what_is_refused),
          TEST_CASE(long_words), TEST_CASE(a_parse_begins_with_defaults),
          TEST_CASE(writing_and_reading_again), TEST_CASE(a_short_buffer_cuts_the_text),
          TEST_CASE(random_texts), TEST_CASE(rounding_by_divisions),
          TEST_CASE(settings_that_make_no_sense))
