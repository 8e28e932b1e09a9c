#include "state_process.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "state_meters.h"
#include "state_types.h"
#include "utf8.h"

#define SOURCES_MAX ((size_t)16384) /* bytes of process.live, of process.why_not */

/* A copy that a database takes; NULL stays NULL. False without memory. */
static bool copy_text(const char **out, const char *text)
{
    *out = NULL;
    if (!text)
        return true;
    size_t bytes = strlen(text);
    char *copy = mem_copy(text, bytes);
    if (copy)
        utf8_clean((unsigned char *)copy, bytes);
    *out = copy;
    return copy != NULL;
}

static void free_text(const char **text)
{
    mem_free((void *)(uintptr_t)*text);
    *text = NULL;
}

static bool put_process(const struct state_process *process)
{
    const struct state_hello *hello = &process->hello;
    struct row_process row = {
        .id = process->account.id,
        .pid = hello->pid,
        .parent = row_opt(hello->parent),
        .origin = hello->origin,
        .start_ns = process->start_ns,
        .end_ns = row_opt(process->end_ns),
        .rank = row_opt(hello->rank),
        .local_rank = row_opt(hello->local_rank),
        .world_size = row_opt(hello->world_size),
        .host = hello->host,
        .argv = hello->argv,
        .live = hello->live,
        .why_not = hello->why_not,
        .ended = process->end.ended,
        .exit_code = row_opt(process->end.exit_code),
        .signal = row_opt(process->end.signal),
        .first_seq = row_opt(process->first_seq),
        .last_seq = row_opt(process->last_seq),
        .events = row_opt(ledger_cut(process->events)),
    };
    return batch_put_process(process->state->ledger.batch, &row);
}

static bool copy_hello(struct state_process *process, const struct state_hello *hello)
{
    struct state_hello *own = &process->hello;
    *own = *hello;
    bool hidden = process->state->options.private;
    bool origin = copy_text(&own->origin, hello->origin ? hello->origin : "spawn");
    bool host = copy_text(&own->host, hidden ? NULL : hello->host);
    bool argv = copy_text(&own->argv, hidden ? NULL : hello->argv);
    bool live = copy_text(&own->live, hello->live);
    bool why_not = copy_text(&own->why_not, hello->why_not);
    return origin && host && argv && live && why_not;
}

static void forget_contents(struct state_process *process)
{
    driver_forget(&process->driver);
    heap_forget(&process->heaps);
    phase_forget(&process->phases);
    names_let_go(process->defs);
    process->defs = NULL;
}

void process_free(struct state_process *process)
{
    assert(!process->before || process->before->next == process);
    assert(process->before || process->state->processes == process);
    forget_contents(process);
    if (process->before)
        process->before->next = process->next;
    else
        process->state->processes = process->next;
    if (process->next)
        process->next->before = process->before;
    free_text(&process->hello.origin);
    free_text(&process->hello.host);
    free_text(&process->hello.argv);
    free_text(&process->hello.live);
    free_text(&process->hello.why_not);
    mem_free(process);
}

static void open_rooms(struct state_process *process)
{
    process->heaps.account = process->driver.account = &process->account;
    process->heaps.ledger = process->driver.ledger = process->account.ledger;
    process->heaps.defs = process->driver.defs = process->defs;
    process->heaps.pool = &process->state->pool;
    process->heaps.comes = state_device_comes;
    process->heaps.context = process;
    process->driver.heaps = &process->heaps;
    process->phases.account = &process->account;
    process->phases.ledger = process->account.ledger;
    process->phases.names = &process->state->names;
    process->phases.defs = process->defs;
    process->phases.heaps = &process->heaps;
    process->phases.ends = state_phase_ends;
    process->phases.context = process;
}

struct state_process *state_process_begin(struct state *state, const struct state_hello *hello)
{
    struct state_process *process = mem_alloc(1, sizeof *process);
    if (!process)
        return NULL;
    process->state = state;
    process->next = state->processes;
    if (process->next)
        process->next->before = process;
    state->processes = process;
    process->account.id = state->process_count + 1;
    process->account.ledger = &state->ledger;
    process->start_ns = process->account.last_ns = ledger_ns(&state->ledger, hello->at_ns);
    process->first_seq = process->last_seq = BATCH_NULL;
    process->end_ns = BATCH_NULL;
    process->end = (struct state_end){.exit_code = BATCH_NULL, .signal = BATCH_NULL};
    process->account.notes.forked = hello->origin && strcmp(hello->origin, "fork") == 0;
    process->defs = names_new_defs(&state->names, &process->account);
    open_rooms(process);
    if (!process->defs || !copy_hello(process, hello) ||
        !phase_start(&process->phases, process->start_ns) || !put_process(process)) {
        process_free(process);
        return NULL;
    }
    state->process_count++;
    return process;
}

void state_process_inherit(struct state_process *process, const struct state_process *parent,
                           uint32_t count)
{
    names_inherit(process->defs, parent ? parent->defs : NULL, count);
}

int64_t state_process_id(const struct state_process *process)
{
    return process->account.id;
}

/* Without memory the old text stays: it was true when it was said. */
static void replace_text(struct state_process *process, const char **own, const char *text)
{
    const char *copy;
    if (!copy_text(&copy, text)) {
        note_owed(&process->account, OWED_FACT, 1);
        return;
    }
    free_text(own);
    *own = copy;
}

void state_process_live(struct state_process *process, const char *live, const char *why_not)
{
    replace_text(process, &process->hello.live, live);
    replace_text(process, &process->hello.why_not, why_not);
    process->changed = true;
}

/* One more word or sentence, unless it is there already. */
static bool holds(const char *list, const char *text, const char *between)
{
    size_t bytes = strlen(text), gap = strlen(between);
    for (const char *at = list; at && *at;) {
        const char *end = strstr(at, between);
        size_t length = end ? (size_t)(end - at) : strlen(at);
        if (length == bytes && memcmp(at, text, bytes) == 0)
            return true;
        at = end ? end + gap : NULL;
    }
    return false;
}

/*
 * Where text belongs among the words of list. Two sources start at once, in two threads or rings:
 * in the order of the alphabet, processes of which the same is true have the same text.
 */
static size_t place_of(const char *list, const char *text, const char *between)
{
    size_t at = 0;
    assert(*between);
    while (list && list[at]) {
        const char *end = strstr(list + at, between);
        size_t length = end ? (size_t)(end - list) - at : strlen(list + at);
        int order = strncmp(list + at, text, length);
        if (order > 0)
            return at;
        at = end ? at + length + strlen(between) : strlen(list);
    }
    return at;
}

/* list with text at that place. NULL: no memory. */
static char *with_word(const char *list, const char *text, const char *between, size_t at)
{
    const char *own = list ? list : "", *rest = own + at;
    const char *ahead = at && !*rest ? between : "", *behind = *rest ? between : "";
    size_t room = strlen(own) + strlen(between) + strlen(text) + 1;
    char *joined = mem_alloc(room, 1);
    if (joined)
        snprintf(joined, room, "%.*s%s%s%s%s", (int)at, own, ahead, text, behind, rest);
    return joined;
}

bool process_rank(struct state_process *process, const char *key, const char *value)
{
    struct state_hello *hello = &process->hello;
    bool is_size = strcmp(key, "world_size") == 0;
    int64_t *own = is_size ? &hello->world_size : &hello->rank;
    char *end;
    if (!is_size && strcmp(key, "rank") != 0)
        return false;
    long long number = strtoll(value, &end, 10);
    if (end == value || *end || number < 0 || number > INT32_MAX)
        return false;
    if (*own == BATCH_NULL)
        *own = number;
    process->changed = true;
    return true;
}

void process_source(struct state_process *process, const char *text, bool live)
{
    const char **own = live ? &process->hello.live : &process->hello.why_not;
    const char *between = live ? ", " : "; ";
    if (!*text || holds(*own, text, between))
        return;
    size_t before = *own ? strlen(*own) : 0;
    if (before + strlen(between) + strlen(text) > SOURCES_MAX) {
        note(&process->account, NOTE_UNKNOWN_NAME, NOTE_NO_ADDRESS, "too many sources");
        return;
    }
    /* Reasons are sentences: they stand as they came. */
    char *joined = with_word(*own, text, between, live ? place_of(*own, text, between) : before);
    if (!joined) {
        note_owed(&process->account, EVENT_MARK, 1);
        return;
    }
    free_text(own);
    *own = joined;
    process->changed = true;
    process->state->has_source = process->state->has_source || live;
}

void state_process_source(struct state_process *process, const char *live)
{
    process_source(process, live, true);
}

static void settle_row(struct state_process *process)
{
    if (process->changed && put_process(process))
        process->changed = false;
}

static bool settled(const struct state_process *process)
{
    return process->ended && !process->changed && !process->account.notes.owes;
}

void process_flush(struct state_process *process, bool commit)
{
    if (!process->ended) {
        phase_flush(&process->phases, commit);
        heap_flush_curves(&process->heaps);
    }
    if (commit || process->ended)
        settle_row(process);
    note_pay(&process->account);
    if (settled(process))
        process_free(process);
}

void state_take_meters(struct meters *out, const struct state_process *process, bool ended)
{
    struct metered metered = {
        .rank = process->hello.rank,
        .steps_seen = process->steps_seen,
        .lost = process->lost,
        .driver = &process->driver,
        .phases = &process->phases,
    };
    meters_take(out, &metered, ended);
}

static int64_t clamp_time(struct state_process *process, uint64_t at_ns)
{
    int64_t ns = ledger_ns(&process->state->ledger, at_ns);
    if (ns > process->account.last_ns)
        process->account.last_ns = ns;
    return process->account.last_ns;
}

void state_process_end(struct state_process *process, const struct state_end *end)
{
    phase_release_all(&process->phases);
    process->end_ns = clamp_time(process, end->at_ns);
    process->end = *end;
    strncpy(process->end_text, end->ended ? end->ended : "unknown", sizeof process->end_text - 1);
    process->end.ended = process->end_text;
    phase_end_all(&process->phases, process->end_ns);
    history_end(&process->heaps);
    driver_end(&process->driver);
    heap_flush_curves(&process->heaps);
    note_rest(&process->account);
    state_take_peaks(&process->state->peak, process);
    state_take_given(&process->state->given, process);
    state_take_meters(&process->state->gone, process, true);
    forget_contents(process);
    process->ended = true;
    process->changed = true;
    settle_row(process);
    note_pay(&process->account);
    if (settled(process))
        process_free(process);
}

void state_thread_end(struct state_process *process, uint32_t thread, uint64_t at_ns)
{
    phase_end_thread(&process->phases, thread, clamp_time(process, at_ns));
}

size_t state_open_threads(const struct state_process *process, uint32_t *threads, size_t max)
{
    return phase_threads(&process->phases, threads, max);
}

/* ---- the check ---- */

static bool process_is_valid(const struct state_process *process)
{
    if (!note_is_valid(&process->account))
        return false;
    if (process->ended)
        return process->heaps.device_count == 0 && process->heaps.count == 0;
    return process->account.last_ns >= process->start_ns && names_defs_are_valid(process->defs) &&
           process->last_seq <= process->state->ledger.seq && heap_is_valid(&process->heaps) &&
           driver_is_valid(&process->driver) && phase_is_valid(&process->phases);
}

static bool batch_is_valid(const struct batch *batch, int64_t seq)
{
    for (size_t i = 0; i < batch->alloc_count; i++) {
        const struct batch_alloc *row = &batch->allocs[i];
        bool living = row->life_ns == DB_LIVING_NS;
        if (row->seq > seq || (i && row->seq <= batch->allocs[i - 1].seq) ||
            living != (row->free_seq == DB_LIVING_SEQ) || (!living && row->life_ns < 0))
            return false;
    }
    return true;
}

bool state_is_valid(const struct state *state)
{
    for (const struct state_process *p = state->processes; p; p = p->next)
        if (p->state != state || !process_is_valid(p))
            return false;
    return heap_pool_is_valid(&state->pool) &&
           batch_is_valid(state->ledger.batch, state->ledger.seq) && names_are_valid(&state->names);
}
