#include "names.h"

#include <stdio.h>
#include <string.h>

#include "device_order.h"
#include "mem.h"
#include "utf8.h"
#include "state_types.h"

void names_clear(struct names *names)
{
    intern_clear(&names->strings);
    intern_clear(&names->frames);
    intern_clear(&names->sites);
    intern_clear(&names->tags);
    intern_clear(&names->devices);
}

const char *names_text(const struct names *names, uint32_t string)
{
    return string ? intern_at(&names->strings, string) : "?";
}

static int64_t id_or_null(uint32_t id)
{
    return id ? (int64_t)id : BATCH_NULL;
}

/* ---- one row, one interned item: both or none; 0 without memory ---- */

uint32_t names_string(struct state *state, const char *text)
{
    struct intern *strings = &state->names.strings;
    uint32_t id = intern_find(strings, text, strlen(text) + 1);
    if (id)
        return id;
    struct batch_mark mark = batch_mark(state->ledger.batch);
    if (!batch_put(state->ledger.batch, SCH_STRING, "is", (int64_t)strings->item_count + 1, text))
        return 0;
    id = intern_add(strings, text, strlen(text) + 1);
    if (!id)
        batch_back_to(state->ledger.batch, mark);
    return id;
}

static uint32_t add_frame(struct state *state, const struct names_frame *frame)
{
    struct intern *frames = &state->names.frames;
    uint32_t id = intern_find(frames, frame, sizeof *frame);
    if (id)
        return id;
    struct batch_mark mark = batch_mark(state->ledger.batch);
    if (!batch_put(state->ledger.batch, SCH_FRAME, "innn", (int64_t)frames->item_count + 1,
                   id_or_null(frame->function), id_or_null(frame->file), id_or_null(frame->line)))
        return 0;
    id = intern_add(frames, frame, sizeof *frame);
    if (!id)
        batch_back_to(state->ledger.batch, mark);
    return id;
}

static uint32_t add_site(struct state *state, const uint32_t *frames, size_t depth)
{
    struct intern *sites = &state->names.sites;
    uint32_t id = intern_find(sites, frames, depth * sizeof *frames);
    if (id)
        return id;
    struct batch_mark mark = batch_mark(state->ledger.batch);
    int64_t site = (int64_t)sites->item_count + 1;
    bool done = true;
    for (size_t i = 0; i < depth && done; i++)
        done =
            batch_put(state->ledger.batch, SCH_SITE, "iii", site, (int64_t)i, (int64_t)frames[i]);
    if (done)
        id = intern_add(sites, frames, depth * sizeof *frames);
    if (!id)
        batch_back_to(state->ledger.batch, mark);
    return id;
}

uint32_t names_tag(struct state *state, uint32_t category, uint32_t string)
{
    struct intern *tags = &state->names.tags;
    struct names_tag tag = {category, string};
    uint32_t id = intern_find(tags, &tag, sizeof tag);
    if (id)
        return id;
    struct batch_mark mark = batch_mark(state->ledger.batch);
    if (!batch_put(state->ledger.batch, SCH_TAG, "iis", (int64_t)tags->item_count + 1,
                   (int64_t)category, string ? names_text(&state->names, string) : NULL))
        return 0;
    id = intern_add(tags, &tag, sizeof tag);
    if (!id)
        batch_back_to(state->ledger.batch, mark);
    return id;
}

static const char *device_kind(int32_t kind)
{
    static const char *const names[] = {"cpu", "cuda", "virtual", "other"};
    return names[kind];
}

uint32_t names_device(struct state *state, int32_t kind, int32_t ordinal)
{
    struct intern *devices = &state->names.devices;
    struct names_device device = {kind, ordinal};
    uint32_t id = intern_find(devices, &device, sizeof device);
    if (id)
        return id;
    struct batch_mark mark = batch_mark(state->ledger.batch);
    if (!batch_put(state->ledger.batch, SCH_DEVICE, "isi00", (int64_t)devices->item_count + 1,
                   device_kind(kind), (int64_t)ordinal))
        return 0;
    id = intern_add(devices, &device, sizeof device);
    if (!id)
        batch_back_to(state->ledger.batch, mark);
    return id;
}

int names_device_rank(const struct names *names, int64_t device)
{
    struct names_device it;
    memcpy(&it, intern_at(&names->devices, (uint32_t)device), sizeof it);
    return device_rank(device_kind(it.kind));
}

void names_print_device(const struct names *names, int64_t device, char *out, size_t size)
{
    struct names_device it;
    memcpy(&it, intern_at(&names->devices, (uint32_t)device), sizeof it);
    if (it.ordinal < 0 || (it.kind == DEVICE_CPU && it.ordinal == 0))
        snprintf(out, size, "%s", device_kind(it.kind));
    else
        snprintf(out, size, "%s:%d", device_kind(it.kind), (int)it.ordinal);
}

/* ---- definitions: `bytes` are a copy that nobody can change any more ---- */

/* Each returns the id or 0; *bad tells a definition that cannot be one from a lack of memory. */
static uint32_t define_string(struct state *state, unsigned char *bytes, size_t count)
{
    utf8_clean(bytes, count);
    bytes[count] = '\0';
    return names_string(state, (const char *)bytes);
}

static uint32_t define_frame(struct state_process *process, const unsigned char *bytes,
                             size_t count, bool *bad)
{
    struct arena_frame frame;
    *bad = count != sizeof frame;
    if (*bad)
        return 0;
    memcpy(&frame, bytes, sizeof frame);
    struct names_frame it = {
        .function = names_lookup(process, process->defs, frame.function, ARENA_STRING),
        .file = names_lookup(process, process->defs, frame.file, ARENA_STRING),
        .line = frame.line,
    };
    return add_frame(process->state, &it);
}

/* torch.autograd's backward() and grad() make the first gradients in this function, right before
 * they start the engine: so in 1.13 and in 2.13. */
static bool is_preparing(const struct names *names, uint32_t id)
{
    static const char function[] = "_make_grads", file[] = "torch/autograd/__init__.py";
    struct names_frame frame;
    memcpy(&frame, intern_at(&names->frames, id), sizeof frame);
    if (strcmp(names_text(names, frame.function), function) != 0)
        return false;
    const char *path = names_text(names, frame.file);
    size_t length = strlen(path);
    return length >= sizeof file - 1 && strcmp(path + length - (sizeof file - 1), file) == 0;
}

static uint32_t define_site(struct state_process *process, const unsigned char *bytes, size_t count,
                            bool *prepares, bool *bad)
{
    uint32_t frames[ARENA_MAX_DEPTH];
    *bad = count == 0 || count % sizeof *frames != 0 || count > sizeof frames;
    if (*bad)
        return 0;
    memcpy(frames, bytes, count);
    size_t depth = count / sizeof *frames;
    for (size_t i = 0; i < depth; i++) {
        frames[i] = names_lookup(process, process->defs, frames[i], ARENA_FRAME);
        if (!frames[i])
            frames[i] = add_frame(process->state, &(struct names_frame){0, 0, 0});
        if (!frames[i])
            return 0;
        *prepares |= is_preparing(&process->state->names, frames[i]);
    }
    return add_site(process->state, frames, depth);
}

/* Without memory children do not know it, and say so. */
static void keep_for_children(struct names_defs *defs, const struct arena_heap *heap, uint32_t name)
{
    if (!MEM_GROW(defs->heaps, defs->heap_cap, defs->heap_count + 1))
        return;
    defs->heaps[defs->heap_count++] = (struct names_heap){
        .number = (uint32_t)(defs->first + defs->given),
        .device_kind = heap->device_kind,
        .device_index = heap->device_index,
        .stream = heap->stream,
        .pool = heap->pool,
        .name = name,
    };
}

static uint32_t define_heap(struct state_process *process, const unsigned char *bytes, size_t count,
                            bool *bad)
{
    struct arena_heap heap;
    *bad = count != sizeof heap;
    if (*bad)
        return 0;
    memcpy(&heap, bytes, sizeof heap);
    if (heap.device_kind < DEVICE_CPU || heap.device_kind > DEVICE_OTHER) {
        note(&process->account, NOTE_BAD_DEFINITION, NOTE_NO_ADDRESS, "device kind %d",
             heap.device_kind);
        heap.device_kind = DEVICE_OTHER;
    }
    struct heap like = {
        .stream = heap.stream,
        .pool = heap.pool,
        .name = names_lookup(process, process->defs, heap.name, ARENA_STRING),
    };
    if (heap.device_index < 0)
        heap.device_index = -1;
    struct heap *made = heap_get(process, &like, heap.device_kind, heap.device_index);
    if (made)
        keep_for_children(process->defs, &heap, like.name);
    return made ? made->number : 0;
}

static struct names_def define(struct state_process *process, uint32_t kind, unsigned char *bytes,
                               size_t count)
{
    struct names_def def = {(uint16_t)kind, false, 0};
    bool bad = false;
    if (kind == ARENA_STRING)
        def.id = define_string(process->state, bytes, count);
    else if (kind == ARENA_FRAME)
        def.id = define_frame(process, bytes, count, &bad);
    else if (kind == ARENA_SITE)
        def.id = define_site(process, bytes, count, &def.prepares, &bad);
    else if (kind == ARENA_HEAP)
        def.id = define_heap(process, bytes, count, &bad);
    else
        bad = true;
    if (bad) {
        note(&process->account, NOTE_BAD_DEFINITION, NOTE_NO_ADDRESS, "kind %u, %zu bytes", kind,
             count);
        def.kind = 0;
    } else if (!def.id) {
        note_owed(&process->account, OWED_DEFINITION, 1);
    }
    return def;
}

/* A number whose entry is missing for want of memory is unknown; later ones keep their numbers. */
static void remember(struct state_process *process, struct names_def def)
{
    struct names_defs *defs = process->defs;
    if (defs->given > UINT32_MAX - defs->first ||
        !MEM_GROW(defs->at, defs->cap, (size_t)defs->given)) {
        note_owed(&process->account, OWED_DEFINITION, 1);
        return;
    }
    while (defs->count < defs->given - 1)
        defs->at[defs->count++] = (struct names_def){0, false, 0};
    defs->at[defs->count++] = def;
}

void names_define(struct state_process *process, const struct arena_record *record,
                  const void *payload)
{
    struct state *state = process->state;
    process->defs->given++;
    struct names_def def = {0, false, 0};
    if (record->bytes > ARENA_MAX_PAYLOAD) {
        note(&process->account, NOTE_BAD_DEFINITION, NOTE_NO_ADDRESS, "kind %u, %u bytes",
             record->kind, record->bytes);
    } else {
        memcpy(state->scratch, payload, record->bytes);
        def = define(process, record->kind, state->scratch, record->bytes);
    }
    remember(process, def);
}
