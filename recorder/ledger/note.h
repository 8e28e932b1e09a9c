/*
 * note.h - what went wrong: anomalies of the program, and rows that we had no memory for.
 *
 * An anomaly is a row, up to NOTE_ROWS of one kind in a process; the rest is counted and becomes
 * one row when the process ends. Kinds that a loss of events explains are counted apart after a
 * loss.
 *
 * A row that could not be stored is owed: it is counted under the kind of its event and becomes a
 * `lost` fact at the next flush that has memory. A process that has ended is kept until its debt is
 * paid.
 */
#ifndef TIDEMARK_RECORDER_NOTE_H
#define TIDEMARK_RECORDER_NOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"

struct account;

#define NOTE_ROWS 1000

enum note_kind {
    NOTE_FREE_WITHOUT_ALLOC,
    NOTE_ADDRESS_TWICE,
    NOTE_FREE_OF_ANOTHER_SIZE,
    NOTE_IDLE_WITHOUT_FREE,
    NOTE_REUSED_WHILE_WAITING,
    NOTE_SEGMENT_FREE_WITHOUT_ALLOC,
    NOTE_SEGMENT_TWICE,
    NOTE_MAPPED_TWICE,
    NOTE_UNMAPPED_WITHOUT_MAP,
    NOTE_SIZE_TOO_LARGE,
    NOTE_TOTALS_DIFFER,
    NOTE_HISTORY_WITHOUT_EVENT,
    NOTE_DRIVER_TWICE,
    NOTE_DRIVER_UNKNOWN,
    NOTE_RESERVED_DIFFERS,
    NOTE_GAP_WITHOUT_BEGIN,
    NOTE_PHASE_END_WITHOUT_BEGIN,
    NOTE_PHASE_UNBALANCED,
    NOTE_PHASE_LEFT_OPEN,
    NOTE_TOO_MANY_PHASES,
    NOTE_MARK_END_WITHOUT_BEGIN,
    NOTE_MARKS_OF_THREADS,
    NOTE_STEP_END_WITHOUT_BEGIN,
    NOTE_TOO_MANY_DEVICES,
    NOTE_TOO_MANY_TAGS,
    NOTE_UNKNOWN_NAME,
    NOTE_UNKNOWN_EVENT,
    NOTE_BAD_DEFINITION,
    NOTE_KIND_COUNT
};

/* What can be owed: an event's row, by its kind, or one of these. */
enum { OWED_DEFINITION = EVENT_KIND_COUNT, OWED_CURVE, OWED_FACT, OWED_COUNT };

struct notes {                          /* of a process */
    uint64_t counted[NOTE_KIND_COUNT];  /* all of the kind but those that are expected */
    uint64_t stored[NOTE_KIND_COUNT];   /* rows; <= counted, <= NOTE_ROWS */
    uint64_t expected[NOTE_KIND_COUNT]; /* explained by a loss or a fork: never a row each */
    bool unsure;                        /* events were lost */
    bool forked;                        /* what the parent had is not known here */
    bool owes;
    uint64_t owed[OWED_COUNT];
    int64_t owed_seq, owed_ns; /* before the first row that is owed */
};

#define NOTE_NO_ADDRESS UINT64_MAX
void note(struct account *account, enum note_kind kind, uint64_t address, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void note_rest(struct account *account); /* the counts, as the process ends */
void note_owed(struct account *account, unsigned what, uint64_t n);
void note_pay(struct account *account);
bool note_is_valid(const struct account *account);

#endif
