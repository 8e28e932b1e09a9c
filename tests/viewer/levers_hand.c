#include "levers_hand.h"

#include <stdlib.h>

#include "group.h"
#include "mem.h"
#include "test.h"

static void put_phase(struct levers_phases *phases, enum levers_phase_kind kind, int64_t begin,
                      int64_t end)
{
    const size_t at = phases->count;
    struct levers_phase_row *row = &phases->of[kind];
    REQUIRE(MEM_GROW(phases->phases, phases->cap, at + 1) &&
            MEM_GROW(row->at, row->cap, row->count + 1));
    phases->phases[phases->count++] = (struct levers_phase){
        .id = (int64_t)at + 1, .parent = GROUP_NONE, .begin = begin, .end = end, .kind = kind};
    row->at[row->count++] = at;
}

void hand_step(const struct hand_block *blocks, struct levers_step *out)
{
    *out = (struct levers_step){.begin = HAND_FORWARD, .end = HAND_END, .moment = LEVERS_NEVER};
    put_phase(&out->phases, LEVERS_FORWARD, HAND_FORWARD, HAND_BACKWARD - 1);
    put_phase(&out->phases, LEVERS_BACKWARD, HAND_BACKWARD, HAND_END - 1);
    REQUIRE(levers_phases_is_valid(&out->phases));
    for (; blocks->kib; blocks++) {
        REQUIRE(MEM_GROW(out->blocks, out->cap, out->count + 1));
        REQUIRE(!out->count || out->blocks[out->count - 1].seq < blocks->seq);
        out->older += blocks->seq < HAND_FORWARD;
        out->blocks[out->count++] =
            (struct levers_block){.seq = blocks->seq,
                                  .end = blocks->end,
                                  .size = KIB(blocks->kib),
                                  .asked = KIB(blocks->kib),
                                  .site = blocks->site ? blocks->site : GROUP_NONE,
                                  .module = blocks->module ? blocks->module : GROUP_NONE,
                                  .tag = GROUP_NONE,
                                  .purpose = PURPOSE_ACTIVATION};
    }
}

static int by_seq(const void *one, const void *other)
{
    const struct levers_event *a = one, *b = other;
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

void hand_events(struct levers_step *step)
{
    const struct levers_edit nothing = {0};
    REQUIRE((step->events = mem_alloc(2 * step->count + 1, sizeof *step->events)) != NULL);
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        step->base += i < step->older ? block->size : 0;
        if (i >= step->older)
            step->events[step->event_count++] = (struct levers_event){block->seq, block->size};
        if (block->end <= step->end)
            step->events[step->event_count++] = (struct levers_event){block->end, -block->size};
    }
    qsort(step->events, step->event_count, sizeof *step->events, by_seq);
    REQUIRE(levers_highest(step, &nothing, &step->highest, NULL) == 0);
    REQUIRE(levers_step_is_valid(step));
}

size_t hand_at(const struct levers_step *step, int64_t seq)
{
    size_t at = levers_first_from(step, seq);
    REQUIRE(at < step->count && step->blocks[at].seq == seq);
    return at;
}
