/*
 * notes.c - see notes.h. A table that only grows: a writer takes a place, fills it, and stores
 * `ready` with release. Two threads that give the same note at once may both store it, which the
 * reader of the marks takes for one.
 */
#include "notes.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "guest.h"
#include "intern.h"

#define NOTES 24u
#define TEXT 160u

struct note {
    char text[TEXT];
    bool why_not;
    uint32_t of; /* the generation of rings whose process alone has it; 0 = all that come */
    _Atomic bool ready;
    _Atomic uint32_t sent; /* the generation of rings that has it */
};

static struct note notes[NOTES];
static _Atomic uint32_t taken;
static _Atomic uint32_t changes; /* counts notes that became ready */
/* changes << 32 | generation, as they were when all notes that were ready had been sent. */
static _Atomic uint64_t settled;

static bool known(const char *text, size_t bytes, bool why_not, uint32_t of)
{
    for (uint32_t i = 0; i < NOTES; i++) {
        const struct note *note = &notes[i];
        if (atomic_load_explicit(&note->ready, memory_order_acquire) && note->why_not == why_not &&
            note->of == of && strlen(note->text) == bytes && memcmp(note->text, text, bytes) == 0)
            return true;
    }
    return false;
}

static void add(const char *text, bool why_not, uint32_t of)
{
    size_t bytes = strnlen(text, TEXT - 1);
    if (known(text, bytes, why_not, of))
        return;
    uint32_t place = atomic_fetch_add(&taken, 1);
    if (place >= NOTES) {
        atomic_store(&taken, NOTES);
        return;
    }
    memcpy(notes[place].text, text, bytes);
    notes[place].why_not = why_not;
    notes[place].of = of;
    atomic_store_explicit(&notes[place].ready, true, memory_order_release);
    atomic_fetch_add(&changes, 1);
}

void notes_live(const char *source)
{
    add(source, false, 0);
}

void notes_why_not(const char *sentence)
{
    add(sentence, true, 0);
}

void notes_live_here(const char *source)
{
    add(source, false, atomic_load(&guest.generation));
}

void notes_why_not_here(const char *sentence)
{
    add(sentence, true, atomic_load(&guest.generation));
}

void notes_send(void)
{
    uint32_t generation = atomic_load(&guest.generation);
    uint64_t now = (uint64_t)atomic_load(&changes) << 32 | generation;
    if (atomic_load_explicit(&settled, memory_order_relaxed) == now)
        return;
    for (uint32_t i = 0; i < NOTES; i++) {
        struct note *note = &notes[i];
        if (!atomic_load_explicit(&note->ready, memory_order_acquire) ||
            (note->of && note->of != generation) ||
            atomic_exchange(&note->sent, generation) == generation)
            continue;
        struct event event = {
            .kind = EVENT_MARK,
            .flags = EVENT_F_SOURCE,
            .name = intern_string(note->text),
            .a = note->why_not,
        };
        guest_emit(&event);
    }
    atomic_store_explicit(&settled, now, memory_order_relaxed);
}
