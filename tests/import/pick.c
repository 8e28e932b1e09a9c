#include "pick.h"

#include <string.h>

#define SEGMENT UINT64_C(0x7f0000000000)
#define SMALL ((uint64_t)2 << 20)
#define NOW UINT64_C(1700000000000000)
#define BATCH 1000u
#define FLUSH_BYTES ((size_t)1 << 20)

static void bytes_of(struct pick *pick, uint64_t number, unsigned n)
{
    char bytes[8];
    for (unsigned i = 0; i < n; i++)
        bytes[i] = (char)(number >> (8 * i));
    buf_add(&pick->out, bytes, n);
}

void pick_begin(struct pick *pick, unsigned protocol)
{
    FILE *file = pick->file;
    *pick = (struct pick){.protocol = protocol, .file = file};
    pick_op(pick, 0x80);
    bytes_of(pick, protocol, 1);
}

size_t pick_bytes(const struct pick *pick)
{
    return pick->written + pick->out.count;
}

void pick_op(struct pick *pick, unsigned char opcode)
{
    buf_add(&pick->out, (const char *)&opcode, 1);
}

void pick_put(struct pick *pick)
{
    uint32_t number = pick->memo++;
    if (pick->protocol >= 4) {
        pick_op(pick, 0x94);
        return;
    }
    pick_op(pick, number < 256 ? 'q' : 'r');
    bytes_of(pick, number, number < 256 ? 1 : 4);
}

static void get(struct pick *pick, uint32_t number)
{
    pick_op(pick, number < 256 ? 'h' : 'j');
    bytes_of(pick, number, number < 256 ? 1 : 4);
}

void pick_text(struct pick *pick, const char *text)
{
    for (size_t i = 0; i < pick->text_count; i++)
        if (strcmp(pick->texts[i], text) == 0) {
            get(pick, pick->text_memo[i]);
            return;
        }
    bool short_form = pick->protocol >= 4;
    pick_op(pick, short_form ? 0x8c : 'X');
    bytes_of(pick, strlen(text), short_form ? 1 : 4);
    buf_text(&pick->out, text);
    if (pick->text_count < PICK_TEXTS) {
        pick->texts[pick->text_count] = text;
        pick->text_memo[pick->text_count++] = pick->memo;
    }
    pick_put(pick);
}

void pick_int(struct pick *pick, uint64_t number)
{
    if (number < 256) {
        pick_op(pick, 'K');
        bytes_of(pick, number, 1);
    } else if (number < 65536) {
        pick_op(pick, 'M');
        bytes_of(pick, number, 2);
    } else if (number <= INT32_MAX) {
        pick_op(pick, 'J');
        bytes_of(pick, number, 4);
    } else {
        pick_op(pick, 0x8a);
        bytes_of(pick, 8, 1);
        bytes_of(pick, number, 8);
    }
}

void pick_list(struct pick *pick)
{
    pick_op(pick, ']');
    pick_put(pick);
    pick_op(pick, '(');
}

void pick_dict(struct pick *pick)
{
    pick_op(pick, '}');
    pick_put(pick);
    pick_op(pick, '(');
}

void pick_key_int(struct pick *pick, const char *key, uint64_t number)
{
    pick_text(pick, key);
    pick_int(pick, number);
}

void pick_key_text(struct pick *pick, const char *key, const char *text)
{
    pick_text(pick, key);
    pick_text(pick, text);
}

static void frame(struct pick *pick, size_t number)
{
    if (number < pick->frame_count) {
        get(pick, pick->frame_memo[number]);
        return;
    }
    pick->frame_memo[pick->frame_count++] = pick->memo;
    pick_dict(pick);
    pick_key_text(pick, "name", number % 2 ? "forward" : "step");
    pick_key_text(pick, "filename", "/data/train.py");
    pick_key_int(pick, "line", 10 + number);
    pick_op(pick, 'u');
}

void pick_frames(struct pick *pick, size_t first, size_t depth)
{
    pick_text(pick, "frames");
    pick_list(pick);
    for (size_t i = 0; i < depth; i++) {
        size_t number = (first + i) % PICK_FRAMES;
        frame(pick, number <= pick->frame_count ? number : pick->frame_count);
    }
    pick_op(pick, 'e');
}

void pick_event(struct pick *pick, const struct pick_event *event)
{
    pick_dict(pick);
    pick_key_text(pick, "action", event->action);
    pick_key_int(pick, "addr", event->addr);
    pick_key_int(pick, "size", event->size);
    pick_key_int(pick, "stream", 0);
    pick_key_int(pick, "time_us", event->time_us);
    if (event->depth)
        pick_frames(pick, (size_t)(event->addr / 512) % 7, event->depth);
    pick_op(pick, 'u');
}

/* ---- a whole one ---- */

static void block(struct pick *pick, uint64_t address, uint64_t size, const char *state)
{
    pick_dict(pick);
    pick_key_int(pick, "address", address);
    pick_key_int(pick, "size", size);
    pick_key_int(pick, "requested_size", size - 12);
    pick_key_text(pick, "state", state);
    pick_frames(pick, 0, *state == 'a' ? 3 : 0);
    pick_op(pick, 'u');
}

static void segment(struct pick *pick, uint64_t address)
{
    pick_dict(pick);
    pick_key_int(pick, "device", 0);
    pick_key_int(pick, "address", address);
    pick_key_int(pick, "total_size", SMALL);
    pick_key_int(pick, "stream", 0);
    pick_text(pick, "segment_pool_id");
    pick_int(pick, 0);
    pick_int(pick, 0);
    pick_op(pick, 0x86);
    pick_text(pick, "is_expandable");
    pick_op(pick, 0x89);
    pick_text(pick, "blocks");
    pick_list(pick);
    block(pick, address, 1024, "active_allocated");
    block(pick, address + 1024, SMALL - 1024, "inactive");
    pick_op(pick, 'e');
    pick_op(pick, 'u');
}

/* Batches are what Python does; a long trace leaves for the file now and then. */
static void between(struct pick *pick, size_t done)
{
    if (done % BATCH == 0) {
        pick_op(pick, 'e');
        pick_op(pick, '(');
    }
    if (pick->file && pick->out.count > FLUSH_BYTES) {
        pick->written += fwrite(pick->out.data, 1, pick->out.count, pick->file);
        pick->out.count = 0;
    }
}

static void trace(struct pick *pick, size_t events)
{
    uint64_t second = SEGMENT + SMALL;
    struct pick_event event = {"segment_alloc", second, SMALL, NOW, 0};
    pick_list(pick);
    pick_event(pick, &event);
    event = (struct pick_event){"alloc", second, 1012, NOW + 1, 5};
    pick_event(pick, &event);
    for (size_t i = 0; i < events; i++) {
        event =
            (struct pick_event){"alloc", SEGMENT + 1024, 300 + i % 100, NOW + 2 + i, 30 + i % 7};
        pick_event(pick, &event);
        event.action = "free_requested";
        pick_event(pick, &event);
        event.action = "free_completed";
        pick_event(pick, &event);
        between(pick, i + 1);
    }
    pick_op(pick, 'e');
}

static void annotations(struct pick *pick)
{
    pick_list(pick);
    for (int i = 0; i < 2; i++) {
        pick_dict(pick);
        pick_key_text(pick, "name", "ProfilerStep#3");
        pick_key_text(pick, "stage", i ? "END" : "START");
        pick_key_int(pick, "device", 0);
        pick_key_int(pick, "time_us", NOW + (uint64_t)i);
        pick_op(pick, 'u');
    }
    pick_op(pick, 'e');
}

void pick_snapshot(struct pick *pick, unsigned protocol, size_t events)
{
    pick_begin(pick, protocol);
    pick_dict(pick);
    pick_text(pick, "segments");
    pick_list(pick);
    segment(pick, SEGMENT);
    segment(pick, SEGMENT + SMALL);
    pick_op(pick, 'e');
    pick_text(pick, "device_traces");
    pick_list(pick);
    trace(pick, events);
    pick_op(pick, 'e');
    pick_text(pick, "external_annotations");
    annotations(pick);
    pick_text(pick, "allocator_settings");
    pick_dict(pick);
    pick_key_int(pick, "max_split_size", 64 << 20);
    pick_op(pick, 'u');
    pick_op(pick, 'u');
    pick_op(pick, '.');
}
