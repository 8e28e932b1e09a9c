/* peak_running.c - what the device did at the peak: shown only where it was recorded. */
#include "human.h"
#include "peak_parts.h"

static const struct emit_column running_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"since_ns", "since", EMIT_NS, 0},
    {"lasts_ns", "lasts", EMIT_NS, 0},
    {"stream", NULL, EMIT_PLAIN, 0},
    {"kind", NULL, EMIT_TEXT, 0},
    {"bytes", NULL, EMIT_BYTES, EMIT_NONE | EMIT_IF_KNOWN},
    {"name", NULL, EMIT_TEXT, EMIT_NONE | EMIT_NAME},
};

int peak_running_read(struct db *db, struct peak_part *part)
{
    const struct peak *peak = part->peak;
    return running_read(db, peak->process, peak->device, peak->at_ns, &part->running);
}

static void put_item(const struct peak_part *part, const struct running_item *item)
{
    peak_put_scope(part);
    emit_int(part->emit, part->running.at_ns - item->begin_ns);
    emit_int(part->emit, item->end_ns - item->begin_ns);
    emit_int(part->emit, item->stream);
    emit_text(part->emit, item->kind);
    emit_known(part->emit, item->bytes);
    emit_text(part->emit, item->name);
}

void peak_put_running(const struct peak_part *part)
{
    const struct running *running = &part->running;
    if (!running->told)
        return;
    if (!running->count && part->emit->format == EMIT_TABLE) {
        emit_heading(part->emit, "Running at that moment");
        emit_line(part->emit, "nothing: the device was idle");
        return;
    }
    EMIT_SECTION(part->emit, "running", "Running at that moment", EMIT_ROWS, running_columns);
    for (size_t i = 0; i < running->count; i++)
        put_item(part, &running->items[i]);
}
