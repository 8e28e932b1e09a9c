/*
 * What a program hands to NVTX: names of two kinds of characters that need not end, attributes of
 * any version, handles of nobody's, in any order, while a recorder comes and goes. All that may be
 * read lies at the end of memory: one byte more is a fault.
 *
 * The driver knows what each name has to come out as and which level a push and a pop return. What
 * came out goes into a heap state, and with the first bit of the first byte into a database. Then
 * come one byte for each operation, and its numbers; see `operations` below.
 */
#include "fuzz.h"
#include "guest.h"
#include "nvtx_name.h"
#include "nvtx_tables.h"
#include "world.h"

#define RING_BITS 8u
#define ARENA_BYTES (1u << 18) /* room for all names of an input */
#define MOST_OPERATIONS 400
#define MOST_DEFINITIONS 4096u
#define LONGEST 600u /* characters of a name */
#define HANDLES 16u
#define RANGES 8u
#define APART 10u /* so many domains beside the default one have levels of their own: nvtx.c */

/* What a name was. It comes out whole, or a part of it from the beginning. */
struct want {
    char bytes[LONGEST];
    size_t count; /* of bytes */
    bool utf8;
};

struct handle {
    const void *at;
    struct want text;
};

/* Ranges that are open in a domain; the outermost `silent` are of an earlier recording. */
struct level {
    const void *domain;
    unsigned depth, silent;
};

struct run {
    struct world world;
    struct fuzz_input input;
    struct state_process *process;
    struct ring_shared *ring; /* NULL: nobody records */
    struct ring_reader reader;
    struct arena_reader arena;
    struct arena_record kinds[MOST_DEFINITIONS]; /* by number */
    const char *definitions[MOST_DEFINITIONS];   /* in the arena */
    struct handle handles[HANDLES];
    struct level levels[MOST_OPERATIONS + 1]; /* the first is the default domain's */
    size_t level_count;
    bool crowded; /* levels are not apart any more */
    uint64_t ranges[RANGES];
    uint64_t now_ns;
    struct event event; /* the last of NVTX's, since begin_call */
    unsigned events;
};

/* ---- recording ---- */

static void see_definitions(struct run *run)
{
    struct arena_record record;
    const void *payload;
    int err;
    while ((err = arena_next(&run->arena, &record, &payload)) == 1) {
        MUST(run->arena.number < MOST_DEFINITIONS);
        run->kinds[run->arena.number] = record;
        run->definitions[run->arena.number] = payload;
        state_define(run->process, &record, payload);
    }
    MUST(err == 0);
}

static void drain(struct run *run)
{
    struct event events[16];
    struct ring_torn torn;
    size_t torn_count, count;
    if (!run->ring)
        return;
    see_definitions(run);
    count = ring_reader_take(&run->reader, events, 16, run->now_ns, false, &torn, 1, &torn_count);
    ring_reader_release(&run->reader);
    MUST(torn_count == 0 && ring_reader_backlog(&run->reader) == 0);
    for (size_t i = 0; i < count; i++) {
        run->now_ns = events[i].time_ns;
        state_event(run->process, &events[i]);
        if (!(events[i].flags & EVENT_F_DOMAIN))
            continue; /* a note */
        run->event = events[i];
        run->events++;
    }
}

static void stop_recording(struct run *run)
{
    struct state_end end = {
        .at_ns = run->now_ns, .ended = "exit", .exit_code = 0, .signal = BATCH_NULL};
    drain(run);
    guest_use_ring(NULL);
    if (!run->ring)
        return;
    state_process_end(run->process, &end);
    ring_destroy(run->ring, RING_BITS, ARENA_BYTES);
    run->ring = NULL;
}

static void start_recording(struct run *run)
{
    stop_recording(run);
    MUST(ring_create(&run->ring, RING_BITS, ARENA_BYTES, RING_NO_FD) == 0);
    ring_reader_init(&run->reader, run->ring);
    arena_reader_init(&run->arena, run->ring);
    run->process = world_process(&run->world, 4711, run->now_ns);
    guest_use_ring(run->ring);
    for (size_t i = 0; i < run->level_count; i++)
        run->levels[i].silent = run->levels[i].depth;
    MUST(InitializeInjectionNvtx2(tables) == 1);
}

/* ---- what is handed over ---- */

static bool is_utf8(const char *bytes, size_t count)
{
    size_t i = 0;
    while (i < count) {
        unsigned char c = (unsigned char)bytes[i];
        size_t more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : 3;
        if ((c >= 0x80 && c < 0xc2) || c > 0xf4 || more >= count - i)
            return false;
        for (size_t k = 1; k <= more; k++)
            if (((unsigned char)bytes[i + k] & 0xc0) != 0x80)
                return false;
        i += more + 1;
    }
    return true;
}

/* A few characters again and again: LONGEST of them take few bytes of the input. */
static const uint8_t *take_pattern(struct run *run, size_t *pattern, size_t *count)
{
    *count = (size_t)fuzz_number(&run->input, 2);
    *pattern = (*count >> 12) + 1;
    *count %= LONGEST;
    return fuzz_bytes(&run->input, pattern);
}

/* Ends by a NUL, or not at all where it need not: behind what is kept of it. NULL for no name. */
static const char *take_text(struct run *run, struct want *want)
{
    static char text[LONGEST + 1];
    size_t pattern, count;
    const uint8_t *from = take_pattern(run, &pattern, &count);
    *want = (struct want){.utf8 = true};
    if (!pattern)
        return NULL;
    for (size_t i = 0; i < count; i++)
        text[i] = (char)from[i % pattern];
    text[count] = '\0';
    want->count = strnlen(text, count);
    memcpy(want->bytes, text, want->count);
    want->utf8 = is_utf8(text, want->count);
    return fuzz_guard(0, text, count > NVTX_TEXT ? count : count + 1);
}

static size_t encode(char *out, uint32_t c)
{
    if (c > 0x10ffff || (c >> 11) == 27) /* beyond Unicode, or half of a pair */
        c = 0xfffd;
    size_t more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char leads[] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(leads[more] | c >> 6 * more);
    for (size_t i = 1; i <= more; i++)
        out[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3f));
    return more + 1;
}

static const wchar_t *take_wide(struct run *run, struct want *want)
{
    static wchar_t text[LONGEST + 1];
    size_t pattern, count;
    const uint8_t *from = take_pattern(run, &pattern, &count);
    *want = (struct want){.utf8 = true};
    if (!pattern)
        return NULL;
    size_t width = pattern % 4 + 1, ends = count;
    for (size_t i = 0; i < count; i++) {
        uint32_t c = 0;
        for (size_t k = 0; k < width; k++)
            c |= (uint32_t)from[(i * width + k) % pattern] << 8 * k;
        text[i] = (wchar_t)c;
        if (!c && ends == count)
            ends = i;
    }
    text[count] = 0;
    for (size_t i = 0; i < ends && want->count + 4 < LONGEST; i++)
        want->count += encode(want->bytes + want->count, (uint32_t)text[i]);
    return fuzz_guard(0, text, (count > NVTX_TEXT ? count : count + 1) * sizeof *text);
}

static const void *take_handle(struct run *run, struct want *want)
{
    uint8_t which = fuzz_byte(&run->input);
    const struct handle *handle = &run->handles[which % HANDLES];
    if (which < 128) {
        *want = handle->text;
        return handle->at;
    }
    *want = (struct want){.utf8 = true};
    if (which < 192) /* inside of a word, or behind the last one */
        return (const void *)((uintptr_t)handle->at + 4u * (which & 63u) + 1);
    return which < 224 ? NULL : fuzz_guard_end();
}

/* The message's place in what the caller gives may be missing; nothing is read there then. */
static const struct nvtx_attributes *take_attributes(struct run *run, struct want *want,
                                                     int64_t *value)
{
    uint8_t shape = fuzz_byte(&run->input), types = fuzz_byte(&run->input);
    struct nvtx_attributes all = {.version = 3, .size = sizeof all};
    if (shape & 1)
        all.size = (uint16_t)fuzz_number(&run->input, shape & 2 ? 2 : 1);
    all.category = shape;
    all.payload_type = (types & 15) - 1;
    all.payload.u64 = fuzz_number(&run->input, (shape >> 4) % 9);
    all.message_type = (types >> 4) - 1;
    *want = (struct want){.utf8 = true};
    struct want given = *want;
    if (all.message_type == NVTX_MESSAGE_TEXT)
        all.message.text = take_text(run, &given);
    else if (all.message_type == NVTX_MESSAGE_WIDE)
        all.message.wide = take_wide(run, &given);
    else if (all.message_type == NVTX_MESSAGE_HANDLE)
        all.message.handle = take_handle(run, &given);
    else
        all.message.handle = fuzz_guard_end();
    if (all.size >= sizeof all)
        *want = given;
    bool known = all.size >= offsetof(struct nvtx_attributes, message_type);
    *value = 0;
    if (known && (all.payload_type == NVTX_PAYLOAD_U64 || all.payload_type == NVTX_PAYLOAD_I64))
        *value = all.payload.i64;
    else if (known && all.payload_type == NVTX_PAYLOAD_U32)
        *value = all.payload.u32;
    else if (known && all.payload_type == NVTX_PAYLOAD_I32)
        *value = all.payload.i32;
    size_t there = all.size < sizeof all ? (all.size + 7u) & ~7u : sizeof all;
    if ((shape & 12) != 12)
        return fuzz_guard(1, &all, there ? there : 8);
    *want = (struct want){.utf8 = true};
    *value = 0;
    return NULL;
}

/* ---- what comes out ---- */

static struct want said(const struct run *run, uint64_t number)
{
    struct want text = {.utf8 = true};
    if (!number)
        return text;
    MUST(number < MOST_DEFINITIONS && run->kinds[number].kind == ARENA_STRING);
    text.count = run->kinds[number].bytes;
    MUST(text.count <= NVTX_TEXT);
    memcpy(text.bytes, run->definitions[number], text.count);
    return text;
}

/* As much as has room and cuts no character. */
static size_t kept(const struct want *want)
{
    size_t at = NVTX_TEXT;
    if (want->count <= NVTX_TEXT)
        return want->count;
    while (at > 0 && (want->bytes[at] & 0xc0) == 0x80)
        at--;
    return at;
}

static void check_text(const struct want *text, const struct want *want)
{
    MUST(text->count <= NVTX_TEXT && text->count <= want->count);
    MUST(memcmp(text->bytes, want->bytes, text->count) == 0);
    if (want->utf8 || want->count <= NVTX_TEXT)
        MUST(text->count == kept(want));
    MUST(text->count == want->count || text->count + 3 >= NVTX_TEXT);
}

static void check_name(const struct run *run, const struct want *want)
{
    struct want text = said(run, run->event.name);
    if (run->event.flags & EVENT_F_NUMBER)
        text.count += (size_t)snprintf(text.bytes + text.count, LONGEST - text.count, "%llu",
                                       (unsigned long long)run->event.size);
    check_text(&text, want);
}

static bool is_default(const struct want *domain)
{
    return domain->count == 4 && memcmp(domain->bytes, "NVTX", 4) == 0;
}

static void check_domain(const struct run *run, const void *domain, const struct want *want)
{
    if (!nvtx_word_of(domain) || is_default(want)) {
        MUST(run->event.addr == 0);
        return;
    }
    struct want text = said(run, run->event.addr);
    check_text(&text, want);
}

/* One event of the kind if somebody records, else none. */
static bool check_event(struct run *run, enum event_kind kind, bool range)
{
    drain(run);
    unsigned flags = EVENT_F_DOMAIN | (range ? EVENT_F_RANGE : 0);
    MUST(run->events == (run->ring != NULL));
    if (!run->ring)
        return false;
    MUST(run->event.kind == kind);
    MUST((run->event.flags & ~(unsigned)EVENT_F_NUMBER) == flags);
    return true;
}

/* ---- levels ---- */

static struct level *level_of(struct run *run, const void *domain)
{
    for (size_t i = 0; i < run->level_count; i++)
        if (run->levels[i].domain == domain)
            return &run->levels[i];
    run->levels[run->level_count] = (struct level){.domain = domain};
    return &run->levels[run->level_count++];
}

static void see_crowd(struct run *run)
{
    size_t open = 0;
    for (size_t i = 0; i < run->level_count; i++)
        open += run->levels[i].domain && run->levels[i].depth;
    run->crowded |= open > APART;
}

static void check_push(struct run *run, const void *domain, int got)
{
    struct level *level = level_of(run, domain);
    if (!run->ring) {
        MUST(got == NVTX_NOT_TRACKED);
        return;
    }
    level->depth++;
    see_crowd(run);
    MUST(run->crowded ? got >= 0 : got + 1 == (int)level->depth);
}

/* True if there was one to pop. */
static bool check_pop(struct run *run, const void *domain, int got)
{
    struct level *level = level_of(run, domain);
    drain(run);
    if (!run->ring)
        MUST(got == NVTX_NOT_TRACKED && !run->events);
    else if (run->crowded)
        MUST(got >= -1 && run->events <= (got >= 0));
    else if (!level->depth)
        MUST(got == -1 && !run->events);
    else {
        level->depth--;
        MUST(got == (int)level->depth);
        MUST(run->events == (level->depth >= level->silent));
        level->silent = level->depth < level->silent ? level->depth : level->silent;
    }
    MUST(!run->events || run->event.kind == EVENT_PHASE_END);
    return got >= 0;
}

/* ---- operations ---- */

enum form { FORM_TEXT, FORM_WIDE, FORM_ATTRIBUTES, FORM_DOMAIN, FORM_COUNT };

/* Of a call that has each of the forms. */
struct given {
    enum form form;
    const char *text;
    const wchar_t *wide;
    const struct nvtx_attributes *attributes;
    const void *domain;
    struct want want, domain_want;
    int64_t value;
};

static void take_given(struct run *run, struct given *given)
{
    *given = (struct given){.form = fuzz_byte(&run->input) % FORM_COUNT};
    run->events = 0;
    if (given->form == FORM_DOMAIN)
        given->domain = take_handle(run, &given->domain_want);
    if (given->form == FORM_TEXT)
        given->text = take_text(run, &given->want);
    else if (given->form == FORM_WIDE)
        given->wide = take_wide(run, &given->want);
    else
        given->attributes = take_attributes(run, &given->want, &given->value);
}

static void mark(struct run *run)
{
    typedef void (*domain_call)(const void *, const struct nvtx_attributes *);
    struct given given;
    take_given(run, &given);
    if (given.form == FORM_TEXT)
        CALL(void (*)(const char *), core, NVTX_MARK_A)(given.text);
    else if (given.form == FORM_WIDE)
        CALL(void (*)(const wchar_t *), core, NVTX_MARK_W)(given.wide);
    else if (given.form == FORM_ATTRIBUTES)
        CALL(void (*)(const struct nvtx_attributes *), core, NVTX_MARK_EX)(given.attributes);
    else
        CALL(domain_call, core2, NVTX_DOMAIN_MARK_EX)(given.domain, given.attributes);
    if (!check_event(run, EVENT_MARK, false))
        return;
    check_name(run, &given.want);
    check_domain(run, given.domain, &given.domain_want);
    MUST(run->event.a == (uint64_t)given.value);
}

static void start(struct run *run)
{
    typedef uint64_t (*domain_call)(const void *, const struct nvtx_attributes *);
    struct given given;
    uint64_t *range = &run->ranges[fuzz_byte(&run->input) % RANGES], before = *range;
    take_given(run, &given);
    if (given.form == FORM_TEXT)
        *range = CALL(uint64_t(*)(const char *), core, NVTX_RANGE_START_A)(given.text);
    else if (given.form == FORM_WIDE)
        *range = CALL(uint64_t(*)(const wchar_t *), core, NVTX_RANGE_START_W)(given.wide);
    else if (given.form == FORM_ATTRIBUTES)
        *range = CALL(uint64_t(*)(const struct nvtx_attributes *), core,
                      NVTX_RANGE_START_EX)(given.attributes);
    else
        *range =
            CALL(domain_call, core2, NVTX_DOMAIN_RANGE_START_EX)(given.domain, given.attributes);
    MUST(*range > before);
    if (!check_event(run, EVENT_PHASE_BEGIN, true))
        return;
    check_name(run, &given.want);
    check_domain(run, given.domain, &given.domain_want);
    MUST(run->event.b == *range);
}

static void end(struct run *run)
{
    struct want text;
    uint8_t which = fuzz_byte(&run->input);
    uint64_t range = which < 128 ? run->ranges[which % RANGES] : fuzz_number(&run->input, 8);
    run->events = 0;
    if (which & 64)
        CALL(void (*)(const void *, uint64_t), core2, NVTX_DOMAIN_RANGE_END)
    (take_handle(run, &text), range);
    else CALL(void (*)(uint64_t), core, NVTX_RANGE_END)(range);
    if (!range) {
        drain(run);
        MUST(!run->events);
    } else if (check_event(run, EVENT_PHASE_END, true)) {
        MUST(run->event.b == range && !run->event.name);
    }
}

static void push(struct run *run)
{
    typedef int (*domain_call)(const void *, const struct nvtx_attributes *);
    struct given given;
    int level;
    take_given(run, &given);
    if (given.form == FORM_TEXT)
        level = CALL(int (*)(const char *), core, NVTX_RANGE_PUSH_A)(given.text);
    else if (given.form == FORM_WIDE)
        level = CALL(int (*)(const wchar_t *), core, NVTX_RANGE_PUSH_W)(given.wide);
    else if (given.form == FORM_ATTRIBUTES)
        level = CALL(int (*)(const struct nvtx_attributes *), core,
                     NVTX_RANGE_PUSH_EX)(given.attributes);
    else
        level = CALL(domain_call, core2, NVTX_DOMAIN_RANGE_PUSH_EX)(given.domain, given.attributes);
    check_push(run, given.domain, level);
    if (!check_event(run, EVENT_PHASE_BEGIN, false))
        return;
    check_name(run, &given.want);
    check_domain(run, given.domain, &given.domain_want);
}

static bool pop_in(struct run *run, const void *domain)
{
    run->events = 0;
    int level = domain ? CALL(int (*)(const void *), core2, NVTX_DOMAIN_RANGE_POP)(domain)
                       : CALL(int (*)(void), core, NVTX_RANGE_POP)();
    return check_pop(run, domain, level);
}

static void pop(struct run *run)
{
    struct want text;
    pop_in(run, fuzz_byte(&run->input) & 1 ? take_handle(run, &text) : NULL);
}

/* The word of a text that is known already is the same. */
static void check_handle(const struct run *run, const struct handle *made)
{
    MUST(made->at && nvtx_word_of(made->at) == made->at);
    for (size_t i = 0; i < HANDLES; i++) {
        const struct handle *other = &run->handles[i];
        if (other->at && other->text.count == made->text.count &&
            memcmp(other->text.bytes, made->text.bytes, made->text.count) == 0)
            MUST(other->at == made->at);
    }
}

static void make_handle(struct run *run)
{
    typedef const void *(*register_text)(const void *, const char *);
    typedef const void *(*register_wide)(const void *, const wchar_t *);
    struct handle made = {0};
    struct want text;
    uint8_t shape = fuzz_byte(&run->input);
    const void *domain = shape & 64 ? take_handle(run, &text) : NULL;
    switch (shape >> 4 & 3) {
    case 0:
        made.at = CALL(const void *(*)(const char *), core2,
                       NVTX_DOMAIN_CREATE_A)(take_text(run, &made.text));
        break;
    case 1:
        made.at = CALL(const void *(*)(const wchar_t *), core2,
                       NVTX_DOMAIN_CREATE_W)(take_wide(run, &made.text));
        break;
    case 2:
        made.at = CALL(register_text, core2,
                       NVTX_DOMAIN_REGISTER_STRING_A)(domain, take_text(run, &made.text));
        break;
    default:
        made.at = CALL(register_wide, core2,
                       NVTX_DOMAIN_REGISTER_STRING_W)(domain, take_wide(run, &made.text));
    }
    check_handle(run, &made);
    run->handles[shape % HANDLES] = made;
}

static void flush(struct run *run)
{
    drain(run);
    world_flush(&run->world, run->now_ns, fuzz_byte(&run->input) & 1);
}

static void (*const operations[])(struct run *run) = {
    mark, start,       end,   push, pop, make_handle, start_recording, stop_recording, push,
    pop,  make_handle, flush, push, pop, mark,        make_handle,
};

static void pop_all(struct run *run)
{
    if (!run->ring)
        start_recording(run);
    for (size_t i = 0; i < run->level_count; i++)
        for (unsigned most = 0; most < MOST_OPERATIONS && pop_in(run, run->levels[i].domain);)
            most++;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    static struct run run;
    memset(&run, 0, sizeof run);
    run.input = (struct fuzz_input){bytes, count};
    run.level_count = 1;
    run.now_ns = WORLD_START;
    uint8_t mode = fuzz_byte(&run.input);
    struct state_options options = {.start_ns = WORLD_START};
    nvtx_name_forget();
    world_begin(&run.world, &options, mode & 1);
    start_recording(&run);
    for (int i = 0; run.input.left && i < MOST_OPERATIONS; i++)
        operations[fuzz_byte(&run.input) % (sizeof operations / sizeof *operations)](&run);
    pop_all(&run);
    stop_recording(&run);
    world_end(&run.world, run.now_ns, mode & 2);
    return 0;
}
