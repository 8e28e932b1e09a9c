/* NVTX's calls into events: a program that is its own recorder and plays NVTX's part, too. */
#include "nvtx_tables.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>

#include "guest_support.h"
#include "nvtx_name.h"

/* ---- calls ---- */

static int push(const char *text)
{
    return CALL(int (*)(const char *), core, NVTX_RANGE_PUSH_A)(text);
}

static int pop(void)
{
    return CALL(int (*)(void), core, NVTX_RANGE_POP)();
}

static const void *domain(const char *name)
{
    return CALL(const void *(*)(const char *), core2, NVTX_DOMAIN_CREATE_A)(name);
}

static struct nvtx_attributes ascii(const char *text)
{
    return (struct nvtx_attributes){.version = 3,
                                    .size = sizeof(struct nvtx_attributes),
                                    .message_type = NVTX_MESSAGE_TEXT,
                                    .message.text = text};
}

static int domain_push(const void *in, const char *text)
{
    struct nvtx_attributes attributes = ascii(text);
    return CALL(int (*)(const void *, const struct nvtx_attributes *), core2,
                NVTX_DOMAIN_RANGE_PUSH_EX)(in, &attributes);
}

static int domain_pop(const void *in)
{
    return CALL(int (*)(const void *), core2, NVTX_DOMAIN_RANGE_POP)(in);
}

static void domain_mark(const void *in, const struct nvtx_attributes *attributes)
{
    CALL(void (*)(const void *, const struct nvtx_attributes *), core2, NVTX_DOMAIN_MARK_EX)
    (in, attributes);
}

/* A recording into which NVTX talks; what it says of itself is taken out. */
static struct own_recorder begin(unsigned bits)
{
    struct own_recorder own = begin_recording(bits, 1 << 20);
    struct event out[8];
    REQUIRE(InitializeInjectionNvtx2(tables) == 1);
    push("first");
    pop();
    size_t n = drain(&own, out, 8);
    REQUIRE(n == 3);
    CHECK_INT(out[0].flags, EVENT_F_SOURCE);
    CHECK_STR(string_of(own.ring, out[0].name), "nvtx");
    return own;
}

/* ---- tests ---- */

TEST(every_call_says_what_it_is)
{
    struct own_recorder own = begin(6);
    struct nvtx_attributes attributes = ascii("ex");
    errno = 77;
    push("a");
    CALL(int (*)(const wchar_t *), core, NVTX_RANGE_PUSH_W)(L"w");
    CALL(int (*)(const struct nvtx_attributes *), core, NVTX_RANGE_PUSH_EX)(&attributes);
    pop();
    CALL(void (*)(const char *), core, NVTX_MARK_A)("mark a");
    CALL(void (*)(const wchar_t *), core, NVTX_MARK_W)(L"mark w");
    CALL(void (*)(const struct nvtx_attributes *), core, NVTX_MARK_EX)(&attributes);
    CHECK_INT(errno, 77);
    struct event out[16];
    REQUIRE(drain(&own, out, 16) == 7);
    static const struct {
        int kind;
        const char *name;
    } want[] = {{EVENT_PHASE_BEGIN, "a"}, {EVENT_PHASE_BEGIN, "w"}, {EVENT_PHASE_BEGIN, "ex"},
                {EVENT_PHASE_END, ""},    {EVENT_MARK, "mark a"},   {EVENT_MARK, "mark w"},
                {EVENT_MARK, "ex"}};
    for (int i = 0; i < 7; i++) {
        CHECK_INT(out[i].kind, want[i].kind);
        CHECK_INT(out[i].flags, EVENT_F_DOMAIN);
        CHECK_INT(out[i].addr, 0);
        CHECK_STR(string_of(own.ring, out[i].name), want[i].name);
    }
}

TEST(levels_are_of_a_thread_and_a_domain)
{
    struct own_recorder own = begin(8);
    const void *nccl = domain("NCCL"), *cudnn = domain("cuDNN");
    CHECK(nccl && cudnn && nccl != cudnn);
    CHECK(domain("NCCL") == nccl); /* of another library */
    CHECK_INT(push("a"), 0);
    CHECK_INT(push("b"), 1);
    CHECK_INT(domain_push(nccl, "n"), 0);
    CHECK_INT(domain_push(cudnn, "c"), 0);
    CHECK_INT(domain_push(nccl, "m"), 1);
    CHECK_INT(pop(), 1);
    CHECK_INT(domain_pop(cudnn), 0);
    CHECK_INT(domain_pop(cudnn), -1);
    CHECK_INT(domain_pop(nccl), 1);
    CHECK_INT(domain_pop(nccl), 0);
    CHECK_INT(pop(), 0);
    CHECK_INT(pop(), -1);
    struct event out[16];
    REQUIRE(drain(&own, out, 16) == 10); /* what has no begin is not told */
    CHECK_STR(string_of(own.ring, (uint32_t)out[2].addr), "NCCL");
    CHECK_STR(string_of(own.ring, (uint32_t)out[3].addr), "cuDNN");
    CHECK_INT(out[6].kind, EVENT_PHASE_END);
    CHECK_INT(out[6].addr, out[3].addr);
}

TEST(deep_and_in_many_domains)
{
    struct own_recorder own = begin(12);
    static struct event out[1000];
    const void *domains[40];
    char name[20];
    for (int i = 0; i < 300; i++)
        CHECK_INT(push("deep"), i);
    for (int i = 299; i >= 0; i--)
        CHECK_INT(pop(), i);
    CHECK_INT(drain(&own, out, 1000), 600);
    for (int i = 0; i < 40; i++) { /* more than a thread has places for, one after the other */
        snprintf(name, sizeof name, "d%d", i);
        domains[i] = domain(name);
        CHECK_INT(domain_push(domains[i], "x"), 0);
        CHECK_INT(domain_pop(domains[i]), 0);
    }
    CHECK_INT(drain(&own, out, 1000), 80);
    for (int i = 0; i < 40; i++)
        CHECK(domain_push(domains[i], "x") >= 0);
    for (int i = 39; i >= 0; i--)
        CHECK(domain_pop(domains[i]) >= 0);
    CHECK_INT(drain(&own, out, 1000), 80);
}

TEST(ranges_have_numbers_of_their_own)
{
    struct own_recorder own = begin(6);
    const void *nccl = domain("NCCL");
    struct nvtx_attributes attributes = ascii("second");
    uint64_t one = CALL(uint64_t(*)(const char *), core, NVTX_RANGE_START_A)("one");
    uint64_t two = CALL(uint64_t(*)(const void *, const struct nvtx_attributes *), core2,
                        NVTX_DOMAIN_RANGE_START_EX)(nccl, &attributes);
    uint64_t three = CALL(uint64_t(*)(const wchar_t *), core, NVTX_RANGE_START_W)(L"three");
    CHECK(one && two && three && one != two && two != three && one != three);
    CALL(void (*)(uint64_t), core, NVTX_RANGE_END)(one);
    CALL(void (*)(const void *, uint64_t), core2, NVTX_DOMAIN_RANGE_END)(nccl, two);
    CALL(void (*)(uint64_t), core, NVTX_RANGE_END)(0); /* what nobody gave out */
    struct event out[8];
    REQUIRE(drain(&own, out, 8) == 5);
    CHECK_INT(out[0].flags, EVENT_F_DOMAIN | EVENT_F_RANGE);
    CHECK_INT(out[0].b, one);
    CHECK_INT(out[3].kind, EVENT_PHASE_END);
    CHECK_INT(out[3].flags, EVENT_F_DOMAIN | EVENT_F_RANGE);
    CHECK_INT(out[3].b, one);
    CHECK_INT(out[4].b, two);
    CHECK_STR(string_of(own.ring, (uint32_t)out[4].addr), "NCCL");
}

TEST(a_number_at_the_end_is_apart)
{
    static const struct {
        const char *text, *stem;
        bool numbered;
        int64_t number;
    } cases[] = {
        {"iteration 12", "iteration ", true, 12},
        {"iter0", "iter", true, 0},
        {"step_123456789012345678", "step_", true, 123456789012345678},
        {"step_1234567890123456789", "step_1234567890123456789", false, 0},
        {"layer 007", "layer 007", false, 0}, /* would be another name when written again */
        {"layer 00", "layer 00", false, 0},
        {"42", "42", false, 0},
        {"plain", "plain", false, 0},
        {"", "", false, 0},
        {"1 of 3", "1 of ", true, 3},
    };
    struct own_recorder own = begin(6);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct event out[2];
        push(cases[i].text);
        pop();
        REQUIRE(drain(&own, out, 2) == 2);
        CHECK_STR(string_of(own.ring, out[0].name), cases[i].stem);
        CHECK_INT((out[0].flags & EVENT_F_NUMBER) != 0, cases[i].numbered);
        CHECK_INT(out[0].size, cases[i].number);
    }
}

/* 100,000 names that count take one definition; 100,000 that do not are bounded. */
TEST(names_without_end)
{
    struct own_recorder own = begin(6);
    struct event out[2];
    char text[40];
    const char *last = "";
    for (int i = 0; i < 100000; i++) {
        snprintf(text, sizeof text, "request %d", i);
        push(text);
        pop();
        REQUIRE(drain(&own, out, 2) == 2);
        CHECK_INT(out[0].size, i);
    }
    CHECK_STR(string_of(own.ring, out[0].name), "request ");
    bool noted = false;
    for (int i = 0; i < 100000; i++) {
        snprintf(text, sizeof text, "%d requests", i);
        push(text);
        pop();
        struct event more[3];
        size_t n = drain(&own, more, 3);
        REQUIRE(n == 2 || (n == 3 && !noted));
        noted |= n == 3;
        if (i == 0 || i == 99999)
            last = string_of(own.ring, more[0].name);
        if (i == 0)
            CHECK_STR(last, "0 requests");
    }
    CHECK(noted);
    CHECK_STR(last, NVTX_REST);
    CHECK_INT(own.ring->arena_full, 0);
    push("request 5"); /* what is known keeps its name */
    REQUIRE(drain(&own, out, 1) == 1);
    CHECK_STR(string_of(own.ring, out[0].name), "request ");
}

static void check_text(const struct nvtx_text *text, const char *want)
{
    CHECK_STR(text->bytes, want);
    CHECK_INT(text->count, strlen(want));
}

TEST(texts_become_utf8_and_are_cut_at_characters)
{
    struct nvtx_text text;
    nvtx_text_of_wide(&text, L"a\u00e9\u6f22\U0001f600");
    check_text(&text, "a\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80");
    const wchar_t wrong[] = {0xd800, 0x110000, -1, 'x', 0};
    nvtx_text_of_wide(&text, wrong);
    check_text(&text, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx");
    nvtx_text_of_wide(&text, NULL);
    check_text(&text, "");
    nvtx_text_of(&text, NULL);
    check_text(&text, "");
    char longer[400];
    wchar_t wide[400];
    for (int i = 0; i < 399; i++)
        wide[i] = 0x6f22;
    wide[399] = 0;
    nvtx_text_of_wide(&text, wide);
    CHECK_INT(text.count, 255);
    for (int shift = 0; shift < 4; shift++) {
        memset(longer, 'x', sizeof longer);
        for (size_t i = (size_t)shift; i + 4 < sizeof longer; i += 4)
            memcpy(longer + i, "\xf0\x9f\x98\x80", 4);
        longer[399] = '\0';
        nvtx_text_of(&text, longer);
        CHECK_INT(text.count, shift == 3 ? 255 : 252 + shift);
        CHECK_INT(text.bytes[text.count], 0);
    }
    memset(longer, 'x', sizeof longer - 1);
    nvtx_text_of(&text, longer);
    CHECK_INT(text.count, NVTX_TEXT);
    memset(longer, 0x80, sizeof longer - 1); /* no character at all: kept, cleaned elsewhere */
    nvtx_text_of(&text, longer);
    CHECK_INT(text.count, NVTX_TEXT);
}

TEST(attributes_of_every_kind)
{
    struct own_recorder own = begin(6);
    const void *nccl = domain("NCCL");
    const void *registered = CALL(const void *(*)(const void *, const char *), core2,
                                  NVTX_DOMAIN_REGISTER_STRING_A)(nccl, "registered");
    const void *wide = CALL(const void *(*)(const void *, const wchar_t *), core2,
                            NVTX_DOMAIN_REGISTER_STRING_W)(NULL, L"r\u00e9gl\u00e9");
    struct nvtx_attributes all[10];
    for (int i = 0; i < 10; i++)
        all[i] = ascii("text");
    all[1].message_type = all[2].message_type = all[3].message_type = NVTX_MESSAGE_HANDLE;
    all[1].message.handle = registered;
    all[2].message.handle = wide;
    all[3].message.handle = &own; /* of nobody's */
    all[4].message_type = NVTX_MESSAGE_WIDE;
    all[4].message.wide = L"wide";
    all[5].message_type = 9;
    all[6].size = 40; /* it ends before its message */
    all[7].size = 96; /* of a later version */
    all[0].payload_type = NVTX_PAYLOAD_I32;
    all[0].payload.i32 = -5;
    all[1].payload_type = NVTX_PAYLOAD_U32;
    all[1].payload.u32 = 4000000000u;
    all[2].payload_type = NVTX_PAYLOAD_I64;
    all[2].payload.i64 = -1;
    all[3].payload_type = NVTX_PAYLOAD_U64;
    all[3].payload.u64 = 7;
    all[4].payload_type = 3; /* a float */
    all[4].payload.u64 = 7;
    all[8].size = 8;
    all[8].payload_type = NVTX_PAYLOAD_U64;
    all[8].payload.u64 = 7;
    all[9].message.text = NULL;
    for (int i = 0; i < 10; i++)
        domain_mark(nccl, &all[i]);
    domain_mark(nccl, NULL);
    static const struct {
        const char *name;
        int64_t value;
    } want[] = {{"text", -5},
                {"registered", 4000000000},
                {"r\xc3\xa9gl\xc3\xa9", -1},
                {"", 7},
                {"wide", 0},
                {"", 0},
                {"", 0},
                {"text", 0},
                {"", 0},
                {"", 0},
                {"", 0}};
    struct event out[16];
    REQUIRE(drain(&own, out, 16) == 11);
    for (int i = 0; i < 11; i++) {
        CHECK_STR(string_of(own.ring, out[i].name), want[i].name);
        CHECK_INT(out[i].a, want[i].value);
        CHECK_STR(string_of(own.ring, (uint32_t)out[i].addr), "NCCL");
    }
}

TEST(the_default_domain_by_the_name_that_python_gives_it)
{
    struct own_recorder own = begin(6);
    domain_push(domain("NVTX"), "x");
    domain_push(&own, "of nobody's");
    struct event out[2];
    REQUIRE(drain(&own, out, 2) == 2);
    CHECK_INT(out[0].addr, 0);
    CHECK_INT(out[1].addr, 0);
}

TEST(words_without_end)
{
    begin(6);
    char text[20];
    const void *first = domain("word 0"), *word = NULL;
    size_t distinct = 0;
    for (int i = 0; i < 3 * (int)NVTX_WORDS; i++) {
        snprintf(text, sizeof text, "word %d", i);
        const void *next = domain(text);
        REQUIRE(nvtx_word_of(next) == next);
        distinct += next != word;
        word = next;
    }
    CHECK(distinct > NVTX_WORDS / 2);
    CHECK(domain("word 0") == first);
    CHECK_STR(nvtx_word_text(nvtx_word_of(word))->bytes, NVTX_REST);
    CHECK(nvtx_word_of((const char *)first + 4) == NULL);
    CHECK(nvtx_word_of(NULL) == NULL);
}

/* They have one name, until there is memory for their table; all else works. */
TEST(words_without_memory)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("sanitizers take memory of their own");
#endif
    struct rlimit limit;
    begin(6);
    REQUIRE(getrlimit(RLIMIT_DATA, &limit) == 0);
    const struct rlimit none = {4096, limit.rlim_max}; /* 0 does not always mean it */
    REQUIRE(setrlimit(RLIMIT_DATA, &none) == 0);
    errno = 77;
    const void *word = domain("a word");
    CHECK_INT(errno, 77);
    REQUIRE(setrlimit(RLIMIT_DATA, &limit) == 0);
    REQUIRE(nvtx_word_of(word) == word);
    CHECK_STR(nvtx_word_text(nvtx_word_of(word))->bytes, NVTX_REST);
    CHECK_STR(nvtx_word_text(nvtx_word_of(domain("a word")))->bytes, "a word");
    CHECK(nvtx_word_of(word) == word);
}

/* What was open before this recording is not its own: its ends are silent, its levels count. */
TEST(a_new_recording_has_nothing_open)
{
    begin(6);
    CHECK_INT(push("before"), 0);
    CHECK_INT(push("before, too"), 1);
    struct own_recorder own = begin_recording(6, 1 << 16);
    struct event out[8];
    CHECK_INT(push("after"), 2);
    CHECK_INT(pop(), 2);
    CHECK_INT(pop(), 1);
    CHECK_INT(push("again"), 1);
    CHECK_INT(pop(), 1);
    CHECK_INT(pop(), 0);
    CHECK_INT(pop(), -1);
    size_t n = drain(&own, out, 8);
    size_t phases = 0;
    for (size_t i = 0; i < n; i++)
        phases += out[i].kind == EVENT_PHASE_BEGIN || out[i].kind == EVENT_PHASE_END;
    CHECK_INT(phases, 4);
}

TEST(nobody_records)
{
    CHECK_INT(InitializeInjectionNvtx2(tables), 0); /* no recorder in the environment */
    CHECK_INT(InitializeInjectionNvtx(tables), 0);
    CHECK(core[NVTX_RANGE_PUSH_A] == NULL);
    begin(6);
    push("open");
    guest_use_ring(NULL);
    CHECK_INT(push("x"), NVTX_NOT_TRACKED);
    CHECK_INT(pop(), NVTX_NOT_TRACKED);
    CHECK(CALL(uint64_t(*)(const char *), core, NVTX_RANGE_START_A)("r") != 0);
    CALL(void (*)(const char *), core, NVTX_MARK_A)("m");
    CHECK(domain("still a handle") != NULL);
    CHECK_INT(InitializeInjectionNvtx2(tables), 0);
}

TEST(tables_of_other_versions)
{
    begin_recording(6, 1 << 16);
    CHECK_INT(InitializeInjectionNvtx2(NULL), 0);
    callbacks.size = 8;
    CHECK_INT(InitializeInjectionNvtx2(tables), 0);
    callbacks.size = sizeof callbacks;
    core_count = NVTX_RANGE_POP; /* it ends before that one */
    has_core2 = false;
    CHECK_INT(InitializeInjectionNvtx(tables), 1);
    CHECK(core[NVTX_RANGE_PUSH_A] != NULL);
    CHECK(core[NVTX_RANGE_POP] == NULL);
    CHECK(core2[NVTX_DOMAIN_CREATE_A] == NULL);
}

/* ---- threads ---- */

#define THREADS 8
#define ROUNDS 2000

static void *work(void *argument)
{
    int me = *(int *)argument;
    char text[40];
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(text, sizeof text, "domain %d", i % 50);
        const void *in = domain(text);
        snprintf(text, sizeof text, "%d of thread %d", i % 20, me);
        CHECK_INT(push(text), 0);
        CHECK_INT(domain_push(in, "inner"), 0);
        CHECK_INT(push("same 1"), 1);
        CHECK_INT(pop(), 1);
        CHECK_INT(domain_pop(in), 0);
        CHECK_INT(pop(), 0);
    }
    return NULL;
}

TEST(many_threads)
{
    struct own_recorder own = begin(16);
    pthread_t threads[THREADS];
    int numbers[THREADS];
    static struct event out[1 << 16];
    size_t count = 0, begins = 0, ends = 0;
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        REQUIRE(pthread_create(&threads[i], NULL, work, &numbers[i]) == 0);
    }
    while (count < (size_t)THREADS * ROUNDS * 6) {
        size_t n = drain(&own, out, 1 << 16);
        for (size_t i = 0; i < n; i++) {
            begins += out[i].kind == EVENT_PHASE_BEGIN;
            ends += out[i].kind == EVENT_PHASE_END;
            CHECK(out[i].kind == EVENT_PHASE_END || out[i].kind == EVENT_MARK || out[i].name);
        }
        count += n;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(begins, THREADS * ROUNDS * 3);
    CHECK_INT(ends, begins);
    CHECK_INT(own.ring->arena_busy, 0);
}

static uint64_t start(const char *text)
{
    return CALL(uint64_t(*)(const char *), core, NVTX_RANGE_START_A)(text);
}

static void end(uint64_t number)
{
    CALL(void (*)(uint64_t), core, NVTX_RANGE_END)(number);
}

/* Of an armed program. */
TEST(what_began_before_the_recording_ends_silently)
{
    struct event out[8];
    guest.armed = true;
    struct own_recorder own = begin(6);
    uint64_t before = start("before");
    push("outer");
    guest_use_ring(NULL);
    atomic_store(&guest.page->state, GUEST_FETCHING); /* asleep */
    uint64_t asleep = start("asleep");
    own = begin_recording(6, 1 << 16);
    uint64_t now = start("now");
    CHECK(now && before && asleep && now != before && now != asleep && before != asleep);
    end(before);
    end(asleep);
    end(now);
    CHECK_INT(pop(), 0);
    size_t n = drain(&own, out, 8);
    REQUIRE(n == 3 && out[0].flags == EVENT_F_SOURCE);
    CHECK_INT(out[1].b, now);
    CHECK_INT(out[2].kind, EVENT_PHASE_END);
    CHECK_INT(out[2].b, now);
}

TEST_MAIN(TEST_CASE(what_began_before_the_recording_ends_silently),
          TEST_CASE(every_call_says_what_it_is), TEST_CASE(levels_are_of_a_thread_and_a_domain),
          TEST_CASE(deep_and_in_many_domains), TEST_CASE(ranges_have_numbers_of_their_own),
          TEST_CASE(a_number_at_the_end_is_apart), TEST_CASE(names_without_end),
          TEST_CASE(texts_become_utf8_and_are_cut_at_characters),
          TEST_CASE(attributes_of_every_kind),
          TEST_CASE(the_default_domain_by_the_name_that_python_gives_it),
          TEST_CASE(words_without_end), TEST_CASE(words_without_memory),
          TEST_CASE(a_new_recording_has_nothing_open), TEST_CASE(nobody_records),
          TEST_CASE(tables_of_other_versions), TEST_CASE(many_threads))
