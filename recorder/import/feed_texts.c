/* Phases of the texts that events in a row have in common. */
#include <assert.h>
#include <string.h>

#include "error.h"
#include "feed.h"
#include "mem.h"

/* ---- which text ---- */

/* PyTorch writes "N/A" where nothing is compiled. */
static uint32_t text_of(const struct snapshot *snapshot, const struct trace_entry *entry,
                        enum feed_text_kind kind)
{
    uint32_t string = kind == FEED_USER ? entry->user : entry->compiled;
    const char *text = snapshot_text(snapshot, string);
    if (!*text || (kind == FEED_COMPILED && strcmp(text, "N/A") == 0))
        return 0;
    return string;
}

static void see_device(const struct feed *feed, const struct rebuild *rebuild, bool *tells)
{
    for (size_t i = 0; i < rebuild->entry_count; i++)
        for (int kind = 0; kind < FEED_TEXTS; kind++)
            if (rebuild->entries[i].action != TRACE_ANNOTATE &&
                text_of(feed->snapshot, &rebuild->entries[i], (enum feed_text_kind)kind))
                tells[kind] = true;
}

int feed_texts_begin(struct feed *feed)
{
    struct feed_texts *texts = &feed->texts;
    texts->open = mem_alloc(feed->notes.count + FEED_TEXTS, sizeof *texts->open);
    texts->tells = mem_alloc(feed->device_count, sizeof *texts->tells);
    texts->regions = mem_alloc(feed->snapshot->strings.item_count + 1, sizeof *texts->regions);
    if (!texts->open || !texts->tells || !texts->regions)
        return ERR_NOMEM;
    for (size_t d = 0; d < feed->device_count; d++)
        see_device(feed, &feed->rebuilds[d], texts->tells[d]);
    return BASE_OK;
}

void feed_texts_clear(struct feed_texts *texts)
{
    mem_free(texts->open);
    mem_free(texts->tells);
    mem_free(texts->regions);
    *texts = (struct feed_texts){0};
}

static struct feed_wish wish_of(const struct feed *feed, size_t device)
{
    struct feed_wish wish = feed->texts.run;
    if (device == feed->device_count)
        return (struct feed_wish){0};
    const struct trace_entry *entry = &feed->rebuilds[device].entries[feed->next[device]];
    for (int kind = 0; kind < FEED_TEXTS; kind++)
        if (feed->texts.tells[device][kind] && entry->action != TRACE_ANNOTATE)
            wish.text[kind] = text_of(feed->snapshot, entry, (enum feed_text_kind)kind);
    return wish;
}

/* ---- names ---- */

/* "Torch-Compiled Region: 0/0" is frame 0, compiled for the first time. */
static uint32_t region_name(struct feed *feed, uint32_t string)
{
    static const char theirs[] = "Torch-Compiled Region: ";
    uint32_t *name = &feed->texts.regions[string];
    const char *text = snapshot_text(feed->snapshot, string);
    struct buf out = {0};
    if (*name)
        return *name;
    if (strncmp(text, theirs, sizeof theirs - 1) == 0)
        text += sizeof theirs - 1;
    buf_print(&out, "compiled region %s", text);
    if (!out.broken)
        *name = feed_text(feed, buf_string(&out), out.count);
    buf_clear(&out);
    return *name;
}

static uint32_t name_of(struct feed *feed, struct feed_open what)
{
    if (what.kind == OPEN_RANGE)
        return feed_string(feed, feed->snapshot->notes[what.note].name);
    return what.kind == OPEN_USER ? feed_string(feed, what.note) : region_name(feed, what.note);
}

/* ---- the stack ---- */

static bool is_text(struct feed_open what)
{
    return what.kind < FEED_TEXTS;
}

/* A mark is none of the phases that have to nest. */
static int tell(struct feed *feed, enum event_kind kind, struct feed_open what, int64_t at_us)
{
    if (what.kind == OPEN_MARK || what.waits)
        return BASE_OK;
    struct event event = feed_event(feed, kind, at_us);
    event.name = name_of(feed, what);
    return is_text(what) && !event.name ? ERR_NOMEM : feed_give(feed, &event);
}

/* Ends the texts from this place of the stack on, and what is above them; annotations begin anew.
 */
static int cut(struct feed *feed, size_t from)
{
    struct feed_texts *texts = &feed->texts;
    size_t left, mark = texts->count; /* the innermost */
    int err = BASE_OK;
    while (from < texts->count && !is_text(texts->open[from]))
        from++;
    while (mark > from && texts->open[mark - 1].kind != OPEN_MARK)
        mark--;
    left = from;
    for (size_t i = texts->count; err == BASE_OK && i > from; i--)
        err = tell(feed, EVENT_PHASE_END, texts->open[i - 1], 0);
    for (size_t i = from; err == BASE_OK && i < texts->count; i++) {
        struct feed_open what = texts->open[i];
        if (is_text(what)) {
            texts->at[what.kind] = 0;
            continue;
        }
        what.waits = what.kind == OPEN_RANGE && i < mark;
        texts->open[left++] = what;
        err = tell(feed, EVENT_PHASE_BEGIN, what, 0);
    }
    texts->count = left;
    return err;
}

static int cut_text(struct feed *feed, enum feed_text_kind kind)
{
    size_t at = feed->texts.at[kind];
    return at ? cut(feed, at - 1) : BASE_OK;
}

/* Ends what the next event is not in. */
static int end_others(struct feed *feed, struct feed_wish wish)
{
    struct feed_texts *texts = &feed->texts;
    int err = BASE_OK;
    for (int kind = FEED_USER; err == BASE_OK && kind < FEED_TEXTS; kind++)
        if (wish.text[kind] != texts->run.text[kind]) {
            err = cut_text(feed, (enum feed_text_kind)kind);
            texts->run.text[kind] = 0;
        }
    return err;
}

static int begin_text(struct feed *feed, enum feed_text_kind kind, uint32_t string, int64_t at_us)
{
    struct feed_texts *texts = &feed->texts;
    struct feed_open what = {.note = string, .kind = (uint8_t)kind};
    texts->run.text[kind] = string;
    if (!string || texts->at[kind])
        return BASE_OK;
    int err = kind == FEED_USER ? cut_text(feed, FEED_COMPILED) : BASE_OK;
    if (err)
        return err;
    assert(texts->count < feed->notes.count + FEED_TEXTS);
    texts->open[texts->count++] = what;
    texts->at[kind] = texts->count;
    return tell(feed, EVENT_PHASE_BEGIN, what, at_us);
}

static int turn_to(struct feed *feed, struct feed_wish wish, int64_t at_us)
{
    int err = end_others(feed, wish);
    for (int kind = FEED_USER; err == BASE_OK && kind < FEED_TEXTS; kind++)
        err = begin_text(feed, (enum feed_text_kind)kind, wish.text[kind], at_us);
    return err;
}

int feed_texts_before_entry(struct feed *feed, size_t device)
{
    int64_t at_us = 0;
    if (device < feed->device_count)
        at_us = feed->rebuilds[device].entries[feed->next[device]].time_us;
    return turn_to(feed, wish_of(feed, device), at_us);
}

/* ---- annotations ---- */

static enum feed_note_kind kind_of(const struct feed *feed, size_t note)
{
    uint64_t ignored;
    return feed_note_kind(snapshot_text(feed->snapshot, feed->snapshot->notes[note].name),
                          &ignored);
}

/* Where the annotation that ends is in the stack. */
static size_t begun_at(const struct feed *feed, size_t note)
{
    const struct feed_texts *texts = &feed->texts;
    size_t at = texts->count;
    while (at > 0 &&
           (is_text(texts->open[at - 1]) || texts->open[at - 1].note != feed->notes.at[note].other))
        at--;
    return at ? at - 1 : texts->count;
}

int feed_texts_before_note(struct feed *feed, size_t note, size_t device)
{
    const struct snapshot_note *from = &feed->snapshot->notes[note];
    if (kind_of(feed, note) == NOTE_IS_STEP)
        return end_others(feed, wish_of(feed, device));
    if (from->end)
        return cut(feed, begun_at(feed, note));
    return turn_to(feed, wish_of(feed, device), from->time_us);
}

/* Ranges that were cut inside of a mark that is over. */
static int begin_waiting(struct feed *feed)
{
    struct feed_texts *texts = &feed->texts;
    size_t at = texts->count;
    int err = BASE_OK;
    while (at > 0 && texts->open[at - 1].waits)
        at--;
    for (; err == BASE_OK && at < texts->count; at++) {
        texts->open[at].waits = false;
        err = tell(feed, EVENT_PHASE_BEGIN, texts->open[at], 0);
    }
    return err;
}

int feed_texts_after_note(struct feed *feed, size_t note)
{
    struct feed_texts *texts = &feed->texts;
    enum feed_note_kind kind = kind_of(feed, note);
    if (kind == NOTE_IS_STEP)
        return BASE_OK;
    if (!feed->snapshot->notes[note].end) {
        texts->open[texts->count++] = (struct feed_open){
            .note = (uint32_t)note, .kind = kind == NOTE_IS_PHASE ? OPEN_RANGE : OPEN_MARK};
        return BASE_OK;
    }
    size_t at = begun_at(feed, note);
    if (at == texts->count)
        return BASE_OK;
    memmove(texts->open + at, texts->open + at + 1, (texts->count - at - 1) * sizeof *texts->open);
    texts->count--;
    return begin_waiting(feed);
}
