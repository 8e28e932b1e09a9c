#include "event.h"

static const char *const names[EVENT_KIND_COUNT] = {
    [EVENT_NONE] = "not known",
    [EVENT_BLOCK_ALLOC] = "block_alloc",
    [EVENT_BLOCK_FREE] = "block_free",
    [EVENT_BLOCK_IDLE] = "block_idle",
    [EVENT_SEGMENT_ALLOC] = "segment_alloc",
    [EVENT_SEGMENT_FREE] = "segment_free",
    [EVENT_PHASE_BEGIN] = "phase_begin",
    [EVENT_PHASE_END] = "phase_end",
    [EVENT_STEP_BEGIN] = "step_begin",
    [EVENT_STEP_END] = "step_end",
    [EVENT_MARK] = "mark",
    [EVENT_TAG] = "tag",
    [EVENT_OOM] = "oom",
    [EVENT_ENTER] = "enter",
    [EVENT_EXIT] = "exit",
    [EVENT_TAGS_HOLD] = "tags_hold",
    [EVENT_HISTORY] = "history",
    [EVENT_DRIVER_ALLOC] = "driver_alloc",
    [EVENT_DRIVER_FREE] = "driver_free",
    [EVENT_DRIVER_MAP] = "driver_map",
    [EVENT_DRIVER_UNMAP] = "driver_unmap",
    [EVENT_SAMPLE] = "sample",
    [EVENT_GAP] = "gap",
    [EVENT_ACTIVITY] = "activity",
};

const char *event_kind_name(unsigned kind)
{
    return kind < EVENT_KIND_COUNT ? names[kind] : "?";
}
