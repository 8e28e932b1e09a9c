/* nvtx_name.c - see nvtx_name.h. */
#include "nvtx_name.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "intern.h"
#include "notes.h"
#include "pages.h"

#define PROBES 64u /* places that are looked at before a word counts as one of the rest */
#define DIGITS 18u /* of a number that fits */

enum { WORD_EMPTY, WORD_FILLING, WORD_READY };

struct nvtx_word {
    _Atomic uint32_t state;
    struct nvtx_text text;
};

#define TABLE_BYTES (NVTX_WORDS * sizeof(struct nvtx_word))

static _Atomic(struct nvtx_word *) table; /* NULL until there is a word */
static const struct nvtx_word rest = {WORD_READY, {NVTX_REST, sizeof NVTX_REST - 1}};
static _Atomic uint32_t names; /* defined so far */

/* ---- text ---- */

/* A character that was cut in two is left out. */
static uint32_t cut_count(const char *bytes, uint32_t count)
{
    uint32_t at = count;
    while (at > 0 && count - at < 3 && ((unsigned char)bytes[at - 1] & 0xc0) == 0x80)
        at--;
    if (at == 0)
        return count;
    unsigned char lead = (unsigned char)bytes[at - 1];
    uint32_t needs = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return count - (at - 1) < needs && needs > 1 ? at - 1 : count;
}

void nvtx_text_of(struct nvtx_text *text, const char *from)
{
    size_t count = from ? strnlen(from, NVTX_TEXT + 1) : 0;
    bool cut = count > NVTX_TEXT;
    text->count = cut ? NVTX_TEXT : (uint32_t)count;
    if (text->count)
        memcpy(text->bytes, from, text->count);
    if (cut)
        text->count = cut_count(text->bytes, text->count);
    text->bytes[text->count] = '\0';
}

/* The bytes of one character; what is none becomes U+FFFD. */
static uint32_t put_utf8(char out[4], uint32_t c)
{
    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        c = 0xfffd;
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    uint32_t count = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (uint32_t i = count - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf00 >> count & 0xff) | c);
    return count;
}

void nvtx_text_of_wide(struct nvtx_text *text, const wchar_t *from)
{
    text->count = 0;
    for (; from && *from; from++) {
        char out[4];
        uint32_t count = put_utf8(out, (uint32_t)*from);
        if (text->count + count > NVTX_TEXT)
            break;
        memcpy(text->bytes + text->count, out, count);
        text->count += count;
    }
    text->bytes[text->count] = '\0';
}

/* ---- words ---- */

static uint32_t hash_of(const struct nvtx_text *text)
{
    uint32_t hash = 2166136261u;
    for (uint32_t i = 0; i < text->count; i++)
        hash = (hash ^ (unsigned char)text->bytes[i]) * 16777619u;
    return hash ^ hash >> 15;
}

static bool same(const struct nvtx_text *a, const struct nvtx_text *b)
{
    return a->count == b->count && memcmp(a->bytes, b->bytes, a->count) == 0;
}

/* NULL without memory; the next word asks again. */
static struct nvtx_word *get_table(void)
{
    struct nvtx_word *words = atomic_load_explicit(&table, memory_order_acquire);
    if (words)
        return words;
    int saved = errno;
    void *memory = pages_new(TABLE_BYTES);
    errno = saved;
    if (!memory)
        return NULL;
    if (atomic_compare_exchange_strong(&table, &words, memory))
        return memory;
    munmap(memory, TABLE_BYTES); /* another thread was first */
    return words;
}

const struct nvtx_word *nvtx_word(const struct nvtx_text *text)
{
    uint32_t hash = hash_of(text);
    struct nvtx_word *words = get_table();
    for (uint32_t i = 0; words && i < PROBES; i++) {
        struct nvtx_word *word = &words[(hash + i) & (NVTX_WORDS - 1)];
        uint32_t state = atomic_load_explicit(&word->state, memory_order_acquire);
        if (state == WORD_EMPTY &&
            atomic_compare_exchange_strong(&word->state, &state, WORD_FILLING)) {
            word->text.count = text->count;
            memcpy(word->text.bytes, text->bytes, text->count + 1);
            atomic_store_explicit(&word->state, WORD_READY, memory_order_release);
            return word;
        }
        if (state == WORD_READY && same(&word->text, text))
            return word;
    }
    return &rest;
}

const struct nvtx_word *nvtx_word_of(const void *handle)
{
    const struct nvtx_word *words = atomic_load_explicit(&table, memory_order_acquire);
    uintptr_t at = (uintptr_t)handle, begin = (uintptr_t)words;
    if (handle == &rest)
        return &rest;
    if (!words || at < begin || at >= begin + TABLE_BYTES || (at - begin) % sizeof *words)
        return NULL;
    const struct nvtx_word *word = handle;
    return atomic_load_explicit(&word->state, memory_order_acquire) == WORD_READY ? word : NULL;
}

const struct nvtx_text *nvtx_word_text(const struct nvtx_word *word)
{
    return &word->text;
}

/* ---- numbers of definitions ---- */

static uint32_t define(const char *text, size_t bytes)
{
    return intern(ARENA_STRING, text, bytes);
}

static uint32_t number_of(const char *text, size_t bytes)
{
    uint32_t known = intern_known_string(text, bytes);
    if (known)
        return known;
    if (atomic_load_explicit(&names, memory_order_relaxed) >= NVTX_NAMES) {
        notes_why_not("NVTX: too many different names, the later ones count as one");
        notes_send();
        return define(NVTX_REST, sizeof NVTX_REST - 1);
    }
    atomic_fetch_add_explicit(&names, 1, memory_order_relaxed);
    return define(text, bytes);
}

/* Splits off a decimal number at the end that, written again, is the same digits. */
static uint32_t split(const struct nvtx_text *text, struct nvtx_name *name)
{
    uint32_t at = text->count;
    while (at > 0 && text->bytes[at - 1] >= '0' && text->bytes[at - 1] <= '9')
        at--;
    uint32_t digits = text->count - at;
    if (at == 0 || digits == 0 || digits > DIGITS || (digits > 1 && text->bytes[at] == '0'))
        return text->count;
    name->numbered = true;
    for (uint32_t i = at; i < text->count; i++)
        name->number = name->number * 10 + (uint64_t)(text->bytes[i] - '0');
    return at;
}

struct nvtx_name nvtx_name(const struct nvtx_text *text)
{
    struct nvtx_name name = {0};
    uint32_t bytes = split(text, &name);
    if (bytes)
        name.name = number_of(text->bytes, bytes);
    return name;
}

/* The name that NVTX's Python package gives to the default domain. */
static const struct nvtx_text python_default = {"NVTX", 4};

uint32_t nvtx_domain_name(const struct nvtx_word *domain)
{
    if (!domain || same(&domain->text, &python_default))
        return 0;
    uint32_t known = intern_known_string(domain->text.bytes, domain->text.count);
    return known ? known : define(domain->text.bytes, domain->text.count);
}

void nvtx_name_forget(void)
{
    struct nvtx_word *words = atomic_load(&table);
    if (words)
        memset(words, 0, TABLE_BYTES);
    atomic_store(&names, 0);
}
