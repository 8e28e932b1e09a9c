#include "pprof.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "buf.h"
#include "error.h"
#include "format.h"
#include "map.h"
#include "mem.h"
#include "protobuf.h"

#define MOST_BYTES ((size_t)1 << 30)   /* of a profile, unpacked */
#define MOST_BLOCKS ((uint64_t)200000) /* what goes beyond is not told one by one */
#define MOST_SIZE (UINT64_C(1) << 46)
#define MOST_PLACE (UINT64_C(1) << 60)
#define MOST_LOCATIONS 256u      /* of a sample, from the innermost on */
#define LOCATION_BYTES 512u      /* a longer one is not read */
#define MOST_VALUES 16u          /* types of samples */
#define BLOCK_STEP UINT64_C(256) /* between the made places of blocks */

/* Numbers of fields. */
enum { P_SAMPLE_TYPE = 1, P_SAMPLE = 2, P_LOCATION = 4, P_FUNCTION = 5, P_STRING = 6, P_TIME = 9 };
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_TEXT = 2 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_FILE = 4 };

struct text {
    const char *bytes;
    size_t count;
};

struct message {
    const unsigned char *bytes;
    size_t count;
};

struct pprof {
    struct block_log *log;
    struct pprof_facts *facts;
    struct import_result *result;
    struct buf bytes;
    struct text *texts;
    size_t text_count, text_cap;
    struct message *messages; /* functions and locations */
    size_t message_count, message_cap;
    struct map functions, locations; /* id -> index of a message */
    struct {
        uint64_t type, unit; /* texts */
    } types[MOST_VALUES];
    size_t type_count;
    size_t bytes_at, count_at; /* which value of a sample; count_at = type_count: it has none */
    uint64_t place;            /* of the next block */
};

struct sample {
    uint64_t locations[MOST_LOCATIONS];
    size_t location_count;
    uint64_t values[MOST_VALUES];
    size_t value_count;
    struct text device;
};

/* ---- messages ---- */

static int damaged(struct pprof *pprof)
{
    return import_say(pprof->result, ERR_CORRUPT, "it is a damaged or cut off profile (pprof)");
}

static struct text text_at(const struct pprof *pprof, uint64_t index)
{
    return index < pprof->text_count ? pprof->texts[index] : (struct text){"", 0};
}

static bool text_is(struct text text, const char *word)
{
    return text.count == strlen(word) && memcmp(text.bytes, word, text.count) == 0;
}

/* The first field of that number, as a number; 0. */
static uint64_t number_in(const struct message *message, uint32_t number)
{
    struct protobuf in = protobuf_of(message->bytes, message->count);
    struct protobuf_field field;
    while (protobuf_next(&in, &field))
        if (field.number == number && !field.is_bytes)
            return field.value;
    return 0;
}

static int keep_text(struct pprof *pprof, const struct protobuf_field *field)
{
    if (!BUDGET_GROW(&pprof->log->budget, pprof->texts, pprof->text_cap, pprof->text_count + 1))
        return pprof->log->budget.refused ? ERR_LIMIT : ERR_NOMEM;
    const char *bytes = (const char *)field->bytes;
    pprof->texts[pprof->text_count++] = (struct text){bytes, strnlen(bytes, field->count)};
    return BASE_OK;
}

static int keep_message(struct pprof *pprof, const struct protobuf_field *field, struct map *by_id,
                        uint32_t id_field)
{
    struct message message = {field->bytes, field->count};
    if (!BUDGET_GROW(&pprof->log->budget, pprof->messages, pprof->message_cap,
                     pprof->message_count + 1))
        return pprof->log->budget.refused ? ERR_LIMIT : ERR_NOMEM;
    pprof->messages[pprof->message_count] = message;
    return map_put(by_id, number_in(&message, id_field), pprof->message_count++, NULL) ? BASE_OK
                                                                                       : ERR_NOMEM;
}

static void keep_type(struct pprof *pprof, const struct protobuf_field *field)
{
    struct message message = {field->bytes, field->count};
    if (pprof->type_count == MOST_VALUES)
        return;
    pprof->types[pprof->type_count].type = number_in(&message, TYPE_TYPE);
    pprof->types[pprof->type_count].unit = number_in(&message, TYPE_UNIT);
    pprof->type_count++;
}

/* All but the samples, which name the rest. */
static int read_tables(struct pprof *pprof)
{
    struct protobuf in =
        protobuf_of((const unsigned char *)buf_string(&pprof->bytes), pprof->bytes.count);
    struct protobuf_field field;
    int err = BASE_OK;
    while (err == BASE_OK && protobuf_next(&in, &field)) {
        if (field.number == P_TIME && !field.is_bytes && field.value < INT64_MAX / 4)
            pprof->facts->taken_ns = (int64_t)field.value;
        if (!field.is_bytes)
            continue;
        if (field.number == P_STRING)
            err = keep_text(pprof, &field);
        else if (field.number == P_FUNCTION)
            err = keep_message(pprof, &field, &pprof->functions, FUNCTION_ID);
        else if (field.number == P_LOCATION)
            err = keep_message(pprof, &field, &pprof->locations, LOCATION_ID);
        else if (field.number == P_SAMPLE_TYPE)
            keep_type(pprof, &field);
    }
    return err == BASE_OK && in.wrong ? damaged(pprof) : err;
}

/* ---- which values ---- */

static size_t type_named(const struct pprof *pprof, const char *type, const char *unit)
{
    for (size_t i = 0; i < pprof->type_count; i++)
        if (text_is(text_at(pprof, pprof->types[i].type), type) &&
            text_is(text_at(pprof, pprof->types[i].unit), unit))
            return i;
    return pprof->type_count;
}

/* As heap profiles have them that were not made by JAX, and as JAX's have them. */
static int choose_values(struct pprof *pprof)
{
    pprof->bytes_at = type_named(pprof, "inuse_space", "bytes");
    pprof->count_at = type_named(pprof, "inuse_objects", "count");
    if (pprof->bytes_at == pprof->type_count) {
        pprof->bytes_at = type_named(pprof, "space", "bytes");
        pprof->count_at = type_named(pprof, "allocations", "count");
    }
    if (pprof->bytes_at < pprof->type_count)
        return BASE_OK;
    return import_say(pprof->result, ERR_NOTOURS,
                      "it is a profile (pprof), but not of live memory: none of its values is "
                      "'space' or 'inuse_space' in bytes");
}

/* ---- call stacks ---- */

static int name_of(struct pprof *pprof, uint64_t text, uint32_t *name)
{
    struct text found = text_at(pprof, text);
    *name = 0;
    return found.count ? block_log_name(pprof->log, found.bytes, found.count, name) : BASE_OK;
}

static int frame_of(struct pprof *pprof, const struct message *line, uint32_t *number)
{
    uint64_t at = map_get(&pprof->functions, number_in(line, LINE_FUNCTION));
    uint64_t row = number_in(line, LINE_NUMBER);
    struct block_log_frame frame = {.line = row <= INT32_MAX ? (uint32_t)row : 0};
    *number = 0;
    if (at == MAP_NONE)
        return BASE_OK;
    int err = name_of(pprof, number_in(&pprof->messages[at], FUNCTION_NAME), &frame.function);
    if (err == BASE_OK)
        err = name_of(pprof, number_in(&pprof->messages[at], FUNCTION_FILE), &frame.file);
    return err ? err : block_log_frame(pprof->log, frame, number);
}

/* Of functions that were inlined the innermost is first. */
static int add_location(struct pprof *pprof, uint64_t id, uint32_t *frames, size_t *depth)
{
    uint64_t at = map_get(&pprof->locations, id);
    if (at == MAP_NONE || pprof->messages[at].count > LOCATION_BYTES)
        return BASE_OK;
    struct protobuf in = protobuf_of(pprof->messages[at].bytes, pprof->messages[at].count);
    struct protobuf_field field;
    while (*depth < BLOCK_LOG_DEPTH && protobuf_next(&in, &field)) {
        struct message line = {field.bytes, field.count};
        uint32_t frame;
        if (field.number != LOCATION_LINE || !field.is_bytes)
            continue;
        int err = frame_of(pprof, &line, &frame);
        if (err)
            return err;
        if (frame)
            frames[(*depth)++] = frame;
    }
    return BASE_OK;
}

static int stack_of(struct pprof *pprof, const struct sample *sample, uint32_t *stack)
{
    uint32_t frames[BLOCK_LOG_DEPTH];
    size_t depth = 0;
    for (size_t i = 0; i < sample->location_count && depth < BLOCK_LOG_DEPTH; i++) {
        int err = add_location(pprof, sample->locations[i], frames, &depth);
        if (err)
            return err;
    }
    return block_log_stack(pprof->log, frames, depth, stack);
}

/* ---- devices ---- */

static bool has_word(struct text text, const char *word)
{
    size_t count = strlen(word);
    for (size_t i = 0; i + count <= text.count; i++)
        if (strncasecmp(text.bytes + i, word, count) == 0)
            return true;
    return false;
}

/* The first number in it, "cuda:1" or "CudaDevice(id=1)"; -1. */
static int32_t number_of(struct text text)
{
    size_t at = 0;
    int32_t number = 0;
    while (at < text.count && (text.bytes[at] < '0' || text.bytes[at] > '9'))
        at++;
    if (at == text.count)
        return -1;
    for (; at < text.count && text.bytes[at] >= '0' && text.bytes[at] <= '9'; at++) {
        number = number * 10 + (text.bytes[at] - '0');
        if (number >= (int32_t)IMPORT_MAX_DEVICES)
            return -1;
    }
    return number;
}

static int place_of(struct pprof *pprof, struct text device, uint32_t *place)
{
    enum arena_device kind = has_word(device, "cuda") || has_word(device, "gpu") ? DEVICE_CUDA
                             : has_word(device, "cpu")                           ? DEVICE_CPU
                                                                                 : DEVICE_OTHER;
    return block_log_place(pprof->log, kind, number_of(device), 0, place);
}

/* ---- samples ---- */

/* A repeated number stands in packed form, or once for each. */
static void add_numbers(struct protobuf *wrong, const struct protobuf_field *field, uint64_t *out,
                        size_t *count, size_t most)
{
    struct protobuf in = protobuf_of(field->bytes, field->is_bytes ? field->count : 0);
    uint64_t value = field->value;
    bool more = field->is_bytes ? protobuf_number(&in, &value) : true;
    for (; more && *count < most; more = field->is_bytes && protobuf_number(&in, &value))
        out[(*count)++] = value;
    wrong->wrong = wrong->wrong || in.wrong;
}

static void add_label(struct pprof *pprof, const struct protobuf_field *field,
                      struct sample *sample)
{
    struct message label = {field->bytes, field->count};
    struct text key = text_at(pprof, number_in(&label, LABEL_KEY));
    struct text value = text_at(pprof, number_in(&label, LABEL_TEXT));
    if (text_is(key, "device"))
        sample->device = value;
    else if (text_is(key, "kind") && text_is(value, "buffer"))
        pprof->facts->jax = true;
}

static bool read_sample(struct pprof *pprof, const struct protobuf_field *from,
                        struct sample *sample)
{
    struct protobuf in = protobuf_of(from->bytes, from->count);
    struct protobuf_field field;
    sample->location_count = sample->value_count = 0;
    sample->device = (struct text){"", 0};
    while (protobuf_next(&in, &field)) {
        if (field.number == SAMPLE_LOCATION)
            add_numbers(&in, &field, sample->locations, &sample->location_count, MOST_LOCATIONS);
        else if (field.number == SAMPLE_VALUE)
            add_numbers(&in, &field, sample->values, &sample->value_count, MOST_VALUES);
        else if (field.number == SAMPLE_LABEL && field.is_bytes)
            add_label(pprof, &field, sample);
    }
    return !in.wrong;
}

static int add_blocks(struct pprof *pprof, uint64_t count, uint64_t size, uint32_t place,
                      uint32_t stack)
{
    int err = BASE_OK;
    for (uint64_t i = 0; err == BASE_OK && i < count; i++) {
        struct block_log_entry entry = {.kind = LOG_ALLOC,
                                        .addr = pprof->place,
                                        .size = size,
                                        .allocated = BLOCK_LOG_UNKNOWN,
                                        .reserved = BLOCK_LOG_UNKNOWN,
                                        .name = stack,
                                        .place = place};
        pprof->place += (size / BLOCK_STEP + 1) * BLOCK_STEP;
        err = block_log_add(pprof->log, &entry);
    }
    return err;
}

static int take_sample(struct pprof *pprof, const struct sample *sample)
{
    uint64_t bytes =
        pprof->bytes_at < sample->value_count ? sample->values[pprof->bytes_at] : MOST_PLACE;
    uint64_t count = pprof->count_at < sample->value_count ? sample->values[pprof->count_at] : 1;
    uint32_t place, stack;
    if (!bytes)
        return BASE_OK;
    if (bytes + count == 0 && count <= MOST_BLOCKS) { /* JAX, of executables on a TPU: -1 each */
        pprof->result->left_out.count += count;
        return BASE_OK;
    }
    if (bytes >= MOST_PLACE || pprof->place > MOST_PLACE) {
        pprof->result->odd_values++;
        return BASE_OK;
    }
    bool apart = count && count <= MOST_BLOCKS && bytes % count == 0 &&
                 pprof->log->count + count <= MOST_BLOCKS;
    pprof->result->groups += !apart;
    count = apart ? count : 1;
    if (bytes / count > MOST_SIZE) {
        pprof->result->odd_values++;
        return BASE_OK;
    }
    int err = place_of(pprof, sample->device, &place);
    if (err == BASE_OK)
        err = stack_of(pprof, sample, &stack);
    return err ? err : add_blocks(pprof, count, bytes / count, place, stack);
}

static int read_samples(struct pprof *pprof)
{
    struct protobuf in =
        protobuf_of((const unsigned char *)buf_string(&pprof->bytes), pprof->bytes.count);
    struct protobuf_field field;
    struct sample sample;
    int err = BASE_OK;
    while (err == BASE_OK && protobuf_next(&in, &field)) {
        if (field.number != P_SAMPLE || !field.is_bytes)
            continue;
        err = read_sample(pprof, &field, &sample) ? take_sample(pprof, &sample) : damaged(pprof);
    }
    return err;
}

/* ---- the whole ---- */

static int read_bytes(struct pprof *pprof, struct pickle_input *input)
{
    size_t count;
    const unsigned char *bytes;
    while ((bytes = input_look(input, PICKLE_INPUT_BYTES, &count)) && count) {
        if (pprof->bytes.count + count > MOST_BYTES)
            return import_say(pprof->result, ERR_LIMIT, "it is a profile of more than 1 GiB");
        buf_add(&pprof->bytes, (const char *)bytes, count);
        if (pprof->bytes.broken)
            return ERR_NOMEM;
        input_skip(input, count);
    }
    if (input->error)
        return import_say(pprof->result, input_failure(input), input_trouble(input));
    return BASE_OK;
}

static int read_all(struct pprof *pprof, struct pickle_input *input)
{
    int err = read_bytes(pprof, input);
    block_log_allow(pprof->log, pprof->bytes.count);
    if (err == BASE_OK)
        err = read_tables(pprof);
    if (err == BASE_OK)
        err = choose_values(pprof);
    return err ? err : read_samples(pprof);
}

int pprof_read(struct pickle_input *input, struct block_log *log, struct pprof_facts *facts,
               struct import_result *result)
{
    struct pprof pprof = {.log = log, .facts = facts, .result = result, .place = BLOCK_STEP};
    result->left_out = (struct import_left_out){0, "executable was", "executables were",
                                                "left out: the profile does not know how large"};
    *facts = (struct pprof_facts){0};
    int err = read_all(&pprof, input);
    budget_free(&log->budget, pprof.texts, pprof.text_cap, sizeof *pprof.texts);
    budget_free(&log->budget, pprof.messages, pprof.message_cap, sizeof *pprof.messages);
    buf_clear(&pprof.bytes);
    map_clear(&pprof.functions);
    map_clear(&pprof.locations);
    result->bytes_read = input_offset(input);
    result->records_bytes = log->budget.most;
    if (err && !*result->message)
        import_say(result, err,
                   err == ERR_LIMIT ? "it has too many devices, or takes too much memory"
                                    : base_err_text(err));
    return err;
}

static int read_pprof(struct pickle_input *input, const struct import_options *options,
                      struct import_result *result)
{
    struct block_log log = {0};
    struct pprof_facts facts;
    int err = pprof_read(input, &log, &facts, result);
    struct block_log_feed feed = {.log = &log,
                                  .live = "memory profile",
                                  .allocator = facts.jax ? "jax" : "the profiled program",
                                  .source = options->source,
                                  .all_frames = true,
                                  .result = result};
    if (err == BASE_OK)
        err = block_log_write(&feed, 1, options->output, facts.taken_ns / 1000,
                              "the profile was taken");
    block_log_clear(&log);
    return err;
}

/* It begins with the type of its first value: a short message of one or two numbers. No other
 * format begins with a new line and one of these bytes. */
static bool is_pprof(const unsigned char *first, size_t count)
{
    return count >= 4 && first[0] == 0x0a && first[1] >= 2 && first[1] <= 22 &&
           (first[2] == TYPE_TYPE << 3 || first[2] == TYPE_UNIT << 3);
}

const struct import_format format_pprof = {
    "a profile of live memory",
    "times, frees, addresses, steps or segments: it is one moment",
    is_pprof,
    read_pprof,
    NULL,
    NULL};
