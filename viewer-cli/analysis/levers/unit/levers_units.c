#include "levers_units.h"

#include <string.h>

#include "ensure.h"
#include "error.h"
#include "frames.h"
#include "group.h"
#include "levers_recompute.h"
#include "levers_rows.h"
#include "map.h"
#include "mem.h"
#include "query.h"

enum { UNITS_MOST = 64, DEPTH_MOST = 24 };

/* ---- frames of a site ---- */

struct place { /* a site's way into a unit */
    size_t unit;
    uint64_t way; /* the frames around it, folded */
    int64_t line; /* in the unit's own function */
};

struct ways {
    struct place places[DEPTH_MOST];
    size_t count;
    bool again; /* torch.utils.checkpoint is around it */
};

struct reading {
    struct db *db;
    const struct levers_step *step;
    const struct map *idle;
    bool silent; /* what is read calls idle ones only: that line is not said */
    struct levers_units *units;
    struct levers_places places;
    struct frames frames;
    struct levers_callers callers[UNITS_MOST]; /* of each unit */
    struct map instances;                      /* of one unit: modules to places */
    struct map sites;                          /* to places in `ways` */
    struct map again;                          /* modules that backward calls once more */
    bool *blocks_again;                        /* of the step: they are computed again already */
    const struct levers_block **gradients;     /* one of each module that backward makes some for */
    size_t gradient_count, gradient_cap;
    struct ways *ways;
    size_t count, cap;
};

static bool is_idle(const struct reading *reading, size_t block)
{
    return map_get(reading->idle, block) != MAP_NONE;
}

static uint64_t fold(uint64_t way, int64_t value)
{
    way ^= (uint64_t)value + 0x9e3779b97f4a7c15u + (way << 6) + (way >> 2);
    return way * 0xff51afd7ed558ccdu;
}

static size_t class_bytes(const char *function)
{
    static const char forward[] = ".forward";
    size_t bytes = strlen(function), tail = sizeof forward - 1;
    return bytes > tail && strcmp(function + bytes - tail, forward) == 0 ? bytes - tail : 0;
}

/* Its loop over modules is its own: a row that repeats may be several of them, or parts of one,
 * which can be checkpointed alike (checkpoint_sequential). */
static bool is_sequential(const char *function)
{
    return strcmp(function, "Sequential.forward") == 0;
}

/* What torch.compile puts in the place of modules has a forward, and is no module. */
static bool is_compilers(const struct frame *frame)
{
    static const char *const folders[] = {"torch/_functorch/", "torch/_inductor/",
                                          "torch/_dynamo/"};
    bool is = false;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        is = is || strstr(frame->path, folders[i]);
    return is;
}

static int find_unit(struct reading *reading, const struct frame *frame, size_t depth, size_t *out)
{
    struct levers_units *units = reading->units;
    const char *text = frame->name;
    size_t bytes = is_compilers(frame) ? 0 : class_bytes(text);
    *out = SIZE_MAX;
    for (size_t i = 0; i < units->count && bytes; i++)
        if (units->units[i].function == frame->function && units->units[i].file == frame->file)
            *out = i;
    if (!bytes || *out != SIZE_MAX || units->count == UNITS_MOST)
        return 0;
    if (!MEM_GROW(units->units, units->cap, units->count + 1))
        return ERR_NOMEM;
    struct levers_unit *unit = &units->units[units->count];
    *unit = (struct levers_unit){.function = frame->function,
                                 .file = frame->file,
                                 .depth = (int)depth,
                                 .of_library = strstr(frame->path, "/transformers/") != NULL,
                                 .plain = strstr(frame->path, "/torch/nn/modules/") != NULL &&
                                          strstr(text, "Layer.") == NULL && !is_sequential(text),
                                 .sequential = is_sequential(text),
                                 .name = mem_copy(text, bytes)};
    if (!unit->name)
        return ERR_NOMEM;
    *out = units->count++;
    return 0;
}

/* The class of transformers whose calls its own switch checkpoints. */
static bool is_checkpointing(const char *function)
{
    return strncmp(function, "GradientCheckpointingLayer.", 27) == 0;
}

static bool is_checkpoint(const char *path)
{
    static const char file[] = "/torch/utils/checkpoint.py";
    size_t bytes = strlen(path), tail = sizeof file - 1;
    return bytes >= tail && strcmp(path + bytes - tail, file) == 0;
}

static bool is_known(const struct ways *ways, size_t unit)
{
    for (size_t i = 0; i < ways->count; i++)
        if (ways->places[i].unit == unit)
            return true;
    return false;
}

struct reader { /* of the frames of one site, from the outermost on */
    struct reading *reading;
    struct ways *ways;
    struct frame caller; /* the last of the program's own; line 0: there is none yet */
    uint64_t way;
    bool by_library;
};

bool levers_is_programs(const struct frame *frame)
{
    static const char *const others[] = {"/site-packages/", "/dist-packages/", "/lib/python3",
                                         "/torch/nn/"};
    bool is = frame->line > 0 && frame->path[0];
    for (size_t i = 0; i < sizeof others / sizeof *others && is; i++)
        is = !strstr(frame->path, others[i]);
    return is;
}

static int take_frame(void *self, const struct frame *frame)
{
    struct reader *reader = self;
    struct levers_units *units = reader->reading->units;
    struct ways *ways = reader->ways;
    size_t unit;
    int err = find_unit(reader->reading, frame, ways->count, &unit);
    if (err < 0)
        return err;
    reader->by_library = reader->by_library || is_checkpointing(frame->name);
    ways->again = ways->again || is_checkpoint(frame->path);
    if (unit != SIZE_MAX) {
        units->units[unit].by_library |= reader->by_library;
        reader->by_library = false;
        if (reader->caller.line && !ways->again && !reader->reading->silent)
            levers_callers_add(&reader->reading->callers[unit], &reader->caller);
    }
    if (unit != SIZE_MAX && ways->count < DEPTH_MOST && !is_known(ways, unit))
        ways->places[ways->count++] = (struct place){unit, reader->way, frame->line};
    if (levers_is_programs(frame))
        reader->caller = *frame;
    reader->way = fold(fold(fold(reader->way, frame->function), frame->file), frame->line);
    return 0;
}

static int read_ways(struct reading *reading, int64_t site, struct ways *ways)
{
    struct reader reader = {.reading = reading, .ways = ways};
    *ways = (struct ways){0};
    return frames_read(reading->db, &reading->frames, site, take_frame, &reader);
}

/* NULL with *err: an error. */
static const struct ways *ways_of(struct reading *reading, int64_t site, int *err)
{
    uint64_t at = map_get(&reading->sites, (uint64_t)site);
    *err = 0;
    if (at != MAP_NONE)
        return &reading->ways[at];
    if (!MEM_GROW(reading->ways, reading->cap, reading->count + 1)) {
        *err = ERR_NOMEM;
        return NULL;
    }
    if ((*err = read_ways(reading, site, &reading->ways[reading->count])) < 0)
        return NULL;
    if (!map_put(&reading->sites, (uint64_t)site, reading->count, NULL)) {
        *err = ERR_NOMEM;
        return NULL;
    }
    return &reading->ways[reading->count++];
}

static const struct place *place_in(const struct ways *ways, size_t unit)
{
    for (size_t i = 0; i < ways->count; i++)
        if (ways->places[i].unit == unit)
            return &ways->places[i];
    return NULL;
}

/* ---- calls ---- */

/* What of it is computed again in backward already is no call: nor is what is around that; nor one
 * of which all is idle, though one around it is. */
static bool add_call(const struct reading *reading, struct levers_unit *unit,
                     const struct levers_row *row, size_t first, size_t last)
{
    const struct levers_step *step = reading->step;
    bool again = false, idle = true;
    for (size_t i = first; i <= last && !again; i++) {
        again = reading->blocks_again[row->blocks[i]];
        idle = idle && is_idle(reading, row->blocks[i]);
    }
    unit->again += again;
    if (again || idle)
        return true;
    if (!MEM_GROW(unit->calls, unit->cap, unit->count + 1))
        return false;
    unit->calls[unit->count++] =
        (struct levers_call){row->blocks[first], row->blocks[last], row->forward, row->instance};
    for (size_t i = first; i <= last; i++)
        if (step->blocks[row->blocks[i]].purpose == PURPOSE_ACTIVATION)
            unit->bytes += step->blocks[row->blocks[i]].size;
    return true;
}

static int close_row(const struct reading *reading, struct levers_unit *unit,
                     struct levers_row *row)
{
    const bool one = (row->one_line && !unit->sequential) || unit->depth == 0;
    bool *begins = row->count ? mem_alloc(row->count, sizeof *begins) : NULL;
    size_t first = 0;
    if (!row->count)
        return 0;
    int err = begins ? levers_row_calls(reading->step, row, one, begins) : ERR_NOMEM;
    for (size_t i = 1; i <= row->count && err == 0; i++) {
        if (i < row->count && !begins[i])
            continue;
        err = add_call(reading, unit, row, first, i - 1) ? 0 : ERR_NOMEM;
        first = i;
    }
    mem_free(begins);
    row->count = 0;
    return err;
}

/* Of the unit, around the module that ran. */
static size_t instance_of(struct reading *reading, const struct levers_unit *unit,
                          const struct levers_block *block)
{
    if (!reading->places.count || block->module == GROUP_NONE)
        return SIZE_MAX;
    uint64_t known = map_get(&reading->instances, (uint64_t)block->module);
    if (known == MAP_NONE) {
        size_t found = levers_place_around(&reading->places, block->module, unit->name);
        known = found == SIZE_MAX ? reading->places.count : found;
        /* without memory it is looked for again */
        map_put(&reading->instances, (uint64_t)block->module, known, NULL);
    }
    return known == reading->places.count ? SIZE_MAX : (size_t)known;
}

static int put_block(struct reading *reading, size_t unit, size_t block,
                     const struct levers_phase *forward, const struct place *place,
                     struct levers_row *row)
{
    struct levers_unit *one = &reading->units->units[unit];
    size_t instance = instance_of(reading, one, &reading->step->blocks[block]);
    int err = 0;
    if (row->count &&
        (!place || row->forward != forward || row->way != place->way || row->instance != instance))
        err = close_row(reading, one, row);
    if (err < 0 || !place)
        return err;
    if (!MEM_GROW(row->blocks, row->cap, row->count + 1))
        return ERR_NOMEM;
    if (!row->count) {
        row->forward = forward;
        row->way = place->way;
        row->instance = instance;
        row->line = place->line;
        row->one_line = true;
    }
    row->one_line = row->one_line && row->line == place->line;
    row->blocks[row->count++] = block;
    return 0;
}

/* A module may make nothing in forward, as a ReLU in place, and its node something in backward. */
static void place_gradients(struct reading *reading, size_t unit)
{
    for (size_t i = 0; i < reading->gradient_count; i++)
        instance_of(reading, &reading->units->units[unit], reading->gradients[i]);
}

static int find_calls(struct reading *reading, size_t unit)
{
    const struct levers_step *step = reading->step;
    struct levers_row row = {0};
    int err = 0;
    for (size_t i = step->older; i < step->count && err >= 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        const struct levers_phase *forward =
            levers_phase_around(&step->phases, LEVERS_FORWARD, block->seq);
        if (!forward || block->site == GROUP_NONE)
            continue;
        const struct ways *ways = ways_of(reading, block->site, &err);
        if (ways && ways->count) /* what another thread makes meanwhile is in no module */
            err = put_block(reading, unit, i, forward, place_in(ways, unit), &row);
    }
    if (err >= 0)
        err = close_row(reading, &reading->units->units[unit], &row);
    if (err >= 0)
        err = levers_unit_name(&reading->places, &reading->units->units[unit]);
    place_gradients(reading, unit);
    reading->units->units[unit].inside = reading->instances;
    reading->instances = (struct map){0};
    mem_free(row.blocks);
    return err;
}

static int read_gradients(struct reading *reading)
{
    const struct levers_step *step = reading->step;
    struct map seen = {0};
    int err = 0;
    for (size_t i = step->older; i < step->count && reading->places.count && err == 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->module == GROUP_NONE || map_get(&seen, (uint64_t)block->module) != MAP_NONE ||
            !levers_phase_around(&step->phases, LEVERS_BACKWARD, block->seq))
            continue;
        if (!map_put(&seen, (uint64_t)block->module, 1, NULL) ||
            !MEM_GROW(reading->gradients, reading->gradient_cap, reading->gradient_count + 1))
            err = ERR_NOMEM;
        else
            reading->gradients[reading->gradient_count++] = block;
    }
    map_clear(&seen);
    return err;
}

static int read_site(struct reading *reading, size_t at)
{
    const struct levers_step *step = reading->step;
    const struct levers_block *block = &step->blocks[at];
    int err = 0;
    if (block->site == GROUP_NONE ||
        !levers_phase_around(&step->phases, LEVERS_FORWARD, block->seq))
        return 0;
    const struct ways *ways = ways_of(reading, block->site, &err);
    bool again =
        (ways && ways->again) || (block->module != GROUP_NONE &&
                                  map_get(&reading->again, (uint64_t)block->module) != MAP_NONE);
    reading->blocks_again[at] = again;
    reading->units->again = reading->units->again || again;
    return err;
}

/* A site is read once: by what is not idle, if both have it. */
static int read_sites(struct reading *reading)
{
    const struct levers_step *step = reading->step;
    reading->blocks_again = mem_alloc(step->count + 1, sizeof *reading->blocks_again);
    int err = reading->blocks_again ? levers_recomputed(step, &reading->again) : ERR_NOMEM;
    for (int idle = 0; idle < 2; idle++) {
        reading->silent = idle != 0;
        for (size_t i = step->older; i < step->count && err >= 0; i++)
            if (is_idle(reading, i) == reading->silent)
                err = read_site(reading, i);
    }
    return err;
}

/* ---- units ---- */

static void clear_unit(struct levers_unit *unit)
{
    mem_free(unit->name);
    mem_free(unit->instances);
    mem_free(unit->called);
    mem_free(unit->calls);
    map_clear(&unit->inside);
}

/* All that it keeps is kept by one inside of it. */
static bool passes_on(const struct levers_unit *unit, const struct levers_unit *inner)
{
    return inner->depth > unit->depth && inner->bytes == unit->bytes;
}

/* What only passes its calls on is no unit. */
static void drop_wrappers(struct levers_units *units)
{
    for (size_t i = 0; i < units->count;) {
        bool wraps = units->units[i].bytes == 0;
        for (size_t j = 0; j < units->count && !wraps; j++)
            wraps = passes_on(&units->units[i], &units->units[j]);
        if (wraps) {
            clear_unit(&units->units[i]);
            units->units[i] = units->units[--units->count];
        } else {
            i++;
        }
    }
}

/* A recording may have many more call sites than names of functions. */
static const char any_sql[] =
    "SELECT EXISTS(SELECT 1 FROM string WHERE text LIKE '%.forward') AS named";

int levers_units_read(struct db *db, const struct levers_step *step, const struct map *idle,
                      struct levers_units *out)
{
    struct reading reading = {.db = db, .step = step, .idle = idle, .units = out};
    bool named = false;
    int err = query_read(db, any_sql, Q_NOTHING, Q_OUT(Q_INT(named)));
    if (err < 0 || !named)
        return err < 0 ? err : 0;
    err = levers_places_read(db, &reading.places);
    if (err >= 0)
        err = read_sites(&reading);
    if (err >= 0)
        err = read_gradients(&reading);
    for (size_t i = 0; i < out->count && err >= 0; i++)
        err = find_calls(&reading, i);
    for (size_t i = 0; i < out->count && err >= 0; i++)
        err = levers_callers_text(&reading.callers[i], &out->units[i].called);
    map_clear(&reading.sites);
    map_clear(&reading.again);
    map_clear(&reading.instances);
    mem_free(reading.blocks_again);
    mem_free(reading.gradients);
    levers_places_clear(&reading.places);
    frames_clear(&reading.frames);
    mem_free(reading.ways);
    if (err >= 0)
        drop_wrappers(out);
    ENSURE_WHOLE(err < 0 || levers_units_is_valid(step, out));
    return err < 0 ? err : 0;
}

void levers_units_clear(struct levers_units *units)
{
    for (size_t i = 0; i < units->count; i++)
        clear_unit(&units->units[i]);
    mem_free(units->units);
    *units = (struct levers_units){0};
}

bool levers_units_is_valid(const struct levers_step *step, const struct levers_units *units)
{
    for (size_t i = 0; i < units->count; i++) {
        const struct levers_unit *unit = &units->units[i];
        for (size_t j = 0; j < unit->count; j++) {
            const struct levers_call *call = &unit->calls[j];
            if (call->first > call->last || call->last >= step->count ||
                (j && call->first <= unit->calls[j - 1].last) ||
                step->blocks[call->first].seq < call->forward->begin ||
                step->blocks[call->last].seq > call->forward->end)
                return false;
        }
        for (size_t j = 0; j < units->count; j++)
            if (passes_on(unit, &units->units[j]))
                return false;
    }
    return true;
}
