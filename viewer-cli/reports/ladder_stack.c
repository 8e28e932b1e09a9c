#include "ladder_stack.h"

#include <inttypes.h>
#include <stdio.h>

#include "error.h"
#include "human.h"
#include "ladder.h"
#include "mem.h"
#include "query.h"

#define CANDIDATES 16u /* moments of a device that are looked at */

static const struct emit_column columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"seq", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"who", "process", EMIT_TEXT, EMIT_PEOPLE},
    {"allocated", "allocated", EMIT_BYTES, 0},
    {"reserved", "reserved", EMIT_BYTES, EMIT_IF_KNOWN},
    {"process_used", "on the device", EMIT_BYTES, EMIT_IF_KNOWN},
};
static const enum ladder_step steps[] = {LADDER_ALLOCATED, LADDER_RESERVED, LADDER_PROCESS};
enum { STEPS = sizeof steps / sizeof *steps };

int ladder_stack_see(struct ladder_stack *stack, const struct report_scope *scope,
                     const struct instant *instant)
{
    if (!MEM_GROW(stack->seen, stack->cap, stack->count + 1))
        return ERR_NOMEM;
    stack->seen[stack->count++] = (struct ladder_seen){scope, *instant};
    return 0;
}

struct presence { /* of a process: its first event, and when it ended; QUERY_NONE: not known */
    int64_t first_seq, end_ns;
};

/* Of each scope of the report, in their order; to be freed. */
static int read_presences(const struct report *report, struct presence **out)
{
    struct presence *all = mem_alloc(report->scope_count + 1, sizeof *all);
    int err = all ? 0 : ERR_NOMEM;
    for (size_t i = 0; i < report->scope_count && err >= 0; i++)
        err = query_read(report->db, "SELECT first_seq, end_ns FROM process WHERE id = ?1",
                         Q_IN(report->scopes[i].process.id),
                         Q_OUT(Q_OPT(all[i].first_seq), Q_OPT(all[i].end_ns)));
    *out = all;
    return err;
}

/* A process that was killed freed nothing, and has nothing all the same. */
static bool is_there(const struct presence *presence, const struct ladder_seen *at,
                     const struct report_scope *scope)
{
    bool ended = presence->end_ns != QUERY_NONE && presence->end_ns < at->instant.at_ns;
    return scope == at->scope || (!ended && presence->first_seq <= at->instant.seq);
}

/* Of another process nobody wrote down what it had at just that moment: its blocks are counted. */
static int read_one(const struct report *report, const struct ladder_seen *at,
                    const struct report_scope *scope, struct ladder_facts *facts)
{
    struct instant instant = at->instant;
    if (scope != at->scope)
        instant.allocated = instant.reserved = INSTANT_NONE;
    return ladder_read(report->db, scope->process.id, scope->device, &instant, facts);
}

struct candidates { /* moments of one device, and what its processes had allocated then */
    const struct ladder_seen *at[CANDIDATES];
    int64_t sum[CANDIDATES];
    size_t count;
};

/* One process after the other: what is known of it is read once. */
static int add_scope(const struct report *report, const struct report_scope *scope,
                     const struct presence *presence, struct candidates *candidates)
{
    struct ladder_facts facts;
    int err = 0;
    for (size_t i = 0; i < candidates->count && err >= 0; i++) {
        const struct ladder_seen *at = candidates->at[i];
        if (scope->device != at->scope->device || !is_there(presence, at, scope))
            continue;
        err = read_one(report, at, scope, &facts);
        int64_t allocated = facts.bytes[LADDER_ALLOCATED];
        candidates->sum[i] += err >= 0 && allocated != LADDER_NONE ? allocated : 0;
    }
    return err;
}

/* The moments of the device that `first` is of; *out NULL: there is but one. */
static int highest(const struct report *report, const struct presence *presences,
                   const struct ladder_stack *stack, size_t first, const struct ladder_seen **out)
{
    struct candidates candidates = {.count = 0};
    size_t best = 0;
    int err = 0;
    for (size_t i = first; i < stack->count && candidates.count < CANDIDATES; i++)
        if (stack->seen[i].scope->device == stack->seen[first].scope->device)
            candidates.at[candidates.count++] = &stack->seen[i];
    *out = NULL;
    if (candidates.count < 2)
        return 0;
    for (size_t i = 0; i < report->scope_count && err >= 0; i++)
        err = add_scope(report, &report->scopes[i], &presences[i], &candidates);
    for (size_t i = 1; i < candidates.count; i++)
        if (candidates.sum[i] > candidates.sum[best])
            best = i;
    *out = candidates.at[best];
    return err;
}

static void put_who(struct emit *emit, const struct report_process *process)
{
    char text[64];
    if (process->rank == REPORT_ANY)
        snprintf(text, sizeof text, "%" PRId64 " (pid %" PRId64 ")", process->id, process->pid);
    else
        snprintf(text, sizeof text, "%" PRId64 " (pid %" PRId64 ", rank %" PRId64 ")", process->id,
                 process->pid, process->rank);
    emit_text(emit, text);
}

static void put_row(struct emit *emit, const struct ladder_seen *at,
                    const struct report_process *process, const int64_t *bytes)
{
    if (process)
        emit_int(emit, process->id);
    else
        emit_null(emit);
    emit_text(emit, at->scope->device_text);
    emit_int(emit, at->instant.seq);
    if (process)
        put_who(emit, process);
    else
        emit_text(emit, "together");
    for (size_t i = 0; i < STEPS; i++)
        emit_known(emit, bytes[i]);
}

/* What one of them does not know, is not known of all. */
static void add(int64_t *sum, const struct ladder_facts *facts, int64_t *bytes)
{
    for (size_t i = 0; i < STEPS; i++) {
        bytes[i] = facts->bytes[steps[i]];
        bool known = sum[i] != LADDER_NONE && bytes[i] != LADDER_NONE;
        sum[i] = known ? sum[i] + bytes[i] : LADDER_NONE;
    }
}

static int put_device(struct report *report, const struct presence *presences,
                      const struct ladder_seen *at)
{
    struct emit *emit = &report->emit;
    int64_t sum[STEPS] = {0};
    char title[192], time[HUMAN_MAX];
    struct ladder_facts facts;
    int err = 0;
    snprintf(title, sizeof title,
             "All processes on %s at the moment of process %" PRId64 " (seq %" PRId64 ", %s)",
             at->scope->device_text, at->scope->process.id, at->instant.seq,
             human_ns(time, at->instant.at_ns));
    EMIT_SECTION(emit, "stack", title, EMIT_ROWS, columns);
    for (size_t i = 0; i < report->scope_count && err >= 0; i++) {
        const struct report_scope *scope = &report->scopes[i];
        int64_t bytes[STEPS] = {0, LADDER_NONE, LADDER_NONE};
        if (scope->device != at->scope->device)
            continue;
        if (is_there(&presences[i], at, scope)) {
            err = read_one(report, at, scope, &facts);
            add(sum, &facts, bytes);
        }
        put_row(emit, at, &scope->process, bytes);
    }
    put_row(emit, at, NULL, sum);
    return err;
}

static bool is_first_of_device(const struct ladder_stack *stack, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (stack->seen[i].scope->device == stack->seen[at].scope->device)
            return false;
    return true;
}

int ladder_stack_put(struct report *report, const struct ladder_stack *stack)
{
    struct presence *presences;
    const struct ladder_seen *at = NULL;
    int err = read_presences(report, &presences);
    for (size_t i = 0; i < stack->count && err >= 0; i++) {
        if (!is_first_of_device(stack, i))
            continue;
        err = highest(report, presences, stack, i, &at);
        if (err >= 0 && at)
            err = put_device(report, presences, at);
    }
    mem_free(presences);
    return err;
}

void ladder_stack_clear(struct ladder_stack *stack)
{
    mem_free(stack->seen);
    *stack = (struct ladder_stack){0};
}
