/*
 * retention.c - when something goes, and how much at once. See retention.h.
 */
#include "retention.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "retention_types.h"

/* The parts of a limit: from half of it on things go; close to it, sooner and more. */
#define HALF(bytes) ((bytes) / 2)
#define NEAR(bytes) ((bytes) - (bytes) / 8)
/* At once: for what is done under a savepoint SQLite remembers all pages, and goes through that
 * list after each statement. */
#define SLICE_ROWS 1000
/* Of `keep_steps`, while batches wait to be written: some hundred megabytes that should have gone.
 */
#define MOST_EVENTS_DUE 2000000
#define MOST_REWRITTEN ((int64_t)1 << 30) /* at the end: seconds, for somebody is waiting */

/* ---- life ---- */

static int read_page_bytes(struct retention *retention)
{
    int64_t page_size = 0;
    int err = query_read(retention->db, "PRAGMA page_size", Q_NOTHING, Q_OUT(Q_INT(page_size)));
    retention->page_bytes = page_size;
    return err;
}

/* The log's file shrinks to what it may hold, whatever a reader made of it. */
static int bound_log(struct retention *retention)
{
    char text[80];
    snprintf(text, sizeof text, "PRAGMA journal_size_limit=%" PRIu64,
             retention_log_bytes(retention, INT64_MAX));
    return db_exec(retention->db, text);
}

int retention_new(struct retention **out, struct db *db, const struct retention_options *options)
{
    *out = NULL;
    if (!options || (!options->keep_steps && !options->max_bytes))
        return 0;
    struct retention *made = mem_alloc(1, sizeof *made);
    if (!made)
        return ERR_NOMEM;
    made->db = db;
    made->options = *options;
    made->forgotten_ns = -1;
    for (int i = 0; i < RETENTION_TURNS; i++)
        made->turns[i].end_ns = made->turns[i].id = -1;
    made->window = options->keep_steps ? options->keep_steps : RETENTION_WINDOW;
    int err = read_page_bytes(made);
    if (err == 0 && retention_has_limit(made))
        err = bound_log(made);
    if (err < 0) {
        retention_free(made);
        return err;
    }
    *out = made;
    return 0;
}

void retention_free(struct retention *retention)
{
    if (!retention)
        return;
    for (int i = 0; i < RETENTION_STATEMENTS; i++)
        db_finalize(retention->statements[i]);
    while (retention->process_count)
        retention_process_forget(retention, retention->process_count - 1);
    retention_drop_sums(retention);
    mem_free(retention->processes);
    map_clear(&retention->places);
    map_clear(&retention->heaps);
    mem_free(retention);
}

/* ---- a round ---- */

static int look(struct retention *retention)
{
    int64_t page_count = 0, freelist_count = 0;
    assert(retention->page_bytes > 0);
    int err = retention_first(retention, RETENTION_PAGES, Q_NOTHING, Q_OUT(Q_INT(page_count)));
    if (err >= 0)
        err = retention_first(retention, RETENTION_FREE_PAGES, Q_NOTHING,
                              Q_OUT(Q_INT(freelist_count)));
    retention->used = (page_count - freelist_count) * retention->page_bytes;
    retention->file_bytes =
        page_count * retention->page_bytes + (int64_t)db_log_bytes(retention->db);
    if (retention->file_bytes > retention->most_bytes)
        retention->most_bytes = retention->file_bytes;
    return err < 0 ? err : 0;
}

/* After something became due. */
static int decide_and_look(struct retention *retention, int64_t *rows)
{
    --*rows;
    int err = retention_decide_all(retention, rows);
    if (err == 0)
        err = retention_put_sums(retention);
    return err < 0 ? err : look(retention);
}

static bool is_tight(const struct retention *retention)
{
    return retention->file_bytes > retention->options.max_bytes - retention->options.max_bytes / 20;
}

/* The next process that has ended, in its first turn or, after all had that, in its second. */
static int decide_ended(struct retention *retention, int64_t *rows, bool *any)
{
    int err = retention_ended_next(retention, RETENTION_SHORTEN, rows, any);
    assert(retention_has_limit(retention));
    return err < 0 || *any ? err : retention_ended_next(retention, RETENTION_GIVE_UP, rows, any);
}

/* Those that ended while there was room have their first turn. */
static int shorten_ended(struct retention *retention, int64_t *rows)
{
    bool any = true;
    int err = 0;
    while (err == 0 && any && *rows > 0 && retention->used > HALF(retention->options.max_bytes)) {
        err = retention_ended_next(retention, RETENTION_SHORTEN, rows, &any);
        if (err == 0 && any)
            err = decide_and_look(retention, rows);
    }
    return err;
}

/* Nothing is to come that room is wanted for: the last process has ended. */
static bool is_over(const struct retention *retention)
{
    return retention->process_count == retention->ended_waiting && !is_tight(retention);
}

/* No unit is due and it is still too much: the window grows shorter, then processes that ended give
 * up what they still have, one after the other until it is enough. */
static int make_room(struct retention *retention, int64_t *rows)
{
    bool any = !is_over(retention);
    int err = 0;
    while (err == 0 && any && retention->used > NEAR(retention->options.max_bytes)) {
        if (*rows <= 0)
            return 0;
        if (retention->window > RETENTION_LEAST)
            retention->window =
                retention->window / 2 > RETENTION_LEAST ? retention->window / 2 : RETENTION_LEAST;
        else
            err = decide_ended(retention, rows, &any);
        if (err == 0)
            err = decide_and_look(retention, rows);
        any |= *rows <= 0; /* what is due was not looked through to its end */
    }
    bool full = !any && is_tight(retention) && retention->used > NEAR(retention->options.max_bytes);
    return err == 0 && full ? ERR_LIMIT : err;
}

/* What is due, rows of it. */
static int drop_some(struct retention *retention, int64_t *rows)
{
    int err = retention_decide_all(retention, rows);
    if (err == 0)
        err = retention_put_sums(retention);
    if (err == 0 && *rows > 0 && retention_has_limit(retention)) {
        err = look(retention);
        if (err == 0)
            err = shorten_ended(retention, rows);
        if (err == 0)
            err = make_room(retention, rows);
    }
    return err;
}

/* Where memory runs out half-way, nothing of it was done. */
static int drop_or_undo(struct retention *retention, int64_t *rows)
{
    int err = db_exec(retention->db, "SAVEPOINT thinning");
    if (err < 0)
        return err;
    err = drop_some(retention, rows);
    if (err == ERR_NOMEM && db_in_transaction(retention->db)) {
        retention_rolled_back(retention);
        retention->blind = true;
        err = db_exec(retention->db, "ROLLBACK TO thinning") < 0 ? ERR_IO : 0;
    }
    if (err == 0 || err == ERR_LIMIT) {
        int released = db_exec(retention->db, "RELEASE thinning");
        err = err < 0 ? err : released;
    }
    return err;
}

/* Slice by slice until nothing is due, or `rows` were looked at and the file is not so close to its
 * limit that it has to take the time it takes. */
static int drop_in_slices(struct retention *retention, int64_t rows)
{
    bool more = true;
    int err = 0;
    while (err == 0 && more && !retention->blind &&
           (rows > 0 || (retention_has_limit(retention) && is_tight(retention)))) {
        int64_t left = SLICE_ROWS;
        err = drop_or_undo(retention, &left);
        rows -= SLICE_ROWS - left;
        more = left <= 0;
        if (retention->queue)
            queue_tick(retention->queue);
    }
    return err;
}

static int work(struct retention *retention, int64_t rows)
{
    bool limited = retention_has_limit(retention);
    int err = look(retention);
    if (err == 0 && retention->blind)
        return limited && is_tight(retention) ? ERR_LIMIT : 0;
    retention->pressed = limited && retention->used > HALF(retention->options.max_bytes);
    if (err < 0 || (!retention->pressed && !retention->options.keep_steps))
        return err;
    if (retention->used > NEAR(retention->options.max_bytes))
        rows *= 4;
    return drop_in_slices(retention, rows);
}

int retention_work(struct retention *retention, int64_t rows)
{
    int err = retention ? work(retention, rows) : 0;
    if (err != ERR_NOMEM || !db_in_transaction(retention->db))
        return err;
    retention->blind = true;
    return 0;
}

void retention_rolled_back(struct retention *retention)
{
    if (!retention)
        return;
    for (size_t i = 0; i < retention->process_count; i++) {
        memset(retention->processes[i].thin, 0, sizeof retention->processes[i].thin);
        retention->processes[i].left_count = 0; /* whose blocks are there again, is not known */
    }
    retention_drop_sums(retention);
}

/* Events of units that are due. */
static int64_t events_due(const struct retention *retention)
{
    int64_t events = 0;
    for (size_t i = 0; i < retention->process_count; i++) {
        const struct retention_process *process = &retention->processes[i];
        int64_t due = retention_units_due(retention, process);
        const struct retention_unit *next = process->units + process->head;
        events += due > 0 ? next[due].begin - next->begin : 0;
    }
    return events;
}

bool retention_can_wait(const struct retention *retention, uint64_t bytes)
{
    if (!retention)
        return true;
    if (retention->options.keep_steps && events_due(retention) > MOST_EVENTS_DUE)
        return false;
    return !retention_has_limit(retention) ||
           retention->used + (int64_t)bytes < NEAR(retention->options.max_bytes);
}

bool retention_is_behind(const struct retention *retention)
{
    return retention && !retention->blind && retention->options.keep_steps &&
           events_due(retention) > 0;
}

bool retention_is_hollow(struct retention *retention)
{
    if (!retention || look(retention) < 0)
        return false;
    int64_t beside = retention->file_bytes + retention->used;
    return retention->used <= MOST_REWRITTEN &&
           retention->used <= retention->file_bytes - retention->file_bytes / 4 &&
           (!retention_has_limit(retention) || beside <= retention->options.max_bytes);
}

void retention_tick(struct retention *retention, struct queue *queue)
{
    if (retention)
        retention->queue = queue;
}

uint64_t retention_most_bytes(const struct retention *retention)
{
    return retention ? (uint64_t)retention->most_bytes : 0;
}

uint64_t retention_log_bytes(const struct retention *retention, uint64_t usual)
{
    if (!retention || !retention_has_limit(retention))
        return usual;
    uint64_t part = (uint64_t)retention->options.max_bytes / 16;
    return part < usual ? part : usual;
}

size_t retention_processes(const struct retention *retention)
{
    return retention ? retention->process_count : 0;
}
