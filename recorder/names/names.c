#include "names.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "device_order.h"
#include "ledger.h"
#include "mem.h"
#include "utf8.h"

bool names_start(struct names *names, struct ledger *ledger)
{
    names->ledger = ledger;
    names->scratch = mem_alloc(1, ARENA_MAX_PAYLOAD + 1);
    return names->scratch != NULL;
}

void names_clear(struct names *names)
{
    mem_free(names->scratch);
    names->scratch = NULL;
    intern_clear(&names->strings);
    intern_clear(&names->frames);
    intern_clear(&names->sites);
    intern_clear(&names->tags);
    intern_clear(&names->devices);
    intern_clear(&names->modules);
}

bool names_are_valid(const struct names *names)
{
    return intern_is_valid(&names->strings) && intern_is_valid(&names->frames) &&
           intern_is_valid(&names->sites) && intern_is_valid(&names->tags) &&
           intern_is_valid(&names->devices) && intern_is_valid(&names->modules);
}

const char *names_text(const struct names *names, uint32_t string)
{
    assert(string <= names->strings.item_count);
    return string ? intern_at(&names->strings, string) : "?";
}

/* ---- one row, one interned item: both or none; 0 without memory ---- */

uint32_t names_string(struct names *names, const char *text)
{
    struct intern *strings = &names->strings;
    uint32_t id = intern_find(strings, text, strlen(text) + 1);
    if (id)
        return id;
    struct batch *batch = names->ledger->batch;
    struct batch_mark mark = batch_mark(batch);
    if (!batch_put_string(
            batch, &(struct row_string){.id = (int64_t)strings->item_count + 1, .text = text}))
        return 0;
    id = intern_add(strings, text, strlen(text) + 1);
    if (!id)
        batch_back_to(batch, mark);
    return id;
}

static uint32_t add_frame(struct names *names, const struct names_frame *frame)
{
    struct intern *frames = &names->frames;
    uint32_t id = intern_find(frames, frame, sizeof *frame);
    if (id)
        return id;
    struct batch *batch = names->ledger->batch;
    struct batch_mark mark = batch_mark(batch);
    struct row_frame row = {.id = (int64_t)frames->item_count + 1,
                            .function = row_id(frame->function),
                            .file = row_id(frame->file),
                            .line = row_id(frame->line)};
    if (!batch_put_frame(batch, &row))
        return 0;
    id = intern_add(frames, frame, sizeof *frame);
    if (!id)
        batch_back_to(batch, mark);
    return id;
}

static uint32_t add_site(struct names *names, const uint32_t *frames, size_t depth)
{
    struct intern *sites = &names->sites;
    uint32_t id = intern_find(sites, frames, depth * sizeof *frames);
    assert(depth > 0 && depth <= ARENA_MAX_DEPTH);
    if (id)
        return id;
    struct batch *batch = names->ledger->batch;
    struct batch_mark mark = batch_mark(batch);
    int64_t site = (int64_t)sites->item_count + 1;
    bool done = true;
    for (size_t i = 0; i < depth && done; i++)
        done = batch_put_site(
            batch, &(struct row_site){.site = site, .depth = (int64_t)i, .frame = frames[i]});
    if (done)
        id = intern_add(sites, frames, depth * sizeof *frames);
    if (!id)
        batch_back_to(batch, mark);
    return id;
}

uint32_t names_tag(struct names *names, uint32_t category, uint32_t string)
{
    struct intern *tags = &names->tags;
    struct names_tag tag = {category, string};
    uint32_t id = intern_find(tags, &tag, sizeof tag);
    if (id)
        return id;
    struct batch *batch = names->ledger->batch;
    struct batch_mark mark = batch_mark(batch);
    struct row_tag row = {.id = (int64_t)tags->item_count + 1,
                          .category = category,
                          .name = string ? names_text(names, string) : NULL};
    if (!batch_put_tag(batch, &row))
        return 0;
    id = intern_add(tags, &tag, sizeof tag);
    if (!id)
        batch_back_to(batch, mark);
    return id;
}

static uint32_t add_module(struct names *names, const struct names_module *module)
{
    struct intern *modules = &names->modules;
    uint32_t id = intern_find(modules, module, sizeof *module);
    if (id)
        return id;
    struct batch *batch = names->ledger->batch;
    struct batch_mark mark = batch_mark(batch);
    struct row_module row = {.id = (int64_t)modules->item_count + 1,
                             .path = names_text(names, module->path),
                             .class = names_text(names, module->class_name)};
    if (!batch_put_module(batch, &row))
        return 0;
    id = intern_add(modules, module, sizeof *module);
    if (!id)
        batch_back_to(batch, mark);
    return id;
}

static const char *device_kind(int32_t kind)
{
    static const char *const texts[DEVICE_KINDS] = {"cpu", "cuda", "virtual", "other", "xpu"};
    assert(kind >= DEVICE_CPU && kind < DEVICE_KINDS);
    return texts[kind];
}

uint32_t names_device(struct names *names, int32_t kind, int32_t ordinal)
{
    struct intern *devices = &names->devices;
    struct names_device device = {kind, ordinal};
    uint32_t id = intern_find(devices, &device, sizeof device);
    if (id)
        return id;
    struct batch *batch = names->ledger->batch;
    struct batch_mark mark = batch_mark(batch);
    struct row_device row = {
        .id = (int64_t)devices->item_count + 1, .kind = device_kind(kind), .ordinal = ordinal};
    if (!batch_put_device(batch, &row))
        return 0;
    id = intern_add(devices, &device, sizeof device);
    if (!id)
        batch_back_to(batch, mark);
    return id;
}

int names_device_rank(const struct names *names, int64_t device)
{
    struct names_device it;
    assert(device > 0 && (uint64_t)device <= names->devices.item_count);
    memcpy(&it, intern_at(&names->devices, (uint32_t)device), sizeof it);
    return device_rank(device_kind(it.kind));
}

void names_print_device(const struct names *names, int64_t device, char *out, size_t size)
{
    struct names_device it;
    assert(device > 0 && (uint64_t)device <= names->devices.item_count && size > 0);
    memcpy(&it, intern_at(&names->devices, (uint32_t)device), sizeof it);
    if (it.ordinal < 0 || (it.kind == DEVICE_CPU && it.ordinal == 0))
        snprintf(out, size, "%s", device_kind(it.kind));
    else
        snprintf(out, size, "%s:%d", device_kind(it.kind), (int)it.ordinal);
}

/* ---- definitions: `bytes` are a copy that nobody can change any more ---- */

/* Each returns the id or 0; *bad tells a definition that cannot be one from a lack of memory. */
static uint32_t define_string(struct names *names, unsigned char *bytes, size_t count)
{
    assert(count <= ARENA_MAX_PAYLOAD);
    utf8_clean(bytes, count);
    bytes[count] = '\0';
    return names_string(names, (const char *)bytes);
}

static uint32_t define_frame(struct names_defs *defs, const unsigned char *bytes, size_t count,
                             bool *bad)
{
    struct arena_frame frame;
    *bad = count != sizeof frame;
    if (*bad)
        return 0;
    memcpy(&frame, bytes, sizeof frame);
    struct names_frame it = {
        .function = names_lookup(defs, frame.function, ARENA_STRING),
        .file = names_lookup(defs, frame.file, ARENA_STRING),
        .line = frame.line,
    };
    return add_frame(defs->names, &it);
}

static uint32_t define_module(struct names_defs *defs, const unsigned char *bytes, size_t count,
                              bool *bad)
{
    struct arena_module module;
    *bad = count != sizeof module;
    if (*bad)
        return 0;
    memcpy(&module, bytes, sizeof module);
    struct names_module it = {
        .path = names_lookup(defs, module.path, ARENA_STRING),
        .class_name = names_lookup(defs, module.class_name, ARENA_STRING),
    };
    return add_module(defs->names, &it);
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

static uint32_t define_site(struct names_defs *defs, const unsigned char *bytes, size_t count,
                            bool *prepares, bool *bad)
{
    uint32_t frames[ARENA_MAX_DEPTH];
    *bad = count == 0 || count % sizeof *frames != 0 || count > sizeof frames;
    if (*bad)
        return 0;
    memcpy(frames, bytes, count);
    size_t depth = count / sizeof *frames;
    for (size_t i = 0; i < depth; i++) {
        frames[i] = names_lookup(defs, frames[i], ARENA_FRAME);
        if (!frames[i])
            frames[i] = add_frame(defs->names, &(struct names_frame){0, 0, 0});
        if (!frames[i])
            return 0;
        *prepares |= is_preparing(defs->names, frames[i]);
    }
    return add_site(defs->names, frames, depth);
}

static bool read_heap(struct names_defs *defs, const unsigned char *bytes, size_t count,
                      struct names_heap *out)
{
    struct arena_heap heap;
    if (count != sizeof heap)
        return false;
    memcpy(&heap, bytes, sizeof heap);
    if (heap.device_kind < DEVICE_CPU || heap.device_kind >= DEVICE_KINDS) {
        note(defs->account, NOTE_BAD_DEFINITION, NOTE_NO_ADDRESS, "device kind %d",
             heap.device_kind);
        heap.device_kind = DEVICE_OTHER;
    }
    *out = (struct names_heap){
        .number = (uint32_t)(defs->first + defs->given),
        .device_kind = heap.device_kind,
        .device_index = heap.device_index < 0 ? -1 : heap.device_index,
        .stream = heap.stream,
        .pool = heap.pool,
        .name = names_lookup(defs, heap.name, ARENA_STRING),
    };
    return true;
}

/* A number whose entry is missing for want of memory is unknown; later ones keep their numbers. */
static void remember(struct names_defs *defs, struct names_def def)
{
    assert(defs->given > 0 && defs->count < defs->given);
    if (defs->given > UINT32_MAX - defs->first ||
        !MEM_GROW(defs->at, defs->cap, (size_t)defs->given)) {
        note_owed(defs->account, OWED_DEFINITION, 1);
        return;
    }
    while (defs->count < defs->given - 1)
        defs->at[defs->count++] = (struct names_def){0, false, 0};
    defs->at[defs->count++] = def;
}

static void define_bad(struct names_defs *defs, uint32_t kind, size_t count)
{
    note(defs->account, NOTE_BAD_DEFINITION, NOTE_NO_ADDRESS, "kind %u, %zu bytes", kind, count);
    remember(defs, (struct names_def){0, false, 0});
}

static void define(struct names_defs *defs, uint32_t kind, unsigned char *bytes, size_t count)
{
    struct names_def def = {(uint16_t)kind, false, 0};
    bool bad = false;
    if (kind == ARENA_STRING)
        def.id = define_string(defs->names, bytes, count);
    else if (kind == ARENA_FRAME)
        def.id = define_frame(defs, bytes, count, &bad);
    else if (kind == ARENA_SITE)
        def.id = define_site(defs, bytes, count, &def.prepares, &bad);
    else if (kind == ARENA_MODULE)
        def.id = define_module(defs, bytes, count, &bad);
    else
        bad = true;
    if (bad) {
        define_bad(defs, kind, count);
        return;
    }
    if (!def.id)
        note_owed(defs->account, OWED_DEFINITION, 1);
    remember(defs, def);
}

bool names_define(struct names_defs *defs, const struct arena_record *record, const void *payload,
                  struct names_heap *heap)
{
    unsigned char *scratch = defs->names->scratch;
    assert(defs->account && defs->names->scratch);
    defs->given++;
    if (record->bytes > ARENA_MAX_PAYLOAD) {
        define_bad(defs, record->kind, record->bytes);
        return false;
    }
    memcpy(scratch, payload, record->bytes);
    if (record->kind == ARENA_HEAP && read_heap(defs, scratch, record->bytes, heap))
        return true;
    if (record->kind == ARENA_HEAP)
        define_bad(defs, record->kind, record->bytes);
    else
        define(defs, record->kind, scratch, record->bytes);
    return false;
}

/* Without memory children do not know it, and say so. */
void names_heap_made(struct names_defs *defs, const struct names_heap *heap, uint32_t made)
{
    assert(!defs->heap_count || defs->heaps[defs->heap_count - 1].number < heap->number);
    if (made && MEM_GROW(defs->heaps, defs->heap_cap, defs->heap_count + 1))
        defs->heaps[defs->heap_count++] = *heap;
    if (!made)
        note_owed(defs->account, OWED_DEFINITION, 1);
    remember(defs, (struct names_def){ARENA_HEAP, false, made});
}
