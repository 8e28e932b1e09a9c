/*
 * config.c - settings as PYTORCH_CUDA_ALLOC_CONF has them:
 *
 *     key:value,key:value,...     a value is a word, or a list in square brackets: [512:2,>:8]
 *
 * White space is nowhere of importance, not even inside a word. A parse begins with the defaults of
 * all but expandable_segments, so a string stands for itself and not for what it adds to the one
 * before it. docs/allocator.md has the keys and their bounds.
 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

#define MIB UINT64_C(20) /* as a shift */
#define TOKEN_SIZE 96

struct parser {
    const char *at;
    char token[TOKEN_SIZE]; /* a word, a delimiter alone, or "" at the end */
    struct alloc_config config;
    char *why;
    size_t why_size;
};

void alloc_config_default(struct alloc_config *config)
{
    *config = (struct alloc_config){
        .max_split_size = UINT64_MAX,
        .max_non_split_rounding = ALLOC_LARGE_SEGMENT,
        .large_segment_size = ALLOC_LARGE_SEGMENT,
        .memory_fraction = 1,
    };
}

uint64_t alloc_config_limit(const struct alloc_config *config, uint64_t device)
{
    double bytes = config->memory_fraction * (double)device;
    if (config->memory_fraction >= 1 || device == UINT64_MAX)
        return UINT64_MAX;
    return (uint64_t)(config->policy.fraction_is_cut ? bytes : bytes + 0.5);
}

static bool is_power_of_two(uint64_t n)
{
    return n && (n & (n - 1)) == 0;
}

bool alloc_config_is_valid(const struct alloc_config *config)
{
    for (int i = 0; i < ALLOC_ROUNDUP_SLOTS; i++) {
        if (config->roundup[i] && !is_power_of_two(config->roundup[i]))
            return false;
    }
    return config->max_split_size > 0 && config->large_segment_size >= ALLOC_MIN_LARGE &&
           config->large_segment_size % ALLOC_ROUND_LARGE == 0 && config->gc_threshold >= 0 &&
           config->gc_threshold < 1 && config->memory_fraction >= 0 &&
           config->memory_fraction <= 1 && config->reserve.value >= 0;
}

/* ---- tokens ---- */

__attribute__((format(printf, 2, 3))) static int complain(struct parser *parser, const char *format,
                                                          ...)
{
    va_list args;
    va_start(args, format);
    if (parser->why && parser->why_size)
        vsnprintf(parser->why, parser->why_size, format, args);
    va_end(args);
    return ERR_ARG;
}

static void skip_space(struct parser *parser)
{
    while (isspace((unsigned char)*parser->at))
        parser->at++;
}

static bool is_delimiter(char c)
{
    return c == ',' || c == ':' || c == '[' || c == ']';
}

/* The next token; a word that is too long is cut, and then it is no word that anybody knows. */
static void advance(struct parser *parser)
{
    size_t length = 0;
    skip_space(parser);
    if (is_delimiter(*parser->at)) {
        parser->token[length++] = *parser->at++;
    } else {
        while (*parser->at && !is_delimiter(*parser->at)) {
            if (length < TOKEN_SIZE - 1)
                parser->token[length++] = *parser->at;
            parser->at++;
            skip_space(parser);
        }
    }
    parser->token[length] = '\0';
}

static bool is_token(const struct parser *parser, const char *text)
{
    return strcmp(parser->token, text) == 0;
}

static int expect(struct parser *parser, const char *text)
{
    if (!is_token(parser, text))
        return complain(parser, "'%s' is missing before '%s'", text, parser->token);
    advance(parser);
    return BASE_OK;
}

/* ---- values ---- */

static int number_of(struct parser *parser, uint64_t *value)
{
    const char *text = parser->token;
    *value = 0;
    if (!*text)
        return complain(parser, "a number is missing at the end");
    for (; *text; text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        if (digit > 9)
            return complain(parser, "'%s' is no whole number", parser->token);
        if (*value > (UINT64_MAX >> MIB) / 10)
            return complain(parser, "%s is too large", parser->token);
        *value = *value * 10 + digit;
    }
    if (*value > UINT64_MAX >> MIB)
        return complain(parser, "%s is too large", parser->token);
    return BASE_OK;
}

static int parse_mib(struct parser *parser, const char *key, uint64_t least, uint64_t *bytes)
{
    uint64_t value = 0;
    int err = number_of(parser, &value);
    if (err != BASE_OK)
        return err;
    if (value < least)
        return complain(parser, "%s must be at least %" PRIu64 ", not %" PRIu64, key, least, value);
    *bytes = value << MIB;
    advance(parser);
    return BASE_OK;
}

static int parse_bool(struct parser *parser, const char *key, bool *value)
{
    *value = is_token(parser, "True");
    if (!*value && !is_token(parser, "False"))
        return complain(parser, "%s must be True or False, not '%s'", key, parser->token);
    advance(parser);
    return BASE_OK;
}

static int parse_fraction(struct parser *parser, const char *key, double *value)
{
    char *end;
    *value = strtod(parser->token, &end);
    if (end == parser->token || *end)
        return complain(parser, "%s must be a number, not '%s'", key, parser->token);
    advance(parser);
    return BASE_OK;
}

static int divisions_of(struct parser *parser, uint32_t *value)
{
    uint64_t number;
    int err = number_of(parser, &number);
    if (err != BASE_OK)
        return err;
    if (number > UINT32_MAX || (number && !is_power_of_two(number)))
        return complain(parser, "divisions must be 0 or a power of two, not %s", parser->token);
    *value = (uint32_t)number;
    advance(parser);
    return BASE_OK;
}

/* ---- lists of divisions ---- */

struct slots {
    int last;   /* the slot of the boundary before; 0 at first */
    bool begun; /* there was one */
};

static int slot_of(struct parser *parser, int *slot)
{
    uint64_t boundary;
    int err = number_of(parser, &boundary);
    if (err != BASE_OK)
        return err;
    if (!is_power_of_two(boundary))
        return complain(parser, "a boundary must be a power of two, not %s", parser->token);
    *slot = 63 - __builtin_clzll(boundary);
    if (*slot > ALLOC_ROUNDUP_SLOTS - 1)
        *slot = ALLOC_ROUNDUP_SLOTS - 1;
    advance(parser);
    return BASE_OK;
}

/* boundary:divisions, or >:divisions for all above the last boundary; by the older policy, from it
 * on. The first boundary stands for all below it, too. A > without one is above the first slot. */
static int parse_pair(struct parser *parser, struct slots *slots)
{
    uint32_t value = 0;
    int from, to = ALLOC_ROUNDUP_SLOTS - 1, err = BASE_OK;
    bool above = is_token(parser, ">");
    if (above)
        advance(parser);
    else
        err = slot_of(parser, &to);
    from = slots->begun ? to : 0;
    if (above)
        from = slots->last + !parser->config.policy.above_is_from;
    if (err == BASE_OK)
        err = expect(parser, ":");
    if (err == BASE_OK)
        err = divisions_of(parser, &value);
    if (err != BASE_OK)
        return err;
    for (int i = from; i <= to; i++)
        parser->config.roundup[i] = value;
    if (!above)
        *slots = (struct slots){.last = to, .begun = true};
    return BASE_OK;
}

static int parse_roundup(struct parser *parser, const char *key)
{
    struct slots slots = {0};
    (void)key;
    if (!is_token(parser, "[")) {
        uint32_t value = 0;
        int err = divisions_of(parser, &value);
        for (int i = 0; err == BASE_OK && i < ALLOC_ROUNDUP_SLOTS; i++)
            parser->config.roundup[i] = value;
        return err;
    }
    do {
        advance(parser);
        int err = parse_pair(parser, &slots);
        if (err != BASE_OK)
            return err;
    } while (is_token(parser, ","));
    return expect(parser, "]");
}

/* ---- keys ---- */

static int parse_max_split(struct parser *parser, const char *key)
{
    uint64_t least = (ALLOC_LARGE_SEGMENT >> MIB) + parser->config.policy.split_is_above;
    return parse_mib(parser, key, least, &parser->config.max_split_size);
}

static int parse_rounding(struct parser *parser, const char *key)
{
    return parse_mib(parser, key, ALLOC_LARGE_SEGMENT >> MIB,
                     &parser->config.max_non_split_rounding);
}

static int parse_large_segment(struct parser *parser, const char *key)
{
    uint64_t bytes = 0;
    int err = parse_mib(parser, key, (ALLOC_MIN_LARGE >> MIB) + 1, &bytes);
    if (err != BASE_OK)
        return err;
    if (bytes % ALLOC_ROUND_LARGE)
        return complain(parser, "%s must be an even number of MiB", key);
    parser->config.large_segment_size = bytes;
    return BASE_OK;
}

static int parse_threshold(struct parser *parser, const char *key)
{
    double value = 0;
    int err = parse_fraction(parser, key, &value);
    if (err != BASE_OK)
        return err;
    if (!(value > 0 && value < 1))
        return complain(parser, "%s must be above 0 and below 1", key);
    parser->config.gc_threshold = value;
    return BASE_OK;
}

static int parse_expandable(struct parser *parser, const char *key)
{
    return parse_bool(parser, key, &parser->config.expandable_segments);
}

static int parse_backend(struct parser *parser, const char *key)
{
    (void)key;
    if (!is_token(parser, "native"))
        return complain(parser, "this is the native backend, not '%s'", parser->token);
    advance(parser);
    return BASE_OK;
}

static int parse_process_fraction(struct parser *parser, const char *key)
{
    double value = 0;
    int err = parse_fraction(parser, key, &value);
    if (err != BASE_OK)
        return err;
    if (!(value >= 0 && value <= 1))
        return complain(parser, "%s must be from 0 to 1", key);
    parser->config.memory_fraction = value;
    return BASE_OK;
}

static int parse_throws(struct parser *parser, const char *key)
{
    return parse_bool(parser, key, &parser->config.throws);
}

/* 0.5 of the device, or 40G. PyTorch only warns of another value, and goes on without it. */
static int parse_reserve(struct parser *parser, const char *key)
{
    char *end;
    double value = strtod(parser->token, &end);
    bool gib = *end == 'G' || *end == 'g', is_word = end != parser->token && !end[gib];
    if (!*parser->token || is_delimiter(*parser->token))
        return complain(parser, "%s has no value", key);
    if (is_word && value > 0 && isfinite(value))
        parser->config.reserve = (struct alloc_reserve){.value = value, .gib = gib};
    advance(parser);
    return BASE_OK;
}

/* Of keys that have no meaning here. */
static int skip_bool(struct parser *parser, const char *key)
{
    bool ignored;
    return parse_bool(parser, key, &ignored);
}

/* A word, or all between brackets. */
static int skip_value(struct parser *parser, const char *key)
{
    bool list = is_token(parser, "[");
    if (!list && (!*parser->token || is_delimiter(*parser->token)))
        return complain(parser, "%s has no value", key);
    while (list && !is_token(parser, "]")) {
        if (!*parser->token)
            return complain(parser, "the list of %s has no end", key);
        advance(parser);
    }
    advance(parser);
    return BASE_OK;
}

/* A name that ends in '*' stands for all that begin so, but for those above it. */
static const struct setting {
    const char *name;
    int (*parse)(struct parser *parser, const char *key);
    enum alloc_key since; /* 0: every release knows it */
} settings[] = {
    {"max_split_size_mb", parse_max_split, 0},
    {"max_non_split_rounding_mb", parse_rounding, ALLOC_KEY_NON_SPLIT_ROUNDING},
    {"large_segment_size_mb", parse_large_segment, ALLOC_KEY_LARGE_SEGMENT},
    {"garbage_collection_threshold", parse_threshold, 0},
    {"roundup_power2_divisions", parse_roundup, 0},
    {"expandable_segments", parse_expandable, 0},
    {"backend", parse_backend, 0},
    {"per_process_memory_fraction", parse_process_fraction, ALLOC_KEY_PROCESS_FRACTION},
    {"throw_on_cudamalloc_oom", parse_throws, ALLOC_KEY_THROW},
    {"expandable_segments_reserve", parse_reserve, ALLOC_KEY_RESERVE},
    {"expandable_segments_reserve_by_class", skip_value, ALLOC_KEY_RESERVE},
    {"release_lock_on_cudamalloc", skip_bool, 0},
    {"graph_capture_record_stream_reuse", skip_bool, ALLOC_KEY_RECORD_STREAM_REUSE},
    {"pinned_use_background_threads", skip_value, ALLOC_KEY_PINNED_BACKGROUND},
    {"pinned_reserve_segment_size_mb", skip_value, ALLOC_KEY_PINNED_SEGMENT},
    {"pinned_free_catch_all", skip_value, ALLOC_KEY_PINNED_CATCH},
    {"pinned_max_*", skip_value, ALLOC_KEY_PINNED_LIMITS},
    {"pinned_*", skip_value, 0},
};

static bool is_setting(const struct setting *setting, const char *key)
{
    size_t length = strlen(setting->name);
    bool all = setting->name[length - 1] == '*';
    return all ? strncmp(setting->name, key, length - 1) == 0 : strcmp(setting->name, key) == 0;
}

static int parse_value(struct parser *parser, const char *key)
{
    const struct setting *end = settings + sizeof settings / sizeof *settings, *at = settings;
    while (at < end && !is_setting(at, key))
        at++;
    if (at == end || parser->config.policy.missing & (uint32_t)at->since)
        return complain(parser, "there is no setting '%s'", key);
    return at->parse(parser, key);
}

static int parse_setting(struct parser *parser)
{
    char key[TOKEN_SIZE];
    memcpy(key, parser->token, sizeof key);
    if (is_delimiter(*key))
        return complain(parser, "a key is missing before '%s'", key);
    advance(parser);
    int err = expect(parser, ":");
    return err == BASE_OK ? parse_value(parser, key) : err;
}

/* What depends on a setting that may stand behind it. */
static int finish(struct parser *parser)
{
    struct alloc_config *config = &parser->config;
    uint64_t least = config->large_segment_size;
    if (!config->max_non_split_rounding)
        config->max_non_split_rounding = least;
    if (config->max_split_size < least || config->max_non_split_rounding < least)
        return complain(parser, "%s must be at least large_segment_size_mb",
                        config->max_split_size < least ? "max_split_size_mb"
                                                       : "max_non_split_rounding_mb");
    return BASE_OK;
}

int alloc_config_parse(struct alloc_config *config, const char *text, char *why, size_t why_size)
{
    struct parser parser = {.at = text, .why = why, .why_size = why_size};
    alloc_config_default(&parser.config);
    parser.config.max_non_split_rounding = 0; /* not given yet */
    parser.config.policy = config->policy;
    parser.config.expandable_segments = config->expandable_segments;
    advance(&parser);
    while (*parser.token) {
        int err = parse_setting(&parser);
        if (err == BASE_OK && *parser.token)
            err = expect(&parser, ",");
        if (err != BASE_OK)
            return err;
    }
    int err = finish(&parser);
    if (err == BASE_OK)
        *config = parser.config;
    return err;
}
