#include "note.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ledger.h"
#include "utf8.h"

static const char *const texts[NOTE_KIND_COUNT] = {
    [NOTE_FREE_WITHOUT_ALLOC] = "free without allocation",
    [NOTE_ADDRESS_TWICE] = "address allocated twice",
    [NOTE_FREE_OF_ANOTHER_SIZE] = "free of another size",
    [NOTE_IDLE_WITHOUT_FREE] = "idle without free",
    [NOTE_REUSED_WHILE_WAITING] = "allocated while awaiting free",
    [NOTE_SEGMENT_FREE_WITHOUT_ALLOC] = "segment free without allocation",
    [NOTE_SEGMENT_TWICE] = "segment taken twice",
    [NOTE_MAPPED_TWICE] = "mapped twice",
    [NOTE_UNMAPPED_WITHOUT_MAP] = "unmapped without mapping",
    [NOTE_SIZE_TOO_LARGE] = "size too large",
    [NOTE_TOTALS_DIFFER] = "totals differ",
    [NOTE_HISTORY_WITHOUT_EVENT] = "history without event",
    [NOTE_DRIVER_TWICE] = "driver memory taken twice",
    [NOTE_DRIVER_UNKNOWN] = "driver memory not seen to come",
    [NOTE_RESERVED_DIFFERS] = "reserved differs",
    [NOTE_GAP_WITHOUT_BEGIN] = "gap end without begin",
    [NOTE_PHASE_END_WITHOUT_BEGIN] = "phase end without begin",
    [NOTE_PHASE_UNBALANCED] = "phase unbalanced",
    [NOTE_PHASE_LEFT_OPEN] = "phase left open",
    [NOTE_MARK_END_WITHOUT_BEGIN] = "mark end without begin",
    [NOTE_MARKS_OF_THREADS] = "marks of several threads",
    [NOTE_TOO_MANY_PHASES] = "too many open phases",
    [NOTE_STEP_END_WITHOUT_BEGIN] = "step end without begin",
    [NOTE_TOO_MANY_TAGS] = "too many tags",
    [NOTE_TOO_MANY_DEVICES] = "too many devices",
    [NOTE_UNKNOWN_NAME] = "unknown name",
    [NOTE_UNKNOWN_EVENT] = "unknown event",
    [NOTE_BAD_DEFINITION] = "bad definition",
};

/* Kinds that need no mistake of the program: what they miss was lost, or was there before a fork.
 */
static bool explained(const struct notes *notes, enum note_kind kind)
{
    switch (kind) {
    case NOTE_FREE_WITHOUT_ALLOC:
    case NOTE_IDLE_WITHOUT_FREE:
    case NOTE_SEGMENT_FREE_WITHOUT_ALLOC:
    case NOTE_UNMAPPED_WITHOUT_MAP:
    case NOTE_PHASE_END_WITHOUT_BEGIN:
    case NOTE_MARK_END_WITHOUT_BEGIN:
        return notes->unsure || notes->forked;
    case NOTE_ADDRESS_TWICE:
    case NOTE_FREE_OF_ANOTHER_SIZE:
    case NOTE_REUSED_WHILE_WAITING:
    case NOTE_SEGMENT_TWICE:
    case NOTE_MAPPED_TWICE:
    case NOTE_TOTALS_DIFFER:
    case NOTE_HISTORY_WITHOUT_EVENT:
    case NOTE_DRIVER_TWICE:
    case NOTE_RESERVED_DIFFERS:
    case NOTE_GAP_WITHOUT_BEGIN:
    case NOTE_PHASE_UNBALANCED:
    case NOTE_PHASE_LEFT_OPEN:
        return notes->unsure;
    default:
        return false;
    }
}

static bool put_note(struct account *account, enum note_kind kind, uint64_t address,
                     const char *detail)
{
    struct row_anomaly row = {
        .seq = account->ledger->seq,
        .process = account->id,
        .at_ns = account->last_ns,
        .kind = texts[kind],
        .address = row_opt_if(address != NOTE_NO_ADDRESS, (int64_t)address),
        .detail = detail,
    };
    return batch_put_anomaly(account->ledger->batch, &row);
}

void note(struct account *account, enum note_kind kind, uint64_t address, const char *format, ...)
{
    struct notes *notes = &account->notes;
    assert(kind < NOTE_KIND_COUNT && account->ledger);
    if (explained(notes, kind)) {
        notes->expected[kind]++;
        return;
    }
    account->ledger->anomalies++;
    notes->counted[kind]++;
    if (notes->stored[kind] == NOTE_ROWS)
        return;
    char detail[160];
    va_list list;
    va_start(list, format);
    vsnprintf(detail, sizeof detail, format, list);
    va_end(list);
    detail[utf8_cut(detail, sizeof detail - 4)] = '\0';
    if (put_note(account, kind, address, detail[0] ? detail : NULL))
        notes->stored[kind]++;
}

void note_rest(struct account *account)
{
    struct notes *notes = &account->notes;
    char detail[80];
    for (enum note_kind kind = 0; kind < NOTE_KIND_COUNT; kind++) {
        uint64_t more = notes->counted[kind] - notes->stored[kind];
        if (more) {
            snprintf(detail, sizeof detail, "%llu more of this kind", (unsigned long long)more);
            put_note(account, kind, NOTE_NO_ADDRESS, detail);
        }
        if (notes->expected[kind]) {
            snprintf(detail, sizeof detail, "%llu after a %s",
                     (unsigned long long)notes->expected[kind],
                     notes->unsure ? "loss of events" : "fork");
            put_note(account, kind, NOTE_NO_ADDRESS, detail);
        }
    }
}

static const char *owed_name(unsigned what)
{
    if (what < EVENT_KIND_COUNT)
        return event_kind_name(what);
    return what == OWED_DEFINITION ? "definition" : what == OWED_CURVE ? "curve" : "fact";
}

void note_owed(struct account *account, unsigned what, uint64_t n)
{
    struct notes *notes = &account->notes;
    assert(what < OWED_COUNT && n > 0);
    if (!notes->owes) {
        notes->owed_seq = account->ledger->seq > 0 ? account->ledger->seq - 1 : 0;
        notes->owed_ns = account->last_ns;
    }
    notes->owes = true;
    notes->owed[what] += n;
    account->ledger->lost += n;
    if (what < EVENT_KIND_COUNT)
        notes->unsure = true;
}

void note_pay(struct account *account)
{
    struct notes *notes = &account->notes;
    if (!notes->owes)
        return;
    bool all = true;
    for (unsigned what = 0; what < OWED_COUNT; what++) {
        if (!notes->owed[what])
            continue;
        struct row_lost row = {
            .process = account->id,
            .first_seq = notes->owed_seq,
            .last_seq = account->ledger->seq,
            .first_ns = notes->owed_ns,
            .last_ns = account->last_ns,
            .kind = owed_name(what),
            .n = ledger_cut(notes->owed[what]),
        };
        if (batch_put_lost(account->ledger->batch, &row))
            notes->owed[what] = 0;
        else
            all = false;
    }
    notes->owes = !all;
}

bool note_is_valid(const struct account *account)
{
    const struct notes *notes = &account->notes;
    uint64_t owed = 0;
    for (unsigned what = 0; what < OWED_COUNT; what++)
        owed += notes->owed[what];
    for (unsigned kind = 0; kind < NOTE_KIND_COUNT; kind++)
        if (notes->stored[kind] > notes->counted[kind] || notes->stored[kind] > NOTE_ROWS)
            return false;
    return notes->owes == (owed > 0);
}
