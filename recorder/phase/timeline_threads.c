/*
 * timeline_threads.c - whose marks make the timeline: see "Threads" in timeline.h.
 */
#include "timeline.h"

#include <assert.h>

#include "ledger.h"
#include "phase.h"
#include "mem.h"

bool timeline_is_apart(const struct timeline *timeline, uint32_t thread)
{
    for (size_t i = 0; i < timeline->apart_count; i++)
        if (timeline->apart[i] == thread)
            return true;
    return false;
}

void timeline_forget_thread(struct timeline *timeline, uint32_t thread)
{
    for (size_t i = timeline->apart_count; i > 0; i--)
        if (timeline->apart[i - 1] == thread)
            timeline->apart[i - 1] = timeline->apart[--timeline->apart_count];
}

/* The innermost open mark of a thread, or NULL. */
static const struct label_node *innermost_of(const struct labels *labels, uint32_t thread)
{
    for (size_t i = labels->open_count; i > 0; i--) {
        const struct label_node *node = label_node(labels, labels->open[i - 1]);
        if (node->kind != LABEL_USER && node->thread == thread)
            return node;
    }
    return NULL;
}

/* Without memory it comes to the same conflict again with its next mark. */
static void set_apart(struct phases *phases, uint32_t thread, uint32_t other)
{
    struct timeline *timeline = &phases->timeline;
    assert(thread != other && !timeline_is_apart(timeline, thread));
    if (!MEM_GROW(timeline->apart, timeline->apart_cap, timeline->apart_count + 1))
        return;
    timeline->apart[timeline->apart_count++] = thread;
    if (!phases->account->notes.counted[NOTE_MARKS_OF_THREADS])
        note(phases->account, NOTE_MARKS_OF_THREADS, NOTE_NO_ADDRESS,
             "thread %u beside thread %u: phases of the process and steps are those of %u", thread,
             other, other);
}

/* Whether the thread itself has the mark open that this ends. */
static bool is_open(const struct labels *labels, const struct event *event)
{
    for (size_t i = labels->open_count; i > 0; i--) {
        const struct label_node *node = label_node(labels, labels->open[i - 1]);
        if (node->kind == event->size && node->identity == event->a &&
            node->thread == event->thread)
            return true;
    }
    return false;
}

/* An end that fits nothing is noted, if it is not that of a mark that was passed over. Before the
 * first mark none was. */
static enum timeline_turn turn_of_exit(struct timeline *timeline, const struct event *event)
{
    if (timeline_is_apart(timeline, event->thread))
        return TIMELINE_APART;
    if (is_open(&timeline->labels, event))
        return TIMELINE_TAKE;
    if (!timeline->passed)
        return !timeline->thread || event->thread == timeline->thread ? TIMELINE_TAKE
                                                                      : TIMELINE_PASS;
    timeline->passed--;
    return TIMELINE_PASS;
}

static enum timeline_turn turn_of_enter(struct phases *phases, const struct event *event,
                                        int64_t ns)
{
    struct timeline *timeline = &phases->timeline;
    uint32_t thread = event->thread, owner = timeline->thread;
    if (thread == owner)
        return TIMELINE_TAKE;
    if (timeline_is_apart(timeline, thread))
        return TIMELINE_APART;
    const struct label_node *open = innermost_of(&timeline->labels, owner);
    if (open && open->kind == MARK_FORWARD && event->size == MARK_FORWARD) {
        timeline->passed++;
        return TIMELINE_PASS;
    }
    if (open && timeline->trainer != thread) {
        set_apart(phases, thread, owner);
        return TIMELINE_APART;
    }
    if (open) {
        set_apart(phases, owner, thread);
        timeline_leave(phases, owner, ns);
    }
    timeline->thread = thread;
    return TIMELINE_TAKE;
}

enum timeline_turn timeline_turn(struct phases *phases, const struct event *event, int64_t ns)
{
    struct timeline *timeline = &phases->timeline;
    if (event->b & MARK_F_ENGINE)
        return TIMELINE_TAKE;
    if (event->kind == EVENT_EXIT)
        return turn_of_exit(timeline, event);
    enum timeline_turn turn = turn_of_enter(phases, event, ns);
    if (turn == TIMELINE_TAKE && event->size != MARK_FORWARD && event->size != MARK_ZERO_GRAD)
        timeline->trainer = event->thread;
    return turn;
}
