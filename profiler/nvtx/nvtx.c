/* nvtx.c - see nvtx.h. */
#include "nvtx.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "guest.h"
#include "notes.h"
#include "nvtx_name.h"
#include "occasion.h"

#define LEVELS 12u /* domains of which a thread has ranges open, beside those of the last place */

/* The open ranges of a thread in one domain. */
struct level {
    const void *domain; /* NULL in the first place, which is the default domain's */
    uint32_t depth;
    uint32_t unsent; /* the outermost so many are not in this recording; <= depth */
};

static __thread struct {
    uint32_t generation; /* of guest: a new one has none of what is open */
    struct level levels[LEVELS];
} own;

static _Atomic uint64_t last_range;

/* ---- levels ---- */

/* Whether the ranges of this thread can be told; makes `own` fit the recording. */
static bool is_live(void)
{
    if (!guest_live())
        return false;
    uint32_t generation = guest_recording();
    if (__builtin_expect(own.generation == generation, 1))
        return true;
    own.generation = generation;
    for (uint32_t i = 0; i < LEVELS; i++)
        own.levels[i].unsent = own.levels[i].depth;
    notes_send();
    return true;
}

static bool is_off(void)
{
    return atomic_load_explicit(&guest.page->state, memory_order_relaxed) == GUEST_OFF;
}

/* Its own place, a free one, or the last: more domains than places share it. */
static struct level *level_of(const void *domain)
{
    struct level *free = NULL;
    if (!domain)
        return &own.levels[0];
    for (uint32_t i = 1; i < LEVELS; i++) {
        struct level *level = &own.levels[i];
        if (level->domain == domain && level->depth)
            return level;
        if (!free && (!level->depth || i == LEVELS - 1))
            free = level;
    }
    if (!free->depth)
        free->domain = domain;
    return free;
}

/* ---- events ---- */

/* To no recording but the one that knows of what is open here (own). */
static void emit(struct event event, const struct nvtx_word *domain, const struct nvtx_name *name)
{
    event.word = own.generation;
    event.flags |= EVENT_F_DOMAIN;
    event.addr = nvtx_domain_name(domain);
    event.name = name->name;
    if (name->numbered) {
        event.flags |= EVENT_F_NUMBER;
        event.size = name->number;
    }
    guest_emit(&event);
}

static int push(const void *domain, const struct nvtx_text *text)
{
    bool live = is_live();
    if (!live && is_off())
        return NVTX_NOT_TRACKED;
    struct level *level = level_of(domain);
    uint32_t depth = level->depth++;
    if (!live) {
        level->unsent = level->depth;
        return (int)depth;
    }
    struct nvtx_name name = nvtx_name(text);
    emit((struct event){.kind = EVENT_PHASE_BEGIN}, nvtx_word_of(domain), &name);
    return (int)depth;
}

static int pop(const void *domain)
{
    bool live = is_live();
    if (!live && is_off())
        return NVTX_NOT_TRACKED;
    struct level *level = level_of(domain);
    if (!level->depth)
        return -1;
    uint32_t depth = --level->depth;
    if (depth < level->unsent) {
        level->unsent = depth;
        return (int)depth;
    }
    struct nvtx_name none = {0};
    if (live)
        emit((struct event){.kind = EVENT_PHASE_END}, nvtx_word_of(domain), &none);
    return (int)depth;
}

/* A range may end on another thread, in another recording: its number says in which it began. */
#define RANGE_RECORDING 0xffffu

static bool began_here(uint64_t number)
{
    return !guest.armed || (number & RANGE_RECORDING) == (own.generation & RANGE_RECORDING);
}

static uint64_t start(const void *domain, const struct nvtx_text *text)
{
    uint64_t number = atomic_fetch_add_explicit(&last_range, 1, memory_order_relaxed) + 1;
    bool live = is_live();
    if (guest.armed)
        number = number << 16 | (live ? own.generation & RANGE_RECORDING : 0);
    if (!live)
        return number;
    struct nvtx_name name = nvtx_name(text);
    emit((struct event){.kind = EVENT_PHASE_BEGIN, .flags = EVENT_F_RANGE, .b = number},
         nvtx_word_of(domain), &name);
    return number;
}

static void end(const void *domain, uint64_t number)
{
    struct nvtx_name none = {0};
    if (number && is_live() && began_here(number))
        emit((struct event){.kind = EVENT_PHASE_END, .flags = EVENT_F_RANGE, .b = number},
             nvtx_word_of(domain), &none);
}

static void mark(const void *domain, const struct nvtx_text *text, int64_t value)
{
    if (!is_live())
        return;
    struct nvtx_name name = nvtx_name(text);
    emit((struct event){.kind = EVENT_MARK, .a = (uint64_t)value}, nvtx_word_of(domain), &name);
}

/* ---- what callers give ---- */

/* The message stands last: a caller of another version may have given less, or more. */
static void read_message(struct nvtx_text *text, const struct nvtx_attributes *from)
{
    bool whole = from && from->size >= sizeof *from;
    const struct nvtx_word *word = NULL;
    if (whole && from->message_type == NVTX_MESSAGE_WIDE) {
        nvtx_text_of_wide(text, from->message.wide);
        return;
    }
    if (whole && from->message_type == NVTX_MESSAGE_HANDLE)
        word = nvtx_word_of(from->message.handle);
    if (word)
        *text = *nvtx_word_text(word);
    else
        nvtx_text_of(text,
                     whole && from->message_type == NVTX_MESSAGE_TEXT ? from->message.text : NULL);
}

/* Of whole numbers only: a mark's value is one. */
static int64_t value_of(const struct nvtx_attributes *from)
{
    if (!from || from->size < offsetof(struct nvtx_attributes, message_type))
        return 0;
    switch (from->payload_type) {
    case NVTX_PAYLOAD_U64:
    case NVTX_PAYLOAD_I64:
        return from->payload.i64;
    case NVTX_PAYLOAD_U32:
        return from->payload.u32;
    case NVTX_PAYLOAD_I32:
        return from->payload.i32;
    default:
        return 0;
    }
}

/* ---- the functions that NVTX calls ---- */

static void domain_mark_ex(const void *domain, const struct nvtx_attributes *from)
{
    struct nvtx_text text;
    read_message(&text, from);
    mark(domain, &text, value_of(from));
}

static uint64_t domain_range_start_ex(const void *domain, const struct nvtx_attributes *from)
{
    struct nvtx_text text;
    read_message(&text, from);
    return start(domain, &text);
}

static int domain_range_push_ex(const void *domain, const struct nvtx_attributes *from)
{
    struct nvtx_text text;
    read_message(&text, from);
    return push(domain, &text);
}

static void mark_ex(const struct nvtx_attributes *from)
{
    domain_mark_ex(NULL, from);
}

static uint64_t range_start_ex(const struct nvtx_attributes *from)
{
    return domain_range_start_ex(NULL, from);
}

static int range_push_ex(const struct nvtx_attributes *from)
{
    return domain_range_push_ex(NULL, from);
}

static void mark_a(const char *message)
{
    struct nvtx_text text;
    nvtx_text_of(&text, message);
    mark(NULL, &text, 0);
}

static void mark_w(const wchar_t *message)
{
    struct nvtx_text text;
    nvtx_text_of_wide(&text, message);
    mark(NULL, &text, 0);
}

static uint64_t range_start_a(const char *message)
{
    struct nvtx_text text;
    nvtx_text_of(&text, message);
    return start(NULL, &text);
}

static uint64_t range_start_w(const wchar_t *message)
{
    struct nvtx_text text;
    nvtx_text_of_wide(&text, message);
    return start(NULL, &text);
}

static void range_end(uint64_t number)
{
    end(NULL, number);
}

static int range_push_a(const char *message)
{
    struct nvtx_text text;
    nvtx_text_of(&text, message);
    return push(NULL, &text);
}

static int range_push_w(const wchar_t *message)
{
    struct nvtx_text text;
    nvtx_text_of_wide(&text, message);
    return push(NULL, &text);
}

/* Of the default domain: the program's own, most likely, and so an occasion to ask the device. */
static int range_pop(void)
{
    occasion_look();
    int depth = pop(NULL);
    occasion_point();
    return depth;
}

/* Domains and registered strings are words: a handle says nothing of its domain. */
static const void *domain_create_a(const char *name)
{
    struct nvtx_text text;
    nvtx_text_of(&text, name);
    return nvtx_word(&text);
}

static const void *domain_create_w(const wchar_t *name)
{
    struct nvtx_text text;
    nvtx_text_of_wide(&text, name);
    return nvtx_word(&text);
}

static const void *domain_register_string_a(const void *domain, const char *string)
{
    (void)domain;
    return domain_create_a(string);
}

static const void *domain_register_string_w(const void *domain, const wchar_t *string)
{
    (void)domain;
    return domain_create_w(string);
}

/* ---- injection ---- */

struct place {
    unsigned at;
    nvtx_function function;
};

static const struct place core[] = {
    {NVTX_MARK_EX, (nvtx_function)mark_ex},
    {NVTX_MARK_A, (nvtx_function)mark_a},
    {NVTX_MARK_W, (nvtx_function)mark_w},
    {NVTX_RANGE_START_EX, (nvtx_function)range_start_ex},
    {NVTX_RANGE_START_A, (nvtx_function)range_start_a},
    {NVTX_RANGE_START_W, (nvtx_function)range_start_w},
    {NVTX_RANGE_END, (nvtx_function)range_end},
    {NVTX_RANGE_PUSH_EX, (nvtx_function)range_push_ex},
    {NVTX_RANGE_PUSH_A, (nvtx_function)range_push_a},
    {NVTX_RANGE_PUSH_W, (nvtx_function)range_push_w},
    {NVTX_RANGE_POP, (nvtx_function)range_pop},
};

static const struct place core2[] = {
    {NVTX_DOMAIN_MARK_EX, (nvtx_function)domain_mark_ex},
    {NVTX_DOMAIN_RANGE_START_EX, (nvtx_function)domain_range_start_ex},
    {NVTX_DOMAIN_RANGE_END, (nvtx_function)end},
    {NVTX_DOMAIN_RANGE_PUSH_EX, (nvtx_function)domain_range_push_ex},
    {NVTX_DOMAIN_RANGE_POP, (nvtx_function)pop},
    {NVTX_DOMAIN_REGISTER_STRING_A, (nvtx_function)domain_register_string_a},
    {NVTX_DOMAIN_REGISTER_STRING_W, (nvtx_function)domain_register_string_w},
    {NVTX_DOMAIN_CREATE_A, (nvtx_function)domain_create_a},
    {NVTX_DOMAIN_CREATE_W, (nvtx_function)domain_create_w},
};

static bool fill(const struct nvtx_callbacks *from, enum nvtx_module module,
                 const struct place *places, size_t place_count)
{
    nvtx_function **table = NULL;
    unsigned count = 0;
    if (!from->module_table((int)module, &table, &count) || !table)
        return false;
    for (size_t i = 0; i < place_count; i++)
        if (places[i].at < count && table[places[i].at])
            *table[places[i].at] = places[i].function;
    return true;
}

#define EXPORT __attribute__((visibility("default")))

EXPORT int InitializeInjectionNvtx2(nvtx_export tables)
{
    /* guest.page: a test that is its own recorder has no environment that says so. */
    if (!tables || (!guest.page && !guest_init(0, NULL)) || is_off())
        return 0;
    const struct nvtx_callbacks *from = tables(NVTX_EXPORT_CALLBACKS);
    if (!from || from->size < sizeof *from || !from->module_table)
        return 0;
    bool any = fill(from, NVTX_MODULE_CORE, core, sizeof core / sizeof *core);
    any = fill(from, NVTX_MODULE_CORE2, core2, sizeof core2 / sizeof *core2) || any;
    if (any)
        notes_live("nvtx");
    return any;
}

EXPORT int InitializeInjectionNvtx(nvtx_export tables)
{
    return InitializeInjectionNvtx2(tables);
}
