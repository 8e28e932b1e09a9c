/* pyframes_record.c - see pyframes_record.h. */
#include "pyframes_record.h"

#include <string.h>

#include "pages.h"
#include "pyframes_table.h"

enum {
    CHUNK = 256 << 10,
    BUCKET_BITS = 12,
    BUCKETS = 1 << BUCKET_BITS,
    ROOM_STEP = 4, /* records have room for a multiple of this many words */
    ROOMS = PYFRAMES_MAX_WORDS / ROOM_STEP + 1,
};

struct link {
    struct link *next;
    struct link **at; /* what points here */
    struct pyframes_record *record;
};

struct code {
    const void *address;
    struct code *next; /* in its bucket, or free */
    struct link *first;
};

static struct {
    size_t bytes;
    char *chunk, *chunk_end;
    struct pyframes_record *free_records[ROOMS];
    struct code *free_codes;
    struct code *buckets[BUCKETS];
} own;

/* ---- memory ---- */

static void *carve(size_t bytes)
{
    if ((size_t)(own.chunk_end - own.chunk) < bytes) {
        if (own.bytes + CHUNK > PYFRAMES_TABLE_BYTES)
            return NULL;
        char *chunk = pages_new(CHUNK);
        if (!chunk)
            return NULL;
        own.bytes += CHUNK;
        own.chunk = chunk;
        own.chunk_end = chunk + CHUNK;
    }
    void *taken = own.chunk;
    own.chunk += bytes;
    return taken;
}

static struct pyframes_record *reuse(uint32_t step)
{
    struct pyframes_record *record = own.free_records[step];
    if (record)
        own.free_records[step] = record->next_free;
    return record;
}

static void put_back(struct pyframes_record *record)
{
    record->next_free = own.free_records[record->room / ROOM_STEP];
    own.free_records[record->room / ROOM_STEP] = record;
}

struct pyframes_record *pyframes_record_new(uint32_t words)
{
    uint32_t step = (words + ROOM_STEP - 1) / ROOM_STEP, room = step * ROOM_STEP;
    struct pyframes_record *record = reuse(step);
    if (record)
        return record;
    record = carve(sizeof *record + room * (sizeof(uint64_t) + sizeof(struct link)));
    if (record) {
        atomic_store_explicit(&record->turn, 1, memory_order_relaxed);
        record->room = room;
    }
    while (!record && ++step < ROOMS) /* no memory any more: a larger one does */
        record = reuse(step);
    return record;
}

/* ---- code objects ---- */

static struct code **bucket_of(const void *address)
{
    uint64_t hash = (uint64_t)(uintptr_t)address * 0x9e3779b97f4a7c15ull;
    return &own.buckets[hash >> (64 - BUCKET_BITS)];
}

/* What points to the code object in its bucket, or to the bucket's end. */
static struct code **place_of(const void *address)
{
    struct code **at = bucket_of(address);
    while (*at && (*at)->address != address)
        at = &(*at)->next;
    return at;
}

static struct code *code_of(const void *address)
{
    struct code *code = *place_of(address);
    if (code)
        return code;
    code = own.free_codes;
    if (code)
        own.free_codes = code->next;
    else
        code = carve(sizeof *code);
    if (code) {
        struct code **bucket = bucket_of(address);
        *code = (struct code){address, *bucket, NULL};
        *bucket = code;
    }
    return code;
}

static void free_code(struct code *code)
{
    code->next = own.free_codes;
    own.free_codes = code;
}

/* ---- chains ---- */

static struct link *links_of(const struct pyframes_record *record)
{
    return (struct link *)(uintptr_t)(record->words + record->room);
}

static void unchain(struct pyframes_record *record)
{
    struct link *links = links_of(record);
    while (record->depth > 0) {
        struct link *link = &links[--record->depth];
        *link->at = link->next;
        if (link->next)
            link->next->at = link->at;
    }
}

bool pyframes_record_chain(struct pyframes_record *record, const void *const *codes, uint32_t depth)
{
    for (record->depth = 0; record->depth < depth; record->depth++) {
        struct code *code = code_of(codes[record->depth]);
        struct link *link = &links_of(record)[record->depth];
        if (!code) {
            unchain(record);
            return false;
        }
        *link = (struct link){code->first, &code->first, record};
        if (code->first)
            code->first->at = &link->next;
        code->first = link;
    }
    return true;
}

void pyframes_record_free(struct pyframes_record *record)
{
    uint32_t turn = atomic_load_explicit(&record->turn, memory_order_relaxed);
    atomic_store_explicit(&record->turn, turn | 1, memory_order_relaxed);
    unchain(record);
    put_back(record);
}

struct pyframes_record *pyframes_record_of(const void *code)
{
    struct code *known = *place_of(code);
    return known && known->first ? known->first->record : NULL;
}

void pyframes_record_forget(const void *code)
{
    struct code **at = place_of(code), *known = *at;
    if (!known)
        return;
    *at = known->next;
    free_code(known);
}

void pyframes_record_forget_all(void)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct code *code = own.buckets[i], *next; code; code = next) {
            next = code->next;
            free_code(code);
        }
        own.buckets[i] = NULL;
    }
}

void pyframes_record_begin_anew(void)
{
    memset(&own, 0, sizeof own);
}

/* ---- tests ---- */

bool pyframes_record_is_valid(const struct pyframes_record *record)
{
    const struct link *links = links_of(record);
    if (atomic_load(&record->turn) & 1 || atomic_load(&record->count) > record->room ||
        record->depth > record->room)
        return false;
    for (uint32_t i = 0; i < record->depth; i++)
        if (*links[i].at != &links[i] || links[i].record != record ||
            (links[i].next && links[i].next->at != &links[i].next))
            return false;
    return true;
}

size_t pyframes_record_links(void)
{
    size_t links = 0;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct code *code = own.buckets[i]; code; code = code->next)
            for (struct link *link = code->first; link; link = link->next)
                links++;
    return links;
}
