/* GPU profiles and the settings of a rehearsal, as a user writes them. */
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "settings.h"
#include "test.h"

static struct profile read_profile(const char *text)
{
    struct profile profile;
    char why[128];
    REQUIRE(profile_read(text, &profile, why, sizeof why) == BASE_OK);
    return profile;
}

static void refused(const char *text, const char *part)
{
    struct profile profile;
    char why[128] = "";
    CHECK_INT(profile_read(text, &profile, why, sizeof why), ERR_ARG);
    if (!strstr(why, part))
        fprintf(stderr, "'%s' says: %s\n", text, why);
    CHECK(strstr(why, part) != NULL);
}

TEST(every_profile_is_read_by_its_name)
{
    struct profile profile, again;
    size_t count = 0;
    for (; profile_at(count, &profile); count++) {
        again = read_profile(profile.name);
        CHECK_STR(again.title, profile.title);
        CHECK(profile.capability != NULL && profile.memory > UINT64_C(1) << 30);
        CHECK(profile.sms > 0 && profile.l2 > 0 && profile.bus_bits > 0);
        CHECK(strlen(profile.from) > 10);
        CHECK_INT(again.memory, profile.memory);
        CHECK_STR(read_profile(profile.title).name, profile.name);
    }
    CHECK(count >= 30);
}

TEST(only_letters_and_digits_of_a_name_count)
{
    CHECK_STR(read_profile("RTX 4090").name, "rtx-4090");
    CHECK_STR(read_profile("rtx4090").name, "rtx-4090");
    CHECK_STR(read_profile("geforce rtx 4090").name, "rtx-4090");
    CHECK_STR(read_profile("Tesla T4").name, "t4");
    CHECK_STR(read_profile("NVIDIA T4").name, "t4");
    CHECK_STR(read_profile("A100 80GB PCIe").name, "a100-80gb-pcie");
}

/* Another card's figures would be worse than a question. */
TEST(a_name_that_is_near_is_asked_about)
{
    refused("a100", "did you mean a100-40gb, a100-80gb or a100-80gb-pcie?");
    refused("l40", "did you mean l40s?");
    refused("4090", "did you mean rtx-4090?");
    refused("rtx-409O", "did you mean rtx-4090?");
    refused("rtx", ", ...?");
    refused("nothing", "'nothing' (--gpu list has all)");
    refused("", "'' (--gpu list has all)");
    refused("---", "'---' (--gpu list has all)");
    refused("0123456789012345678901234567890123456789012345678901234567890123456789",
            "(--gpu list has all)");
}

TEST(parts_make_a_gpu)
{
    struct profile a = read_profile("cc=8.0,memory=40GiB"), b = read_profile("cc=9.0");
    CHECK_INT(a.memory, UINT64_C(40) << 30);
    CHECK_INT(a.capability->major, 8);
    CHECK_INT(a.capability->shared_per_sm, 164 * 1024);
    CHECK_INT(b.capability->major, 9);
    CHECK(b.memory > 0);
    CHECK_INT(read_profile("memory=512m,cc=7.5").memory, 512 << 20);
    CHECK_INT(read_profile("cc=8.0,memory=123456789").memory, 123456789);
    CHECK_INT(read_profile("cc=9.5").capability->minor, 0); /* the nearest below */
    CHECK_INT(read_profile("cc=99.9").capability->major, 12);
}

/* A capability that no profile has: its own limits, the rest of the nearest card below. */
TEST(what_is_not_named_is_as_on_a_card)
{
    struct profile jetson = read_profile("cc=8.7,memory=30GiB"), b300 = read_profile("cc=10.3");
    CHECK_INT(jetson.capability->minor, 7);
    CHECK_INT(jetson.capability->shared_per_sm, 164 * 1024);
    CHECK_INT(jetson.sms, read_profile("a10").sms);
    CHECK_INT(b300.sms, read_profile("b200").sms);
    CHECK_INT(b300.memory, read_profile("b200").memory);
    CHECK_STR(b300.name, "cc=10.3");
}

TEST(a_share_of_a_card_has_its_multiprocessors)
{
    struct profile mig = read_profile("cc=8.0,memory=19.5GiB,sms=42");
    struct settings settings = {.gpu = mig, .devices = 1}, again;
    char why[128], text[SETTINGS_TEXT_MAX];
    CHECK_INT(mig.sms, 42);
    CHECK_INT(mig.context, 42 * 2048 * 2048);
    REQUIRE(settings_write(&settings, text, sizeof text));
    REQUIRE(settings_read(text, &again, why, sizeof why) == BASE_OK);
    CHECK_INT(again.gpu.sms, 42);
    CHECK_INT(again.gpu.memory, mig.memory);
    CHECK_STR(again.gpu.name, "cc=8.0,sms=42");
    CHECK_INT(again.context, mig.context);
}

TEST(what_is_no_gpu_is_told)
{
    refused("a1000", "no GPU profile is called 'a1000'; did you mean a10?");
    refused("memory=4GiB", "cc=MAJOR.MINOR is missing");
    refused("cc=8", "'cc=8' is not");
    refused("cc=1.0", "'cc=1.0' is not");
    refused("cc=8.0,memory=lots", "'memory=lots' is not");
    refused("cc=8.0,memory=4XB", "'memory=4XB' is not");
    refused("cc=8.0,colour=red", "'colour=red' is not");
    refused("cc=8.0,sms=0", "'sms=0' is not");
    refused("cc=8.0,sms=+8", "'sms=+8' is not");
    refused("cc=8.0,sms=8x", "'sms=8x' is not");
    refused("cc=8.0,sms=100000", "'sms=100000' is not");
    refused("cc=5.2", "'cc=5.2' is not"); /* older than all that is known */
}

TEST(settings_come_back_as_they_were_written)
{
    struct settings settings, again;
    char why[128], text[SETTINGS_TEXT_MAX], small[8];
    REQUIRE(settings_read("gpu=t4;devices=3;context=1000;cuda=12;memory=5000", &settings, why,
                          sizeof why) == BASE_OK);
    CHECK_INT(settings.devices, 3);
    CHECK_INT(settings.cuda, 12);
    CHECK_INT(settings.gpu.memory, 5000);
    REQUIRE(settings_write(&settings, text, sizeof text));
    REQUIRE(settings_read(text, &again, why, sizeof why) == BASE_OK);
    CHECK_INT(again.context, 1000);
    CHECK_INT(again.gpu.memory, 5000);
    CHECK_STR(again.gpu.title, settings.gpu.title);
    CHECK(!settings_write(&settings, small, sizeof small));
}

/* What nobody says is what the GPU's own context takes; 0 is something that is said. */
TEST(a_context_is_the_gpus_or_what_is_said)
{
    struct settings settings = {.gpu = read_profile("a100-40gb"), .devices = 1}, again;
    char why[128], text[SETTINGS_TEXT_MAX];
    REQUIRE(settings_write(&settings, text, sizeof text));
    CHECK(strstr(text, "context") == NULL);
    REQUIRE(settings_read(text, &again, why, sizeof why) == BASE_OK);
    CHECK_INT(again.context, 438304768);
    REQUIRE(settings_read("gpu=a100-40gb;context=0", &again, why, sizeof why) == BASE_OK);
    CHECK_INT(again.context, 0);
    REQUIRE(settings_write(&again, text, sizeof text));
    REQUIRE(settings_read(text, &again, why, sizeof why) == BASE_OK);
    CHECK_INT(again.context, 0);
    REQUIRE(settings_read("gpu=a100-40gb;memory=1000", &again, why, sizeof why) == BASE_OK);
    CHECK_INT(again.context, 1000); /* no more than there is */
}

TEST(settings_are_refused_when_they_do_not_fit)
{
    struct settings settings = {.gpu = read_profile("t4"), .devices = 64, .cuda = 12};
    char text[SETTINGS_TEXT_MAX];
    settings.context_said = true;
    settings.context = UINT64_MAX;
    REQUIRE(settings_write(&settings, text, sizeof text));
    size_t whole = strlen(text) + 1;
    for (size_t room = 1; room < whole; room++)
        CHECK(!settings_write(&settings, text, room));
    CHECK(settings_write(&settings, text, whole));
}

TEST(settings_that_cannot_be)
{
    static const char *const wrong[] = {"",
                                        "devices=1",
                                        "gpu=t4;devices=65",
                                        "gpu=t4;devices=x",
                                        "gpu=t4;cuda=11",
                                        "gpu=t4;speed=9",
                                        "gpu=nothing"};
    struct settings settings;
    char why[128], huge[1000];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        why[0] = '\0';
        CHECK_INT(settings_read(wrong[i], &settings, why, sizeof why), ERR_ARG);
        CHECK(why[0] != '\0');
    }
    memset(huge, 'x', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    CHECK_INT(settings_read(huge, &settings, why, sizeof why), ERR_ARG);
    REQUIRE(settings_read("gpu=t4;memory=100;context=500", &settings, why, sizeof why) == BASE_OK);
    CHECK_INT(settings.context, 100); /* no more than there is */
}

TEST_MAIN(TEST_CASE(every_profile_is_read_by_its_name),
          TEST_CASE(only_letters_and_digits_of_a_name_count),
          TEST_CASE(a_name_that_is_near_is_asked_about), TEST_CASE(parts_make_a_gpu),
          TEST_CASE(what_is_not_named_is_as_on_a_card),
          TEST_CASE(a_share_of_a_card_has_its_multiprocessors), TEST_CASE(what_is_no_gpu_is_told),
          TEST_CASE(settings_come_back_as_they_were_written),
          TEST_CASE(a_context_is_the_gpus_or_what_is_said),
          TEST_CASE(settings_are_refused_when_they_do_not_fit), TEST_CASE(settings_that_cannot_be))
