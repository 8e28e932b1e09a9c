#include "build.h"

#include <string.h>

#include "error.h"
#include "mem.h"

#define STRING_KEEP ((size_t)32 << 10)

/* ---- values ---- */

value value_of_int(int64_t number)
{
    if (number >= INT64_C(1) << 59 || number < -(INT64_C(1) << 59))
        return value_make(VALUE_HUGE, number < 0);
    return (uint64_t)number << 4 | VALUE_INT;
}

value value_of_real(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return value_make(VALUE_REAL, bits >> 4);
}

double value_real(value v)
{
    double number = 0;
    uint64_t bits = value_payload(v) << 4;
    if (value_kind(v) == VALUE_INT)
        return (double)value_int(v);
    if (value_kind(v) == VALUE_REAL)
        memcpy(&number, &bits, sizeof number);
    return number;
}

/* ---- begin and end ---- */

int build_start(struct build *build, struct snapshot *snapshot)
{
    static const char *const words[] = {
#define KEY(name, text) text,
#include "keys.def"
#undef KEY
    };
    *build = (struct build){.snapshot = snapshot};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!snapshot_intern(snapshot, &snapshot->strings, words[i], strlen(words[i]) + 1))
            return ERR_NOMEM;
    alloc_config_default(&snapshot->settings.config);
    return BASE_OK;
}

static void free_content(struct build *build, struct object *object)
{
    struct budget *budget = &build->snapshot->budget;
    if (object->kind == OBJECT_LIST)
        budget_free(budget, object->as.items, object->cap, sizeof *object->as.items);
    else if (object->kind == OBJECT_DICT)
        budget_free(budget, object->as.pairs, object->cap, sizeof *object->as.pairs);
    object->count = object->cap = 0;
}

void build_clear(struct build *build)
{
    struct budget *budget = &build->snapshot->budget;
    for (size_t i = 0; i < build->object_count; i++)
        free_content(build, &build->objects[i]);
    budget_free(budget, build->objects, build->object_cap, sizeof *build->objects);
    budget_free(budget, build->memo, build->memo_cap, sizeof *build->memo);
    budget_free(budget, build->scratch, build->scratch_cap, sizeof *build->scratch);
    *build = (struct build){.snapshot = build->snapshot};
}

static bool object_is_valid(const struct build *build, size_t at)
{
    const struct object *object = &build->objects[at];
    if (object->count > object->cap || object->memo > build->memo_count)
        return false;
    bool open = object->kind == OBJECT_LIST || object->kind == OBJECT_DICT;
    return !open || object->shared || !object->memo ||
           build->memo[object->memo - 1] == value_make(VALUE_OBJECT, at);
}

bool build_is_valid(const struct build *build)
{
    size_t spare = 0, listed = 0;
    for (size_t i = 0; i < build->object_count; i++) {
        if (!object_is_valid(build, i))
            return false;
        spare += build->objects[i].kind == OBJECT_FREE;
    }
    for (uint64_t at = build->free; at && listed <= spare; listed++) {
        if (at > build->object_count || build->objects[at - 1].kind != OBJECT_FREE)
            return false;
        at = build->objects[at - 1].as.next_free;
    }
    return listed == spare;
}

/* ---- objects ---- */

static int new_object(struct build *build, enum object_kind kind, value *out)
{
    uint64_t at = build->free;
    if (at) {
        at--;
        build->free = build->objects[at].as.next_free;
    } else {
        if (!BUDGET_GROW(&build->snapshot->budget, build->objects, build->object_cap,
                         build->object_count + 1))
            return ERR_NOMEM;
        at = build->object_count++;
    }
    build->objects[at] = (struct object){.kind = (uint8_t)kind};
    *out = value_make(VALUE_OBJECT, at);
    return BASE_OK;
}

struct object *build_object(struct build *build, value v)
{
    if (value_kind(v) != VALUE_OBJECT)
        return NULL;
    struct object *object = &build->objects[value_payload(v)];
    return object->kind == OBJECT_LIST || object->kind == OBJECT_DICT ? object : NULL;
}

value build_resolve(const struct build *build, value v)
{
    if (value_kind(v) != VALUE_OBJECT)
        return v;
    const struct object *object = &build->objects[value_payload(v)];
    return object->kind == OBJECT_DONE ? object->as.became : v;
}

void build_done(struct build *build, value v, value becomes)
{
    uint64_t at = value_payload(v);
    struct object *object = &build->objects[at];
    free_content(build, object);
    if (object->memo)
        build->memo[object->memo - 1] = becomes;
    if (object->shared) {
        object->kind = OBJECT_DONE;
        object->as.became = becomes;
        return;
    }
    *object = (struct object){.kind = OBJECT_FREE, .as.next_free = build->free};
    build->free = at + 1;
}

int build_list(struct build *build, value *out)
{
    return new_object(build, OBJECT_LIST, out);
}

int build_dict(struct build *build, value *out)
{
    return new_object(build, OBJECT_DICT, out);
}

int build_string(struct build *build, const void *bytes, size_t count, value *out)
{
    struct snapshot *snapshot = build->snapshot;
    char text[512];
    if (count >= STRING_KEEP) {
        snapshot->cut_strings++;
        count = STRING_KEEP - 1;
    }
    char *copy = count < sizeof text ? text : mem_copy(bytes, count);
    if (!copy)
        return ERR_NOMEM;
    if (copy == text) {
        memcpy(text, bytes, count);
        text[count] = '\0';
    }
    uint32_t id = snapshot_intern(snapshot, &snapshot->strings, copy, count + 1);
    if (copy != text)
        mem_free(copy);
    *out = value_make(VALUE_STRING, id);
    return id ? BASE_OK : ERR_NOMEM;
}

int build_tuple(struct build *build, const value *values, size_t count, value *out)
{
    struct snapshot *snapshot = build->snapshot;
    *out = value_make(VALUE_OTHER, 0);
    if (count != 2 || value_kind(values[0]) != VALUE_INT || value_kind(values[1]) != VALUE_INT)
        return BASE_OK;
    struct snapshot_pair pair = {(uint64_t)value_int(values[0]), (uint64_t)value_int(values[1])};
    uint32_t id = snapshot_intern(snapshot, &snapshot->pairs, &pair, sizeof pair);
    *out = value_make(VALUE_PAIR, id);
    return id ? BASE_OK : ERR_NOMEM;
}

/* ---- the memo ---- */

void build_named_again(struct build *build, value v)
{
    if (value_kind(v) == VALUE_OBJECT)
        build->objects[value_payload(v)].shared = true;
}

int build_memo_put(struct build *build, uint64_t number, value v)
{
    size_t need = (size_t)number + 1;
    if (number >= UINT32_MAX)
        return ERR_CORRUPT;
    if (need > build->memo_count) {
        if (!BUDGET_GROW(&build->snapshot->budget, build->memo, build->memo_cap, need))
            return ERR_NOMEM;
        memset(build->memo + build->memo_count, 0, (need - build->memo_count) * sizeof(value));
        build->memo_count = need;
    }
    /* What the number named before does not know it any more. */
    struct object *old = build_object(build, build->memo[number]);
    if (old && old->memo == need)
        old->memo = 0, old->shared = true;
    build->memo[number] = v;
    struct object *object = build_object(build, v);
    if (object && object->memo)
        object->shared = true;
    else if (object)
        object->memo = (uint32_t)need;
    return BASE_OK;
}

int build_memo_get(struct build *build, uint64_t number, value *out)
{
    if (number >= build->memo_count)
        return ERR_CORRUPT;
    *out = build_resolve(build, build->memo[number]);
    build_named_again(build, *out);
    return BASE_OK;
}

/* ---- what containers become when they are put into another ---- */

static bool all_frames(const struct object *list)
{
    return list->count > 0 && !list->other_than_frames;
}

static int make_site(struct build *build, const struct object *list, value *out)
{
    struct snapshot *snapshot = build->snapshot;
    size_t depth = list->count < ARENA_MAX_DEPTH ? list->count : ARENA_MAX_DEPTH;
    if (!BUDGET_GROW(&snapshot->budget, build->scratch, build->scratch_cap, depth))
        return ERR_NOMEM;
    for (size_t i = 0; i < depth; i++)
        build->scratch[i] = (uint32_t)value_payload(list->as.items[i].first);
    uint32_t id =
        snapshot_intern(snapshot, &snapshot->sites, build->scratch, depth * sizeof *build->scratch);
    *out = value_make(VALUE_SITE, id);
    return id ? BASE_OK : ERR_NOMEM;
}

/* What has no line has line 2^64 - 1 (PyTorch's -1, of code that a compiler of Python made). */
static uint32_t line_of(struct build *build, value v)
{
    uint64_t line = 0;
    if (value_kind(v) == VALUE_HUGE && !value_payload(v))
        return 0;
    return build_number(build, v, &line) && line < UINT32_MAX ? (uint32_t)line : 0;
}

static int make_frame(struct build *build, const struct object *dict, value *out)
{
    struct snapshot *snapshot = build->snapshot;
    struct snapshot_frame frame = {0};
    for (size_t i = 0; i < dict->count; i++) {
        const struct pair *pair = &dict->as.pairs[i];
        if (pair->key == KEY_NAME && value_kind(pair->value) == VALUE_STRING)
            frame.function = (uint32_t)value_payload(pair->value);
        else if (pair->key == KEY_FILENAME && value_kind(pair->value) == VALUE_STRING)
            frame.file = (uint32_t)value_payload(pair->value);
        else if (pair->key == KEY_LINE)
            frame.line = line_of(build, pair->value);
    }
    uint32_t id = snapshot_intern(snapshot, &snapshot->frames, &frame, sizeof frame);
    *out = value_make(VALUE_FRAME, id);
    return id ? BASE_OK : ERR_NOMEM;
}

static bool is_frame(const struct object *dict)
{
    for (size_t i = 0; i < dict->count; i++)
        if (dict->as.pairs[i].key == KEY_FILENAME || dict->as.pairs[i].key == KEY_LINE)
            return true;
    return false;
}

static int seal_dict(struct build *build, value v, enum key key, value *out)
{
    const struct object *dict = build_object(build, v);
    int err = BASE_OK;
    *out = value_make(VALUE_OTHER, 0);
    if (key == KEY_ALLOCATOR_SETTINGS)
        build_settings(build, dict->as.pairs, dict->count);
    else if (key == KEY_ROUNDUP)
        build_roundup(build, dict);
    else if (is_frame(dict))
        err = make_frame(build, dict, out);
    if (err == BASE_OK)
        build_done(build, v, *out);
    return err;
}

int build_seal(struct build *build, value v, enum key key, value *out)
{
    *out = v = build_resolve(build, v);
    const struct object *object = build_object(build, v);
    if (!object)
        return BASE_OK;
    if (object->kind == OBJECT_DICT)
        return seal_dict(build, v, key, out);
    if (key == KEY_FRAMES || all_frames(object)) {
        *out = value_make(VALUE_SITE, 0);
        int err = all_frames(object) ? make_site(build, object, out) : BASE_OK;
        if (err == BASE_OK)
            build_done(build, v, *out);
        return err;
    }
    /* Lists of records wait, as they are, for the container that knows what to do with them. */
    if (object->other_than_records) {
        *out = value_make(VALUE_OTHER, 0);
        build_done(build, v, *out);
    }
    return BASE_OK;
}

/* ---- filling ---- */

static bool is_record(enum value_kind kind)
{
    return kind == VALUE_ENTRY || kind == VALUE_BLOCK || kind == VALUE_SEGMENT ||
           kind == VALUE_NOTE || kind == VALUE_TOP;
}

static bool follows(const struct item *last, value v)
{
    return is_record(value_kind(v)) && last->n < UINT32_MAX &&
           v == last->first + ((uint64_t)last->n << 4);
}

static void look_at_item(struct object *list, enum value_kind kind)
{
    list->other_than_frames = list->other_than_frames || kind != VALUE_FRAME;
    list->other_than_records =
        list->other_than_records || !(is_record(kind) || kind == VALUE_OBJECT);
}

int build_append(struct build *build, value list, value *values, size_t count)
{
    list = build_resolve(build, list);
    if (!build_object(build, list) || build_object(build, list)->kind != OBJECT_LIST) {
        build->trouble = "something is appended to what is no list, or is used already";
        return ERR_CORRUPT;
    }
    for (size_t i = 0; i < count; i++) {
        value sealed;
        int err = build_seal(build, values[i], KEY_NONE, &sealed);
        if (err)
            return err;
        struct object *object = build_object(build, list);
        if (!object)
            return ERR_CORRUPT; /* it was appended to itself */
        look_at_item(object, value_kind(sealed));
        if (object->count && follows(&object->as.items[object->count - 1], sealed)) {
            object->as.items[object->count - 1].n++;
            continue;
        }
        if (!BUDGET_GROW(&build->snapshot->budget, object->as.items, object->cap,
                         object->count + 1))
            return ERR_NOMEM;
        object->as.items[object->count++] = (struct item){sealed, 1};
    }
    return BASE_OK;
}

/* ---- dictionaries ---- */

static int put_pair(struct build *build, struct object *dict, enum key key, value v)
{
    for (size_t i = 0; i < dict->count; i++)
        if (dict->as.pairs[i].key == (uint32_t)key) {
            dict->as.pairs[i].value = v;
            return BASE_OK;
        }
    if (!BUDGET_GROW(&build->snapshot->budget, dict->as.pairs, dict->cap, dict->count + 1))
        return ERR_NOMEM;
    dict->as.pairs[dict->count++] = (struct pair){(uint32_t)key, v};
    return BASE_OK;
}

/* The dictionary has shown what it is: its pairs become the fields of a record. */
static int become(struct build *build, value *dict, enum value_kind kind)
{
    value record;
    int err = build_new_record(build, kind, &record);
    struct object *object = build_object(build, *dict);
    for (size_t i = 0; err == BASE_OK && i < object->count; i++) {
        struct pair pair = object->as.pairs[i];
        err = build_set_field(build, record, (enum key)pair.key, pair.value);
        object = build_object(build, *dict);
        if (!object)
            return ERR_CORRUPT;
    }
    if (err == BASE_OK) {
        build_done(build, *dict, record);
        *dict = record;
    }
    return err;
}

static enum key key_of(const struct build *build, value v)
{
    if (value_kind(v) == VALUE_STRING && value_payload(v) < KEY_COUNT)
        return (enum key)value_payload(v);
    (void)build;
    return KEY_NONE;
}

/* Divisions are keyed by their sizes: "1" to "32768" MiB. They are kept as pairs whose key is
 * KEY_COUNT + log2. */
static enum key division_of(const struct build *build, value v)
{
    const char *text = value_kind(v) == VALUE_STRING
                           ? snapshot_text(build->snapshot, (uint32_t)value_payload(v))
                           : "";
    unsigned long size = 0;
    if (!*text || strlen(text) > 5)
        return KEY_NONE;
    for (; *text >= '0' && *text <= '9'; text++)
        size = 10 * size + (unsigned long)(*text - '0');
    if (*text || !size || (size & (size - 1)) || size > 32768)
        return KEY_NONE;
    return (enum key)(KEY_COUNT + __builtin_ctzl(size));
}

static int set_one(struct build *build, value dict, value name, value v)
{
    struct object *object = build_object(build, dict);
    enum key key = key_of(build, name);
    if (!key && object)
        key = division_of(build, name);
    if (!key) {
        build->snapshot->unknown_keys++;
        return BASE_OK;
    }
    value sealed;
    int err = build_seal(build, v, key, &sealed);
    if (err)
        return err;
    if (!object)
        return build_set_field(build, dict, key, sealed);
    object = build_object(build, dict);
    return object ? put_pair(build, object, key, sealed) : ERR_CORRUPT;
}

int build_set(struct build *build, value *dict, value *pairs, size_t count)
{
    *dict = build_resolve(build, *dict);
    const struct object *object = build_object(build, *dict);
    if (object ? object->kind != OBJECT_DICT : !is_record(value_kind(*dict))) {
        build->trouble = "a key is set in what is no dictionary, or is used already";
        return ERR_CORRUPT;
    }
    int err = BASE_OK;
    for (size_t i = 0; err == BASE_OK && i < count; i++)
        err = set_one(build, *dict, pairs[2 * i], pairs[2 * i + 1]);
    if (err)
        return err;
    object = build_object(build, *dict);
    if (!object)
        return is_record(value_kind(*dict)) ? BASE_OK : ERR_CORRUPT;
    enum value_kind kind = build_shape(object->as.pairs, object->count);
    return kind == VALUE_OBJECT ? BASE_OK : become(build, dict, kind);
}
