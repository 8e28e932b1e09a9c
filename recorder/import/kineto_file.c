#include "kineto.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "format.h"
#include "json.h"

#define MOST_NS (INT64_MAX / 4)
#define SHORT_BYTES 32

enum fact { ADDR, BYTES, DEVICE_TYPE, DEVICE_ID, ALLOCATED, RESERVED, FACT_COUNT };

/* c10's numbers of device types. */
enum { C10_DEVICE_CPU = 0, C10_DEVICE_CUDA = 1, C10_DEVICE_XPU = 12 };

struct fact_value {
    bool seen, negative;
    uint64_t number;
};

struct trace_event {
    char phase, category[SHORT_BYTES];
    char name[BLOCK_LOG_NAME_BYTES];
    size_t name_bytes;
    int64_t at_ns, long_ns; /* -1 = not said */
    uint64_t thread, pid;
    struct fact_value facts[FACT_COUNT];
};

struct kineto {
    struct json json;
    struct trace_event event;
    struct block_log *log;
    struct kineto_facts *facts;
    struct import_result *result;
    bool events_seen, addressless; /* a [memory] event that lacks no more than its address */
};

/* ---- values ---- */

static int64_t digits_of(const char **text, size_t most)
{
    int64_t number = 0;
    for (size_t i = 0; i < most && **text >= '0' && **text <= '9'; i++)
        number = number * 10 + (*(*text)++ - '0');
    return number;
}

/* Microseconds with a fraction, as ns: a double has not enough digits. -1: it is no time. */
static int64_t time_of(const char *text)
{
    int64_t fraction = 0, us = digits_of(&text, 16);
    if (*text == '.') {
        text++;
        for (int64_t scale = 100; *text >= '0' && *text <= '9'; text++, scale /= 10)
            fraction += scale * (*text - '0');
    }
    return *text || us > MOST_NS / 1000 - 1 ? -1 : us * 1000 + fraction;
}

/* A number, also one that stands in a string. */
static struct fact_value number_of(const struct json *json)
{
    struct fact_value value = {.negative = json->text[0] == '-'};
    const char *digits = json->text + value.negative;
    char *end;
    if (*digits < '0' || *digits > '9' || strlen(digits) > 20)
        return value;
    value.number = strtoull(digits, &end, 10);
    value.seen = !*end;
    return value;
}

static void keep_short(char out[SHORT_BYTES], const struct json *json)
{
    size_t count = json->count < SHORT_BYTES ? json->count : SHORT_BYTES - 1;
    memcpy(out, json->text, count);
    out[count] = '\0';
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

/* ---- one event ---- */

static bool is_text(enum json_token token)
{
    return token == JSON_STRING || token == JSON_NUMBER;
}

static bool read_args(struct kineto *kineto)
{
    static const char *const keys[FACT_COUNT] = {[ADDR] = "Addr",
                                                 [BYTES] = "Bytes",
                                                 [DEVICE_TYPE] = "Device Type",
                                                 [DEVICE_ID] = "Device Id",
                                                 [ALLOCATED] = "Total Allocated",
                                                 [RESERVED] = "Total Reserved"};
    struct json *json = &kineto->json;
    enum json_token token;
    while ((token = json_next(json)) == JSON_KEY) {
        size_t fact = 0;
        while (fact < FACT_COUNT && strcmp(json->text, keys[fact]) != 0)
            fact++;
        token = json_next(json);
        if (fact < FACT_COUNT && is_text(token))
            kineto->event.facts[fact] = number_of(json);
        else if (!json_skip(json, token))
            return false;
    }
    return token == JSON_OBJECT_END;
}

static void keep_name(struct trace_event *event, const struct json *json)
{
    event->name_bytes = json->count;
    memcpy(event->name, json->text, json->count + 1);
}

static void keep_field(struct trace_event *event, const char *key, const struct json *json)
{
    struct fact_value number = number_of(json);
    if (strcmp(key, "ph") == 0)
        event->phase = json->text[0];
    else if (strcmp(key, "cat") == 0)
        keep_short(event->category, json);
    else if (strcmp(key, "name") == 0)
        keep_name(event, json);
    else if (strcmp(key, "ts") == 0)
        event->at_ns = time_of(json->text);
    else if (strcmp(key, "dur") == 0)
        event->long_ns = time_of(json->text);
    else if (strcmp(key, "tid") == 0)
        event->thread = number.seen ? number.number : hash_of(json->text);
    else if (strcmp(key, "pid") == 0 && number.seen)
        event->pid = number.number;
}

static bool read_fields(struct kineto *kineto)
{
    struct json *json = &kineto->json;
    struct trace_event *event = &kineto->event;
    enum json_token token;
    char key[SHORT_BYTES];
    *event = (struct trace_event){.at_ns = -1, .long_ns = -1};
    while ((token = json_next(json)) == JSON_KEY) {
        keep_short(key, json);
        token = json_next(json);
        if (token == JSON_OBJECT && strcmp(key, "args") == 0) {
            if (!read_args(kineto))
                return false;
        } else if (is_text(token)) {
            keep_field(event, key, json);
        } else if (!json_skip(json, token)) {
            return false;
        }
    }
    return token == JSON_OBJECT_END;
}

/* ---- blocks ---- */

/* The CPU has one device, which torch numbers -1. */
static int place_of(struct kineto *kineto, uint32_t *place)
{
    const struct fact_value *type = &kineto->event.facts[DEVICE_TYPE],
                            *id = &kineto->event.facts[DEVICE_ID];
    bool cpu = type->number == C10_DEVICE_CPU;
    enum arena_device kind = cpu                               ? DEVICE_CPU
                             : type->number == C10_DEVICE_CUDA ? DEVICE_CUDA
                             : type->number == C10_DEVICE_XPU  ? DEVICE_XPU
                                                               : DEVICE_OTHER;
    int32_t index =
        id->seen && !id->negative && id->number <= IMPORT_MAX_DEVICES ? (int32_t)id->number : -1;
    return block_log_place(kineto->log, kind, cpu ? 0 : index, 0, place);
}

static uint64_t total_of(const struct kineto *kineto, enum fact fact)
{
    const struct fact_value *value = &kineto->event.facts[fact];
    /* Of the CPU torch adds up only what came since it was asked to profile memory. */
    bool cpu = kineto->event.facts[DEVICE_TYPE].number == C10_DEVICE_CPU;
    return cpu || !value->seen || value->negative ? BLOCK_LOG_UNKNOWN : value->number;
}

static int take_memory(struct kineto *kineto, bool refused)
{
    const struct trace_event *event = &kineto->event;
    const struct fact_value *bytes = &event->facts[BYTES];
    struct block_log_entry entry = {.time_ns = event->at_ns,
                                    .addr = event->facts[ADDR].number,
                                    .size = bytes->number,
                                    .allocated = total_of(kineto, ALLOCATED),
                                    .reserved = total_of(kineto, RESERVED),
                                    .thread = event->thread & 0xffffff};
    if (event->at_ns < 0 || !bytes->seen || !event->facts[DEVICE_TYPE].seen ||
        (!refused && !event->facts[ADDR].seen)) {
        kineto->addressless |= bytes->seen && !event->facts[ADDR].seen;
        kineto->result->odd_values++;
        return BASE_OK;
    }
    if (!bytes->number)
        return BASE_OK;
    entry.kind = refused ? LOG_REFUSED : bytes->negative ? LOG_FREE : LOG_ALLOC;
    if (!kineto->facts->memory++ && event->pid <= INT32_MAX)
        kineto->facts->pid = (int64_t)event->pid;
    uint32_t place;
    int err = place_of(kineto, &place);
    entry.place = place;
    return err ? err : block_log_add(kineto->log, &entry);
}

/* ---- ranges ---- */

/* "<built-in method f of T object at 0x7f..>": one function, not one for each address. */
static size_t name_without_address(const struct trace_event *event)
{
    const char *of = event->name[0] == '<' ? strstr(event->name, " of ") : NULL;
    return of && strstr(of, " object at 0x") ? (size_t)(of - event->name) : event->name_bytes;
}

static int take_range(struct kineto *kineto, bool annotation)
{
    const struct trace_event *event = &kineto->event;
    int64_t length = event->long_ns > 0 ? event->long_ns : 1;
    struct block_log_entry begin = {.kind = LOG_RANGE_BEGIN,
                                    .time_ns = event->at_ns,
                                    .thread = event->thread & 0xffffff,
                                    .phase = annotation};
    if (event->at_ns < 0)
        return BASE_OK;
    begin.addr = (uint64_t)(event->at_ns + length);
    uint32_t name;
    int err = block_log_name(kineto->log, event->name, name_without_address(event), &name);
    begin.name = name;
    struct block_log_entry end = begin;
    end.kind = LOG_RANGE_END;
    end.time_ns = event->at_ns + length;
    end.addr = (uint64_t)event->at_ns;
    if (err == BASE_OK)
        err = block_log_add(kineto->log, &begin);
    return err ? err : block_log_add(kineto->log, &end);
}

static int take_event(struct kineto *kineto)
{
    const struct trace_event *event = &kineto->event;
    if (event->phase == 'i' || event->phase == 'I') {
        bool refused = strcmp(event->name, "[OutOfMemory]") == 0;
        return refused || strcmp(event->name, "[memory]") == 0 ? take_memory(kineto, refused)
                                                               : BASE_OK;
    }
    if (event->phase != 'X')
        return BASE_OK;
    if (strcmp(event->category, "user_annotation") == 0)
        return take_range(kineto, true);
    if (strcmp(event->category, "cpu_op") == 0 || strcmp(event->category, "Operator") == 0 ||
        strcmp(event->category, "python_function") == 0)
        return take_range(kineto, false);
    return BASE_OK;
}

/* ---- the file ---- */

static int json_failed(struct kineto *kineto)
{
    const struct json *json = &kineto->json;
    struct import_result *result = kineto->result;
    if (json->ended && json->input->error)
        return import_say(result, input_failure(json->input), input_trouble(json->input));
    snprintf(result->message, sizeof result->message, "%s at byte %" PRIu64,
             json->trouble ? json->trouble : "it is not as traces are", input_offset(json->input));
    return ERR_CORRUPT;
}

/* Behind its bracket. */
static int read_events(struct kineto *kineto)
{
    struct json *json = &kineto->json;
    enum json_token token;
    kineto->events_seen = true;
    while ((token = json_next(json)) != JSON_ARRAY_END) {
        if (token != JSON_OBJECT) {
            if (!json_skip(json, token))
                return json_failed(kineto);
            continue;
        }
        if (!read_fields(kineto))
            return json_failed(kineto);
        block_log_allow(kineto->log, input_offset(json->input));
        int err = take_event(kineto);
        if (err)
            return err;
    }
    return BASE_OK;
}

static int read_top(struct kineto *kineto)
{
    struct json *json = &kineto->json;
    enum json_token token;
    int err = BASE_OK;
    while (err == BASE_OK && (token = json_next(json)) == JSON_KEY) {
        bool events = strcmp(json->text, "traceEvents") == 0,
             base = strcmp(json->text, "baseTimeNanoseconds") == 0;
        token = json_next(json);
        if (token == JSON_ARRAY && events) {
            err = read_events(kineto);
        } else if (token == JSON_NUMBER && base) {
            struct fact_value value = number_of(json);
            if (value.seen && !value.negative && value.number < (uint64_t)MOST_NS)
                kineto->facts->base_ns = (int64_t)value.number;
        } else if (!json_skip(json, token)) {
            break;
        }
    }
    return err == BASE_OK && json->trouble ? json_failed(kineto) : err;
}

static int read_trace(struct kineto *kineto)
{
    json_start(&kineto->json, kineto->json.input);
    enum json_token token = json_next(&kineto->json);
    int err = token == JSON_OBJECT  ? read_top(kineto)
              : token == JSON_ARRAY ? read_events(kineto)
                                    : json_failed(kineto);
    if (err == ERR_LIMIT)
        return import_say(kineto->result, err, "it has too many devices, or takes too much memory");
    if (err)
        return err;
    if (!kineto->events_seen)
        return import_say(kineto->result, ERR_NOTOURS, "it is JSON, but no trace: no traceEvents");
    if (!kineto->facts->memory && kineto->addressless)
        return import_say(kineto->result, ERR_NOTOURS,
                          "its [memory] events have no addresses, as old versions of PyTorch wrote "
                          "them: blocks are not known");
    if (!kineto->facts->memory)
        return import_say(kineto->result, ERR_NOTOURS,
                          "it is a trace without [memory] events: torch.profiler writes them with "
                          "profile_memory=True");
    return BASE_OK;
}

int kineto_read(struct pickle_input *input, struct block_log *log, struct kineto_facts *facts,
                struct import_result *result)
{
    struct kineto kineto = {.json = {.input = input}, .log = log, .facts = facts, .result = result};
    *facts = (struct kineto_facts){0};
    int err = read_trace(&kineto);
    result->bytes_read = input_offset(input);
    result->records_bytes = log->budget.most;
    return err;
}

/* Traces without a base have times since 1970 themselves. */
static int64_t dated_us(const struct kineto_facts *facts, const struct block_log *log)
{
    const int64_t year_2001_ns = INT64_C(978307200) * 1000000000;
    int64_t first = block_log_first_ns(log) + facts->base_ns;
    return first > year_2001_ns ? first / 1000 : 0;
}

static int read_kineto(struct pickle_input *input, const struct import_options *options,
                       struct import_result *result)
{
    struct block_log log = {0};
    struct kineto_facts facts;
    int err = kineto_read(input, &log, &facts, result);
    struct block_log_feed feed = {.log = &log,
                                  .live = "torch.profiler trace",
                                  .source = options->source,
                                  .pid = facts.pid,
                                  .all_frames = options->all_frames,
                                  .result = result};
    if (err == BASE_OK)
        err = block_log_write(&feed, 1, options->output, dated_us(&facts, &log), "the trace ends");
    block_log_clear(&log);
    if (err && !*result->message)
        import_say(result, err, base_err_text(err));
    return err;
}

static bool is_json(const unsigned char *first, size_t count)
{
    size_t at = 0;
    while (at < count && first[at] && strchr(" \t\r\n", first[at]))
        at++;
    return at < count && (first[at] == '{' || first[at] == '[');
}

const struct import_format format_kineto = {
    "a trace of torch.profiler",
    "segments, streams, or single blocks that were live all the time",
    is_json,
    read_kineto,
    "a torch.profiler trace begins with {",
    NULL};
