/* What is stored as it is told: values read from outside, gaps of a source, what a device did. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "heap.h"
#include "ledger.h"
#include "utf8.h"

static const char *text_of(struct driver *driver, const struct event *event, uint32_t *id)
{
    *id = names_lookup(driver->defs, event->name, ARENA_STRING);
    return names_text(driver->defs->names, *id);
}

/* No value that changes: the device's row has it. */
static void put_total(struct driver *driver, const struct heap_device *device, int64_t total)
{
    struct driver_device *own = driver_device(driver, device);
    if (own && total == own->total)
        return;
    struct row_device_total row = {.id = device->id, .total_bytes = total};
    if (own && batch_put_device_total(driver->ledger->batch, &row))
        own->total = total;
    else
        note_owed(driver->account, EVENT_SAMPLE, 1);
}

/* For who watches the run. */
static void see_used(struct driver *driver, const struct heap_device *device, int64_t used)
{
    struct driver_device *own = driver_device(driver, device);
    if (own) {
        own->used = used;
        own->used_known = true;
    }
}

void driver_sample(struct driver *driver, const struct event *event, int64_t ns)
{
    uint32_t id;
    const char *what = text_of(driver, event, &id);
    const struct heap *heap = event->heap ? heap_of_event(driver->heaps, event) : NULL;
    struct row_sample row = {
        .at_ns = ns,
        .process = row_opt(driver->account->id),
        .device = row_opt(heap ? heap->device->id : ROW_UNKNOWN),
        .what = what,
        .value = heap_cut(event->a),
    };
    if (heap)
        driver_given_sample(driver, heap->device, what, event->a);
    if (heap && strcmp(what, "device used") == 0)
        see_used(driver, heap->device, row.value);
    if (heap && strcmp(what, "device total") == 0)
        put_total(driver, heap->device, heap_cut(event->a));
    else if (!batch_put_sample(driver->ledger->batch, &row))
        note_owed(driver->account, EVENT_SAMPLE, 1);
}

/* ---- gaps ---- */

static void begin_gap(struct driver *driver, const char *text, uint32_t id, int64_t ns)
{
    char source[64];
    const char *colon = strstr(text, ": ");
    size_t bytes = colon ? (size_t)(colon - text) : strlen(text);
    int64_t seq = driver->ledger->seq;
    snprintf(source, sizeof source, "%.*s",
             (int)(bytes < sizeof source ? bytes : utf8_cut(text, sizeof source - 1)), text);
    struct row_gap row = {.first_seq = seq,
                          .process = driver->account->id,
                          .source = source,
                          .begin_ns = ns,
                          .why = colon ? colon + 2 : NULL};
    if (!batch_put_gap(driver->ledger->batch, &row)) {
        note_owed(driver->account, EVENT_GAP, 1);
        return;
    }
    if (driver->gap_count < DRIVER_GAPS)
        driver->gaps[driver->gap_count++] = (struct driver_gap){id, seq};
}

/* The last that began with this name. */
static void end_gap(struct driver *driver, uint32_t id, const char *text, int64_t ns)
{
    size_t at = driver->gap_count;
    assert(driver->gap_count <= DRIVER_GAPS);
    while (at > 0 && driver->gaps[at - 1].name != id)
        at--;
    if (!at) {
        note(driver->account, NOTE_GAP_WITHOUT_BEGIN, NOTE_NO_ADDRESS, "%s", text);
        return;
    }
    struct row_gap_end row = {
        .first_seq = driver->gaps[at - 1].seq, .last_seq = driver->ledger->seq, .end_ns = ns};
    if (!batch_put_gap_end(driver->ledger->batch, &row))
        note_owed(driver->account, EVENT_GAP, 1);
    driver->gap_count--;
    memmove(&driver->gaps[at - 1], &driver->gaps[at],
            (driver->gap_count - (at - 1)) * sizeof *driver->gaps);
}

void driver_gap(struct driver *driver, const struct event *event, int64_t ns)
{
    uint32_t id;
    const char *text = text_of(driver, event, &id);
    if (event->a)
        begin_gap(driver, text, id, ns);
    else
        end_gap(driver, id, text, ns);
}

/* ---- activities ---- */

/* A device that was short of memory for them writes times of 0. */
void driver_activity(struct driver *driver, const struct event *event)
{
    unsigned kind = event->a & 0xff;
    uint32_t name = names_lookup(driver->defs, event->name, ARENA_STRING);
    const struct heap *heap = heap_of_event(driver->heaps, event);
    if (!kind || kind >= ACTIVITY_KIND_COUNT) {
        note(driver->account, NOTE_UNKNOWN_EVENT, NOTE_NO_ADDRESS, "activity of kind %u", kind);
        return;
    }
    bool timed = event->addr != 0 && event->size <= UINT64_MAX - event->addr;
    bool moved = kind == ACTIVITY_COPY || kind == ACTIVITY_SET;
    struct row_activity row = {
        .seq = driver->ledger->seq,
        .process = driver->account->id,
        .device = heap ? heap->device->id : 0,
        .stream = (int64_t)(event->a >> 8),
        .kind = kind,
        .name = row_id(name),
        .begin_ns = row_opt_if(timed, ledger_ns(driver->ledger, event->addr)),
        .end_ns = row_opt_if(timed, ledger_ns(driver->ledger, event->addr + event->size)),
        .bytes = row_opt_if(moved, heap_cut(event->b)),
    };
    if (!heap || !batch_put_activity(driver->ledger->batch, &row))
        note_owed(driver->account, EVENT_ACTIVITY, 1);
}
