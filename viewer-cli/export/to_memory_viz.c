/*
 * memory_viz: a snapshot of one process as torch.cuda.memory._dump_snapshot() writes it, for
 * pytorch.org/memory_viz, torch/cuda/_memory_viz.py and `tidemark import`.
 *
 * The trace is the whole recording up to the moment, the segments are those of the moment. A device
 * has its place in the list of traces by its ordinal; of a process without a GPU the CPU is the
 * first. Frames, stacks and texts are sent once and named by number behind that.
 *
 * What was there before the record, in a recording that was imported, is in the segments and has no
 * event, as it had none in the snapshot that it came from.
 *
 * An event has the key `category` where a block is handed out: what it was for. The page colours by
 * it, and fails where no event has the category "unknown": so the first one of each trace, which
 * says that a snapshot was taken, has that.
 */
#include <inttypes.h>
#include <string.h>

#include "driven.h"
#include "error.h"
#include "export.h"
#include "frag.h"
#include "heap_event.h"
#include "instant.h"
#include "mem.h"
#include "moment.h"
#include "peak.h"
#include "pickle_put.h"
#include "query.h"
#include "stack.h"

#define SMALL_SEGMENT ((int64_t)2 << 20) /* PyTorch's small pool takes segments of this size */
#define MEMO_TEXTS 64u

struct writing {
    struct export *export;
    struct pickle_put pickle;
    struct map frames, stacks; /* frame.id, site: the memo */
    struct stack stack;
    int64_t real_ns; /* when the run began */
    struct {         /* words that stand in every event; they are few, and constants */
        const char *text;
        uint32_t memo;
    } words[MEMO_TEXTS];
    size_t word_count;
    int64_t heap; /* of the last event, and its name */
    int64_t stream, pool;
    int device;            /* its place */
    int64_t rebuilt_until; /* what lived up to this event was there before the record */
};

/* ---- texts and stacks ---- */

/* By its address, for nearly all are the same constant each time. */
static size_t find_word(const struct writing *writing, const char *text)
{
    for (size_t i = 0; i < writing->word_count; i++)
        if (writing->words[i].text == text)
            return i;
    for (size_t i = 0; i < writing->word_count; i++)
        if (strcmp(writing->words[i].text, text) == 0)
            return i;
    return writing->word_count;
}

/* A constant, the second time by its number. */
static void put_word(struct writing *writing, const char *text)
{
    size_t at = find_word(writing, text);
    if (at < writing->word_count) {
        pickle_again(&writing->pickle, writing->words[at].memo);
        return;
    }
    pickle_text(&writing->pickle, text);
    if (writing->word_count == MEMO_TEXTS)
        return;
    writing->words[writing->word_count].text = text;
    writing->words[writing->word_count++].memo = pickle_remember(&writing->pickle);
}

static void put_int(struct writing *writing, const char *key, int64_t value)
{
    put_word(writing, key);
    pickle_int(&writing->pickle, value);
}

static void put_address(struct writing *writing, const char *key, int64_t address)
{
    put_word(writing, key);
    pickle_uint(&writing->pickle, (uint64_t)address);
}

static void put_key_word(struct writing *writing, const char *key, const char *word)
{
    put_word(writing, key);
    put_word(writing, word);
}

static int put_frame(struct writing *writing, int64_t frame)
{
    struct pickle_put *pickle = &writing->pickle;
    struct frame_name name;
    uint64_t memo = map_get(&writing->frames, (uint64_t)frame);
    if (memo != MAP_NONE) {
        pickle_again(pickle, (uint32_t)memo);
        return 0;
    }
    int err = frame_name_read(writing->export->report->db, frame, &name);
    pickle_dict(pickle);
    put_word(writing, "filename");
    pickle_text(pickle, name.file ? name.file : "??");
    put_int(writing, "line", name.line == STACK_NONE ? 0 : name.line);
    put_word(writing, "name");
    pickle_text(pickle, name.function ? name.function : "??");
    pickle_dict_end(pickle);
    frame_name_clear(&name);
    if (!map_put(&writing->frames, (uint64_t)frame, pickle_remember(pickle), NULL))
        return ERR_NOMEM;
    return err;
}

/* The list of its frames, innermost first, as PyTorch has them. */
static int put_stack(struct writing *writing, int64_t site)
{
    struct pickle_put *pickle = &writing->pickle;
    uint64_t memo = map_get(&writing->stacks, (uint64_t)site);
    int err = 0;
    put_word(writing, "frames");
    if (memo != MAP_NONE) {
        pickle_again(pickle, (uint32_t)memo);
        return 0;
    }
    err = stack_read(writing->export->report->db, site, &writing->stack);
    pickle_list(pickle);
    for (size_t i = 0; i < writing->stack.count && err >= 0; i++) {
        pickle_item(pickle);
        err = put_frame(writing, writing->stack.frames[i]);
    }
    pickle_list_end(pickle);
    if (!map_put(&writing->stacks, (uint64_t)site, pickle_remember(pickle), NULL))
        return ERR_NOMEM;
    return err;
}

static int find_heap(struct writing *writing, int64_t heap)
{
    if (writing->heap == heap)
        return 0;
    writing->heap = heap;
    writing->stream = writing->pool = 0;
    if (heap == HEAP_EVENT_NONE)
        return 0;
    return query_read(writing->export->report->db, "SELECT stream, pool FROM heap WHERE id = ?1",
                      Q_IN(heap), Q_OUT(Q_ANY(writing->stream), Q_ANY(writing->pool)));
}

/* ---- the trace ---- */

static const char *const actions[HEAP_EVENT_KINDS] = {[HEAP_FREE_COMPLETED] = "free_completed",
                                                      [HEAP_SEGMENT_FREE] = "segment_free",
                                                      [HEAP_SEGMENT_UNMAP] = "segment_unmap",
                                                      [HEAP_SEGMENT_MAP] = "segment_map",
                                                      [HEAP_SEGMENT_ALLOC] = "segment_alloc",
                                                      [HEAP_OOM] = "oom",
                                                      [HEAP_ALLOC] = "alloc",
                                                      [HEAP_FREE_REQUESTED] = "free_requested"};

static int put_event(void *self, const struct heap_event *event)
{
    struct writing *writing = self;
    struct pickle_put *pickle = &writing->pickle;
    if (event->seq <= writing->rebuilt_until)
        return 0;
    int err = find_heap(writing, event->heap);
    pickle_item(pickle);
    pickle_dict(pickle);
    put_key_word(writing, "action", actions[event->kind]);
    put_address(writing, event->kind == HEAP_OOM ? "device_free" : "addr", event->address);
    put_int(writing, "size", event->size);
    put_address(writing, "stream", writing->stream);
    put_word(writing, "pool_id");
    pickle_pair(pickle, 0, (uint64_t)writing->pool);
    put_int(writing, "time_us", (event->at_ns + writing->real_ns) / 1000);
    if (err >= 0)
        err = put_stack(writing, event->site);
    if (event->kind == HEAP_ALLOC) {
        put_key_word(writing, "category", purpose_name(event->purpose));
        writing->export->blocks++;
    }
    pickle_dict_end(pickle);
    return err;
}

static void put_first(struct writing *writing)
{
    pickle_item(&writing->pickle);
    pickle_dict(&writing->pickle);
    put_key_word(writing, "action", "snapshot");
    put_int(writing, "addr", 0);
    put_int(writing, "size", 0);
    put_int(writing, "stream", 0);
    put_int(writing, "time_us", writing->real_ns / 1000);
    put_key_word(writing, "category", "unknown");
    pickle_dict_end(&writing->pickle);
}

/* ---- the segments ---- */

static void put_block(struct writing *writing, uint64_t address, int64_t size, int64_t requested,
                      const char *state)
{
    put_address(writing, "address", (int64_t)address);
    put_int(writing, "size", size);
    put_int(writing, "requested_size", requested);
    put_key_word(writing, "state", state);
}

static void put_hole(struct writing *writing, uint64_t address, uint64_t end)
{
    if (end <= address)
        return;
    pickle_item(&writing->pickle);
    pickle_dict(&writing->pickle);
    put_block(writing, address, (int64_t)(end - address), 0, "inactive");
    pickle_dict_end(&writing->pickle);
}

/* Blocks and holes, so that they tile the segment. */
static int put_blocks(struct writing *writing, const struct frag *frag,
                      const struct frag_segment *segment)
{
    uint64_t at = segment->area.address;
    int err = 0;
    put_word(writing, "blocks");
    pickle_list(&writing->pickle);
    for (size_t i = 0; i < segment->count && err >= 0; i++) {
        const struct frag_block *block = &frag->blocks[segment->first + i];
        put_hole(writing, at, block->address);
        at = block->address + (uint64_t)block->size;
        pickle_item(&writing->pickle);
        pickle_dict(&writing->pickle);
        put_block(writing, block->address, block->size,
                  block->requested == FRAG_NONE ? block->size : block->requested,
                  block->waiting ? "active_pending_free" : "active_allocated");
        err = put_stack(writing, block->site);
        pickle_dict_end(&writing->pickle);
    }
    put_hole(writing, at, area_end(&segment->area));
    pickle_list_end(&writing->pickle);
    return err;
}

static int64_t requested_of(const struct frag *frag, const struct frag_segment *segment)
{
    int64_t sum = 0;
    for (size_t i = 0; i < segment->count; i++) {
        const struct frag_block *block = &frag->blocks[segment->first + i];
        sum += block->requested == FRAG_NONE ? block->size : block->requested;
    }
    return sum;
}

static int put_segment(struct writing *writing, const struct frag *frag,
                       const struct frag_segment *segment)
{
    int err = find_heap(writing, segment->area.heap);
    pickle_item(&writing->pickle);
    pickle_dict(&writing->pickle);
    put_int(writing, "device", writing->device);
    put_address(writing, "address", (int64_t)segment->area.address);
    put_int(writing, "total_size", segment->area.size);
    put_int(writing, "allocated_size", segment->live);
    put_int(writing, "active_size", segment->live + segment->waiting);
    put_int(writing, "requested_size", requested_of(frag, segment));
    put_address(writing, "stream", writing->stream);
    put_key_word(writing, "segment_type", segment->area.size == SMALL_SEGMENT ? "small" : "large");
    put_word(writing, "segment_pool_id");
    pickle_pair(&writing->pickle, 0, (uint64_t)writing->pool);
    put_word(writing, "is_expandable");
    pickle_bool(&writing->pickle, segment->area.mapped);
    if (err >= 0)
        err = put_blocks(writing, frag, segment);
    pickle_dict_end(&writing->pickle);
    return err;
}

/* ---- devices ---- */

struct place { /* of a device in the list of traces */
    const struct report_scope *scope;
    struct instant instant;
};

static int put_segments(struct writing *writing, const struct place *places, int count)
{
    int err = 0;
    put_word(writing, "segments");
    pickle_list(&writing->pickle);
    for (writing->device = 0; writing->device < count && err >= 0; writing->device++) {
        const struct place *place = &places[writing->device];
        struct frag frag;
        if (!place->scope)
            continue;
        err = frag_read(writing->export->report->db, place->scope->process.id, place->scope->device,
                        &place->instant, 0, &frag);
        for (size_t i = 0; i < frag.segment_count && err >= 0; i++)
            err = put_segment(writing, &frag, &frag.segments[i]);
        frag_clear(&frag);
    }
    pickle_list_end(&writing->pickle);
    return err;
}

static const char rebuilt_sql[] =
    "SELECT max(CAST(value AS INTEGER)) AS rebuilt_until FROM setting"
    " WHERE process = ?1 AND (device = ?2 OR device IS NULL) AND key = 'rebuilt_until'";

static int put_trace(struct writing *writing, const struct place *place)
{
    struct db *db = writing->export->report->db;
    int64_t process = place->scope->process.id, device = place->scope->device;
    int err =
        query_read(db, rebuilt_sql, Q_IN(process, device), Q_OUT(Q_INT(writing->rebuilt_until)));
    put_first(writing);
    return err < 0 ? err
                   : heap_events_each(db, process, device, place->instant.seq, put_event, writing);
}

static int put_traces(struct writing *writing, const struct place *places, int count)
{
    int err = 0;
    put_word(writing, "device_traces");
    pickle_list(&writing->pickle);
    for (int i = 0; i < count && err >= 0; i++) {
        const struct place *place = &places[i];
        pickle_item(&writing->pickle);
        pickle_list(&writing->pickle);
        if (place->scope)
            err = put_trace(writing, place);
        pickle_list_end(&writing->pickle);
    }
    pickle_list_end(&writing->pickle);
    return err;
}

static const char settings_sql[] = "SELECT value FROM setting WHERE process = ?1 AND key = "
                                   "'alloc_conf' ORDER BY rowid DESC LIMIT 1";

static int put_settings(struct writing *writing, const struct report_process *process)
{
    char *value = NULL;
    int err = query_read(writing->export->report->db, settings_sql, Q_IN(process->id),
                         Q_OUT(Q_COPY(value)));
    put_word(writing, "allocator_settings");
    pickle_dict(&writing->pickle);
    put_word(writing, "PYTORCH_CUDA_ALLOC_CONF");
    pickle_text(&writing->pickle, value ? value : "");
    pickle_dict_end(&writing->pickle);
    mem_free(value);
    return err;
}

static int put_snapshot(struct writing *writing, const struct report_process *process,
                        const struct place *places, int count)
{
    pickle_begin(&writing->pickle, writing->export->out);
    pickle_dict(&writing->pickle);
    int err = put_segments(writing, places, count);
    if (err >= 0)
        err = put_traces(writing, places, count);
    if (err >= 0)
        err = put_settings(writing, process);
    pickle_dict_end(&writing->pickle);
    pickle_end(&writing->pickle);
    return err;
}

/* ---- which process, which devices ---- */

/* Of several the one that held most: a snapshot is of one. */
static int fullest(const struct report *report, const struct report_process **out)
{
    int64_t most = -1;
    *out = report->scope_count ? &report->scopes[0].process : NULL;
    for (size_t i = 0; i < report->scope_count; i++) {
        struct peak peak;
        int err = peak_find(report->db, report->scopes[i].process.id, report->scopes[i].device,
                            INT64_MIN, INT64_MAX, &peak);
        if (err >= 0 && peak.found && peak.allocated > most) {
            most = peak.allocated;
            *out = &report->scopes[i].process;
        }
        peak_clear(&peak);
        if (err < 0)
            return err;
    }
    return 0;
}

#define PLACES_MOST 256

/* The device's place, or -1: it has none, for others have. */
static int place_of(struct db *db, const struct report_scope *scope, bool has_gpu, int *out)
{
    int64_t ordinal = -1;
    bool cpu = false;
    int err = query_read(db, "SELECT kind = 'cpu' AS cpu, ordinal FROM device WHERE id = ?1",
                         Q_IN(scope->device), Q_OUT(Q_INT(cpu), Q_INT(ordinal)));
    *out = ordinal >= 0 && ordinal < PLACES_MOST ? (int)ordinal : 0;
    if (cpu)
        *out = has_gpu ? -1 : 0;
    return err;
}

static int find_places(struct export *export, const struct report_process *process,
                       struct place *places, int *count)
{
    struct report *report = export->report;
    bool has_gpu = false;
    int err = 0, at;
    *count = 0;
    for (size_t i = 0; i < report->scope_count; i++)
        has_gpu = has_gpu || (report->scopes[i].process.id == process->id &&
                              !report_is_host(&report->scopes[i]));
    for (size_t i = 0; i < report->scope_count && err >= 0; i++) {
        const struct report_scope *scope = &report->scopes[i];
        bool driven = false;
        if (scope->process.id != process->id)
            continue;
        err = driven_is(report->db, scope->process.id, scope->device, &driven);
        if (err >= 0)
            err = place_of(report->db, scope, has_gpu, &at);
        if (err < 0 || at < 0 || driven)
            continue;
        struct instant instant = {0};
        err = moment_find(report, scope, export->moment ? export->moment : "end", &instant);
        if (err == ERR_NOTFOUND) {
            report_misses(report, scope, &instant);
            err = 0;
            continue;
        }
        if (err >= 0)
            err = report_sees(report, process->id, instant.seq);
        places[at] = (struct place){scope, instant};
        *count = at + 1 > *count ? at + 1 : *count;
    }
    return err;
}

static int write_process(struct export *export, const struct report_process *process)
{
    struct place *places = mem_alloc(PLACES_MOST, sizeof *places);
    struct writing *writing = mem_alloc(1, sizeof *writing);
    int count = 0, err = places && writing ? 0 : ERR_NOMEM;
    if (err >= 0)
        err = find_places(export, process, places, &count);
    if (err >= 0 && !count)
        err = ERR_NOTFOUND;
    if (err >= 0) {
        writing->export = export;
        writing->heap = HEAP_EVENT_NONE;
        err = query_read(export->report->db,
                         "SELECT real_ns - run_ns AS real_ns FROM clock ORDER BY run_ns LIMIT 1",
                         Q_NOTHING, Q_OUT(Q_INT(writing->real_ns)));
    }
    if (err >= 0)
        err = put_snapshot(writing, process, places, count);
    if (writing) {
        map_clear(&writing->frames);
        map_clear(&writing->stacks);
        stack_clear(&writing->stack);
    }
    mem_free(writing);
    mem_free(places);
    return err;
}

int export_memory_viz(struct export *export)
{
    const struct report_process *process;
    struct report *report = export->report;
    size_t others = 0;
    int err = fullest(report, &process);
    for (size_t i = 0; process && i < report->scope_count; i++)
        others += report->scopes[i].process.id != process->id &&
                  (i == 0 || report->scopes[i].process.id != report->scopes[i - 1].process.id);
    if (others)
        emit_note(&report->emit,
                  "a snapshot is of one process: this is process %" PRId64
                  ", the fullest one; --process and --rank pick another",
                  process->id);
    export->what = "blocks";
    if (err >= 0)
        err = process ? write_process(export, process) : ERR_NOTFOUND;
    if (err == ERR_NOTFOUND)
        report_nothing(report);
    return err;
}
