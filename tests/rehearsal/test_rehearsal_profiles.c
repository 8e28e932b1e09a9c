/*
 * The GPU profiles: docs/gpu-profiles.md shows what they are, every one starts a machine, and the
 * stand-in answers what they say.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "error.h"
#include "machine.h"
#include "settings.h"
#include "test.h"

#define PAGE_MOST 65536
#define SMS 16 /* attribute: multiprocessors */

/* ---- the page ---- */

static char page[PAGE_MOST];

static void read_page(void)
{
    const char *path = getenv("TIDEMARK_PROFILES_PAGE");
    REQUIRE(path != NULL);
    FILE *file = fopen(path, "r");
    REQUIRE(file != NULL);
    size_t n = fread(page, 1, sizeof page - 1, file);
    CHECK_INT(fclose(file), 0);
    REQUIRE(n > 0 && n < sizeof page - 1);
    page[n] = '\0';
}

/* "\n| `a10` |": the rows of a table whose first cell begins like that. */
static size_t rows_of_page(const char *begin)
{
    size_t count = 0;
    for (const char *at = page; (at = strstr(at, begin)) != NULL; at += strlen(begin))
        count++;
    return count;
}

/* The page has this line once. If not, it is printed as it has to be. */
static void check_line(const char *line)
{
    char whole[512];
    snprintf(whole, sizeof whole, "\n%s\n", line);
    const char *at = strstr(page, whole);
    if (!at || strstr(at + 1, whole))
        fprintf(stderr, "docs/gpu-profiles.md lacks, or has twice:\n%s\n", line);
    CHECK(at && !strstr(at + 1, whole));
}

TEST(the_page_has_every_profile_and_no_other)
{
    struct profile p;
    char line[512];
    size_t count = 0;
    read_page();
    for (; profile_at(count, &p); count++) {
        snprintf(line, sizeof line, "| `%s` | %s | %d.%d | %" PRIu64 " | %d | %u | %d | %s |",
                 p.name, p.title, p.capability->major, p.capability->minor, p.memory, p.sms,
                 p.l2 / 1024, p.bus_bits, p.from);
        check_line(line);
        snprintf(line, sizeof line, "| `%s` context | %.1f | %s |", p.name,
                 (double)p.context / (1 << 20), p.context_from);
        check_line(line);
    }
    CHECK_INT(rows_of_page("\n| `"), 2 * count);
}

TEST(the_page_has_every_capability_and_no_other)
{
    char line[128];
    size_t count = 0;
    read_page();
    for (int32_t number = 0; number < 200; number++) {
        const struct capability *c = profile_capability(number / 10, number % 10);
        if (!c || c->major * 10 + c->minor != number)
            continue;
        snprintf(line, sizeof line, "| cc %d.%d | %d | %d | %d | %d | %d |", c->major, c->minor,
                 c->threads_per_sm, c->blocks_per_sm, c->shared_per_sm / 1024,
                 c->shared_optin / 1024, c->shared_reserved / 1024);
        check_line(line);
        count++;
    }
    CHECK_INT(rows_of_page("\n| cc "), count);
    CHECK(count >= 15);
}

/* ---- what a profile has to be ---- */

/* A name that finds two cards, or a capability of which only the one before was meant. */
TEST(no_two_profiles_are_one)
{
    struct profile a, b;
    for (size_t i = 0; profile_at(i, &a); i++) {
        CHECK(strlen(a.name) + 1 < sizeof a.name && strlen(a.title) + 1 < sizeof a.title);
        for (size_t j = 0; j < i && profile_at(j, &b); j++) {
            CHECK(strcmp(a.name, b.name) != 0);
            CHECK(strcmp(a.title, b.title) != 0);
        }
    }
}

/* Limits that the hardware has: what is not so was mistyped. */
TEST(figures_are_possible)
{
    struct profile p;
    for (size_t i = 0; profile_at(i, &p); i++) {
        const struct capability *c = p.capability;
        bool possible = p.memory >> 30 >= 4 && p.memory >> 30 < 512 && p.memory % 4096 == 0 &&
                        p.sms >= 8 && p.sms <= 256 && p.bus_bits % 32 == 0 && p.l2 % 131072 == 0 &&
                        c->shared_optin + c->shared_reserved <= c->shared_per_sm &&
                        p.context < p.memory / 8;
        if (!possible)
            fprintf(stderr, "%s\n", p.name);
        CHECK(possible);
    }
}

/* The rule by which a context is computed is no further than a tenth from any that was measured. */
TEST(a_computed_context_is_near_the_measured)
{
    struct profile measured, computed;
    size_t count = 0;
    for (size_t i = 0; profile_at(i, &measured); i++) {
        if (strncmp(measured.context_from, "measured: ", 10) != 0) {
            CHECK(strncmp(measured.context_from, "computed: ", 10) == 0);
            continue;
        }
        computed = measured;
        profile_compute_context(&computed);
        double off = (double)computed.context / (double)measured.context - 1;
        CHECK(off > -0.1 && off < 0.1);
        count++;
    }
    CHECK(count >= 9);
}

/* ---- the machine ---- */

static void check_machine(const struct profile *p)
{
    /* Addresses for one such card: a thread sanitizer has no room for as many as a program gets. */
    struct machine_options options = {.devices = 1,
                                      .memory = p->memory,
                                      .context = p->context,
                                      .addresses = 2 * p->memory / MACHINE_PAGE * MACHINE_PAGE};
    uint64_t free_bytes, total, half, all;
    REQUIRE(machine_start(&options) == BASE_OK);
    REQUIRE(machine_touch(0) == BASE_OK);
    machine_memory(0, &free_bytes, &total);
    CHECK_INT(total, p->memory);
    CHECK_INT(free_bytes, p->memory - p->context);
    CHECK_INT(machine_take(0, p->memory / 2, &half), BASE_OK);
    CHECK_INT(machine_take(0, p->memory, &all), ERR_NOMEM);
    CHECK(machine_is_valid());
    machine_stop();
}

TEST(every_profile_starts_a_machine)
{
    struct profile p;
    for (size_t i = 0; profile_at(i, &p); i++)
        check_machine(&p);
}

/* ---- the stand-in ---- */

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    REQUIRE(found != NULL);
    return found;
}

/* In a process of its own: a stand-in reads its settings once. */
static int answers_as(const struct profile *p)
{
    int (*info)(size_t *, size_t *), (*attribute)(int *, int, int), sms = 0;
    size_t free_bytes = 0, total = 0;
    struct settings settings = {.gpu = *p, .devices = 1};
    char text[SETTINGS_TEXT_MAX];
    REQUIRE(settings_write(&settings, text, sizeof text));
    REQUIRE(setenv(SETTINGS_ENV, text, 1) == 0);
    void *library = dlopen(getenv("TIDEMARK_STANDIN"), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != NULL);
    void *found[] = {symbol(library, "cudaMemGetInfo"), symbol(library, "cudaDeviceGetAttribute")};
    memcpy(&info, &found[0], sizeof info);
    memcpy(&attribute, &found[1], sizeof attribute);
    return info(&free_bytes, &total) == 0 && total == p->memory &&
                   free_bytes == p->memory - p->context && attribute(&sms, SMS, 0) == 0 &&
                   sms == p->sms
               ? 0
               : 1;
}

TEST(the_stand_in_answers_as_every_profile)
{
    struct profile p;
    if (!getenv("TIDEMARK_STANDIN"))
        SKIP("this build has no stand-in");
    for (size_t i = 0; profile_at(i, &p); i++) {
        int status = -1;
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0)
            _exit(answers_as(&p));
        CHECK_INT(waitpid(child, &status, 0), child);
        if (status)
            fprintf(stderr, "%s\n", p.name);
        CHECK_INT(status, 0);
    }
}

TEST_MAIN(TEST_CASE(the_page_has_every_profile_and_no_other),
          TEST_CASE(the_page_has_every_capability_and_no_other), TEST_CASE(no_two_profiles_are_one),
          TEST_CASE(figures_are_possible), TEST_CASE(a_computed_context_is_near_the_measured),
          TEST_CASE(every_profile_starts_a_machine),
          TEST_CASE(the_stand_in_answers_as_every_profile))
