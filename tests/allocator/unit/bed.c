#include "bed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void see_event(void *self, const struct alloc_event *event)
{
    struct bed *bed = self;
    if (bed->event_count < BED_EVENTS)
        bed->events[bed->event_count++] = *event;
}

static void parse(struct alloc_config *config, const char *text)
{
    char why[200] = "";
    if (alloc_config_parse(config, text, why, sizeof why) != BASE_OK)
        fprintf(stderr, "%s: %s\n", text, why);
    REQUIRE(why[0] == '\0');
}

void bed_begin(struct bed *bed, const struct bed_options *options)
{
    struct alloc_config config;
    struct virtual_options virtual = {
        .capacity = options->capacity ? options->capacity : 64 * GIB,
        .manual = options->manual,
    };
    struct alloc_observer observer = {bed, see_event};
    memset(bed, 0, sizeof *bed);
    alloc_config_default(&config);
    if (options->config)
        parse(&config, options->config);
    REQUIRE(virtual_new(&bed->device, &virtual) == BASE_OK);
    struct alloc_options alloc = {
        .device = virtual_seam(bed->device),
        .config = options->config ? &config : NULL,
        .observer = &observer,
        .limit = options->limit,
        .flags = options->flags,
    };
    REQUIRE(alloc_new(&bed->alloc, &alloc) == BASE_OK);
}

static void check(struct bed *bed)
{
    REQUIRE(alloc_is_valid(bed->alloc));
    REQUIRE(virtual_is_valid(bed->device));
}

void bed_end(struct bed *bed)
{
    check(bed);
    alloc_delete(bed->alloc);
    struct virtual_counts counts = bed_counts(bed);
    CHECK_INT(counts.taken, 0);
    CHECK_INT(counts.segments, 0);
    CHECK_INT(counts.reserved, 0);
    CHECK_INT(counts.events, 0);
    virtual_delete(bed->device);
}

uint64_t bed_malloc(struct bed *bed, uint64_t bytes, uint64_t stream)
{
    uint64_t address;
    int err = alloc_malloc(bed->alloc, bytes, stream, &address, NULL);
    CHECK_INT(err, BASE_OK);
    check(bed);
    return address;
}

uint64_t bed_refused(struct bed *bed, uint64_t bytes, uint64_t stream)
{
    uint64_t address = 1;
    struct alloc_refusal refusal;
    CHECK_INT(alloc_malloc(bed->alloc, bytes, stream, &address, &refusal), ERR_NOMEM);
    CHECK_INT(address, 0);
    CHECK_INT(refusal.requested, bytes);
    check(bed);
    return refusal.segment_size;
}

void bed_give(struct bed *bed, uint64_t address)
{
    CHECK_INT(alloc_give(bed->alloc, address), BASE_OK);
    check(bed);
}

void bed_use(struct bed *bed, uint64_t address, uint64_t stream)
{
    CHECK_INT(alloc_record_stream(bed->alloc, address, stream), BASE_OK);
    check(bed);
}

void bed_empty(struct bed *bed)
{
    CHECK_INT(alloc_empty_cache(bed->alloc), BASE_OK);
    check(bed);
}

void bed_configure(struct bed *bed, const char *text)
{
    struct alloc_config config;
    alloc_config_default(&config);
    parse(&config, text);
    CHECK_INT(alloc_configure(bed->alloc, &config), BASE_OK);
}

struct alloc_stats bed_stats(struct bed *bed)
{
    struct alloc_stats stats;
    alloc_stats(bed->alloc, &stats);
    return stats;
}

struct virtual_counts bed_counts(struct bed *bed)
{
    struct virtual_counts counts;
    virtual_counts(bed->device, &counts);
    return counts;
}

void bed_forget(struct bed *bed)
{
    bed->event_count = 0;
}

size_t bed_seen(const struct bed *bed, enum alloc_event_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < bed->event_count; i++)
        count += bed->events[i].kind == kind;
    return count;
}

const struct alloc_event *bed_last(const struct bed *bed, enum alloc_event_kind kind)
{
    size_t i = bed->event_count;
    while (i > 0 && bed->events[i - 1].kind != kind)
        i--;
    REQUIRE(i > 0);
    return &bed->events[i - 1];
}

static char picture[8192];

static bool draw(void *self, const struct alloc_segment_view *segment)
{
    static const char *const words[] = {"free", "", "wait", "none"};
    (void)self;
    size_t length = strlen(picture);
    length += (size_t)snprintf(picture + length, sizeof picture - length, "%s%" PRIu64 ":",
                               length ? " " : "", segment->size);
    for (size_t i = 0; i < segment->block_count && length < sizeof picture; i++)
        length += (size_t)snprintf(picture + length, sizeof picture - length, " %s%" PRIu64,
                                   words[segment->blocks[i].state], segment->blocks[i].size);
    if (length < sizeof picture)
        snprintf(picture + length, sizeof picture - length, ";");
    return true;
}

const char *bed_picture(struct bed *bed)
{
    picture[0] = '\0';
    CHECK_INT(alloc_walk(bed->alloc, draw, NULL), BASE_OK);
    return picture;
}
