/*
 * retention.c - what is decided, and when. See retention.h.
 */
#include "retention.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "retention_types.h"
#include "search.h"

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

static const char *const texts[RETENTION_STATEMENTS] = {
    [RETENTION_PAGES] = "PRAGMA page_count",
    [RETENTION_FREE_PAGES] = "PRAGMA freelist_count",
    [RETENTION_ROW] = "SELECT heap, site, size, free_seq, seq FROM allocation WHERE seq = ?1",
    [RETENTION_ROWS_OF] = "SELECT heap, site, size, free_seq, seq FROM allocation"
                          " WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq",
    [RETENTION_DROP_ROWS] = "DELETE FROM allocation WHERE seq BETWEEN ?1 AND ?2",
    [RETENTION_DROP_IDLE] = "DELETE FROM idle WHERE allocation BETWEEN ?1 AND ?2",
    [RETENTION_DROP_THEIR_PHASE] =
        "DELETE FROM allocation_phase WHERE allocation BETWEEN ?1 AND ?2",
    [RETENTION_DROP_FRAMES] = "DELETE FROM keyframe WHERE seq BETWEEN ?1 AND ?2",
    [RETENTION_DROP_MARKS] = "DELETE FROM mark WHERE seq BETWEEN ?1 AND ?2 AND process = ?3",
    [RETENTION_DROP_ACTIVITIES] =
        "DELETE FROM activity WHERE seq BETWEEN ?1 AND ?2 AND process = ?3",
    [RETENTION_DROP_DRIVER] = "DELETE FROM driver_memory WHERE seq BETWEEN ?1 AND ?2"
                              " AND process = ?3 AND free_seq BETWEEN ?1 AND ?2"
                              " AND kind IN ('async', 'graph')",
    [RETENTION_DROP_SAMPLES] =
        "WITH mine(begin_ns, end_ns) AS (SELECT min(ph.begin_ns), max(ph.end_ns) FROM stretch st"
        "   JOIN phase ph ON ph.id = st.phase"
        "  WHERE st.process = ?3 AND st.begin_seq BETWEEN ?1 AND ?2)"
        " DELETE FROM sample WHERE process = ?3 AND at_ns > (SELECT begin_ns FROM mine)"
        "   AND at_ns < (SELECT end_ns FROM mine)",
    [RETENTION_SUM_SITE] =
        "INSERT INTO site_sum VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"
        " ON CONFLICT(heap, site) DO UPDATE SET blocks = blocks + ?3, bytes = bytes + ?4,"
        " largest = max(largest, ?5), first_seq = min(first_seq, ?6),"
        " last_seq = max(last_seq, ?7)",
    [RETENTION_STRETCHES] = "SELECT begin_seq, phase FROM stretch"
                            " WHERE process = ?1 AND begin_seq BETWEEN ?2 AND ?3"
                            " ORDER BY begin_seq",
    [RETENTION_OWN_PHASES] = "SELECT phase FROM allocation_phase WHERE allocation BETWEEN ?1"
                             " AND ?2",
    [RETENTION_HAS_BIRTH] = "SELECT (SELECT count(*) FROM allocation_phase"
                            "         WHERE allocation BETWEEN ?1 AND ?2 AND phase = ?3)"
                            " + (SELECT count(*) FROM phase"
                            "     WHERE id BETWEEN ?3 + 1 AND ?4 AND parent = ?3)",
    [RETENTION_PHASES_OF] = "SELECT id, parent, end_seq, begin_seq, kind = 'backward',"
                            " scope = 'thread'"
                            "  FROM phase"
                            " WHERE id BETWEEN ?1 AND ?2 AND process = ?3"
                            "   AND settled IS NOT NULL ORDER BY id",
    [RETENTION_SUM_PHASE] =
        "INSERT INTO phase_sum SELECT ph.process, pd.device, ph.kind, ph.name, 1,"
        " ph.end_ns - ph.begin_ns, pd.allocs, pd.frees, pd.alloc_bytes, pd.peak_allocated,"
        " ph.begin_seq, ph.end_seq"
        "  FROM phase ph JOIN phase_device pd ON pd.phase = ph.id WHERE ph.id = ?1"
        " ON CONFLICT(process, device, kind, name) DO UPDATE SET phases = phases + 1,"
        " ns = ns + excluded.ns, allocs = allocs + excluded.allocs,"
        " frees = frees + excluded.frees, alloc_bytes = alloc_bytes + excluded.alloc_bytes,"
        " peak_allocated = max(peak_allocated, excluded.peak_allocated),"
        " first_seq = min(first_seq, excluded.first_seq),"
        " last_seq = max(last_seq, excluded.last_seq)",
    [RETENTION_DROP_PARTS] = "DELETE FROM phase_device WHERE phase = ?1",
    [RETENTION_DROP_PHASE] = "DELETE FROM phase WHERE id = ?1",
    [RETENTION_DROP_STRETCHES] =
        "DELETE FROM stretch WHERE phase = ?1"
        " AND process = (SELECT process FROM phase WHERE id = ?1)"
        " AND begin_seq BETWEEN (SELECT begin_seq FROM phase WHERE id = ?1)"
        "                   AND (SELECT end_seq FROM phase WHERE id = ?1)",
    [RETENTION_NEW_THIN] = "INSERT INTO thinned VALUES(?1, ?2, ?3, ?4, ?5)",
    [RETENTION_LAST_ROW] = "SELECT last_insert_rowid()",
    [RETENTION_GROW_THIN] = "UPDATE thinned SET first_seq = ?2, last_seq = ?3, n = ?4"
                            " WHERE rowid = ?1",
    [RETENTION_ENDED_PROCESSES] =
        "SELECT id, end_ns, first_seq, last_seq FROM process"
        " WHERE first_seq IS NOT NULL AND (end_ns > ?1 OR end_ns = ?1 AND id > ?2)"
        " ORDER BY end_ns, id LIMIT ?3",
    [RETENTION_HEAPS_OF] = "SELECT id FROM heap WHERE process = ?1",
    [RETENTION_PHASE_SPAN] = "SELECT min(phase), max(phase) FROM stretch WHERE process = ?1",
    [RETENTION_STEPS_OF] = "SELECT step, min(begin_seq), min(id), max(id) FROM phase"
                           " WHERE id BETWEEN ?1 AND ?2 AND process = ?3 AND step IS NOT NULL"
                           " GROUP BY step ORDER BY 2",
    [RETENTION_PEAKS_OF] =
        "SELECT device, max_allocated_seq, max(max_allocated) FROM phase_device"
        " WHERE phase BETWEEN ?1 AND ?2 AND max_allocated_seq IS NOT NULL"
        " AND (SELECT process FROM phase WHERE id = phase_device.phase) = ?3 GROUP BY device",
    [RETENTION_PROCESS_OF_PHASE] = "SELECT process FROM phase WHERE id = ?1",
    [RETENTION_OOMS_OF] = "SELECT seq FROM oom WHERE process = ?1 ORDER BY seq",
    [RETENTION_DROP_CURVE] =
        "DELETE FROM curve WHERE heap = ?1 AND quantity = ?2 AND level < (SELECT min(level)"
        " FROM (SELECT level FROM curve WHERE heap = ?1 AND quantity = ?2"
        "       GROUP BY level HAVING count(*) <= ?3))",
};

struct db_stmt *retention_statement(struct retention *retention, enum retention_statement which,
                                    int *err)
{
    *err = 0;
    if (!retention->statements[which])
        *err = db_prepare(retention->db, &retention->statements[which], texts[which]);
    return *err < 0 ? NULL : retention->statements[which];
}

static int ask(struct retention *retention, enum retention_statement which, int64_t *out)
{
    int err;
    struct db_stmt *stmt = retention_statement(retention, which, &err);
    if (err < 0)
        return err;
    err = db_step(stmt);
    *out = err == DB_ROW ? db_column_int(stmt, 0) : 0;
    db_reset(stmt);
    return err < 0 ? err : 0;
}

/* ---- life ---- */

static int read_page_bytes(struct retention *retention)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(retention->db, &stmt, "PRAGMA page_size");
    if (err == 0 && (err = db_step(stmt)) == DB_ROW)
        retention->page_bytes = db_column_int(stmt, 0);
    db_finalize(stmt);
    return err < 0 ? err : 0;
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

/* ---- what is kept ---- */

bool retention_meets(const struct retention_process *process, int64_t first, int64_t last)
{
    size_t at; /* the first that ends behind `first` */
    SEARCH_FIRST(at, 0, process->kept_count, process->kept[at].end <= first);
    return at < process->kept_count && process->kept[at].begin <= last;
}

static bool has_peak(const struct retention_process *process, int64_t begin, int64_t end)
{
    for (size_t i = process->peak_count; i-- > 0;)
        if (process->peaks[i].seq >= begin && process->peaks[i].seq < end)
            return true;
    return false;
}

static bool ran_out(const struct retention_process *process, int64_t begin, int64_t end)
{
    for (size_t i = process->oom_count; i-- > 0;)
        if (process->ooms[i] >= begin && process->ooms[i] < end)
            return true;
    return false;
}

/* Unit number `at` from `head`, which has one behind it. */
static struct retention_kept unit_at(const struct retention_process *process, size_t at)
{
    const struct retention_unit *unit = &process->units[process->head + at];
    return (struct retention_kept){unit->begin, unit[1].begin, unit->first_phase, unit->last_phase,
                                   false};
}

static bool is_marked(const struct retention_process *process, const struct retention_kept *unit)
{
    return has_peak(process, unit->begin, unit->end) || ran_out(process, unit->begin, unit->end);
}

static void unit_is_decided(struct retention_process *process, const struct retention_kept *unit,
                            bool marked)
{
    process->decided = unit->end;
    process->marked = marked;
    process->head++;
    while (process->oom_count && process->ooms[0] < unit->begin) /* its neighbours are decided */
        memmove(process->ooms, process->ooms + 1, --process->oom_count * sizeof *process->ooms);
}

static int put_thinned(struct retention *retention, const struct retention_process *process,
                       enum retention_what what, struct retention_thin *thin)
{
    int err;
    bool fresh = thin->rowid == 0;
    struct db_stmt *stmt =
        retention_statement(retention, fresh ? RETENTION_NEW_THIN : RETENTION_GROW_THIN, &err);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, fresh ? process->id : thin->rowid);
    db_bind_int(stmt, 1, thin->first);
    db_bind_int(stmt, 2, thin->last);
    if (fresh)
        db_bind_text(stmt, 3, what == RETENTION_ROWS ? "blocks" : "phases", -1);
    db_bind_int(stmt, fresh ? 4 : 3, thin->count);
    err = db_run(stmt);
    if (err == 0 && fresh)
        err = ask(retention, RETENTION_LAST_ROW, &thin->rowid);
    thin->changed = false;
    return err;
}

static int put_all_thinned(struct retention *retention, struct retention_process *process)
{
    int err = 0;
    for (int i = 0; i < RETENTION_WHATS && err == 0; i++)
        if (process->thin[i].changed)
            err = put_thinned(retention, process, (enum retention_what)i, &process->thin[i]);
    return err;
}

/* What goes behind it is another row of `thinned`. It is kept even if that cannot be written. */
static int keep(struct retention *retention, struct retention_process *process,
                const struct retention_kept *unit)
{
    if (!MEM_GROW(process->kept, process->kept_cap, process->kept_count + 1))
        return ERR_NOMEM;
    process->kept[process->kept_count++] = *unit;
    int err = put_all_thinned(retention, process);
    memset(process->thin, 0, sizeof process->thin);
    return err;
}

/* In the kept unit, or in the one before or behind it. */
static bool has_peak_near(const struct retention_process *process, size_t at)
{
    const struct retention_kept *unit = &process->kept[at];
    bool before = at && unit[-1].end == unit->begin;
    bool behind = at + 1 < process->kept_count && unit[1].begin == unit->end;
    return has_peak(process, before ? unit[-1].begin : unit->begin,
                    behind ? unit[1].end : unit->end);
}

/* Peaks that were outdone, where only the highest stays: their units go after all. */
static int drop_outdone(struct retention *retention, struct retention_process *process,
                        int64_t *rows)
{
    int err = 0;
    bool any = false;
    for (size_t i = 0; i < process->kept_count && err == 0; i++) {
        struct retention_kept unit = process->kept[i];
        if (unit.for_good || has_peak_near(process, i))
            continue;
        memmove(&process->kept[i], &process->kept[i + 1],
                (--process->kept_count - i) * sizeof *process->kept);
        i--;
        any = true;
        err = retention_drop(retention, process, &unit, rows);
    }
    return any && err == 0 ? retention_drop_spared(retention, process, rows) : err;
}

/* ---- deciding ---- */

static int decide_one(struct retention *retention, struct retention_process *process, int64_t *rows)
{
    struct retention_kept unit = unit_at(process, 0), next = unit_at(process, 1);
    bool first = process->firsts < RETENTION_FIRST, marked = is_marked(process, &unit);
    int err = 0;
    --*rows;
    unit.for_good = first || ran_out(process, unit.begin, unit.end) ||
                    ran_out(process, next.begin, next.end) || !retention_has_limit(retention);
    if (first || marked || process->marked || is_marked(process, &next)) {
        process->firsts += first;
        err = keep(retention, process, &unit);
        if (err == 0)
            err = retention_spare(retention, process, &unit, rows);
    } else {
        err = retention_drop(retention, process, &unit, rows);
    }
    unit_is_decided(process, &unit, marked);
    if (err == 0 && retention_has_limit(retention) && marked)
        err = drop_outdone(retention, process, rows);
    return err;
}

/* A unit, and the one behind it, are complete once the window has left them. Of processes that have
 * ended there may be any number: where there is a limit, the end of each is short. */
static int64_t units_due(const struct retention *retention, const struct retention_process *process)
{
    int64_t left = (int64_t)(process->count - process->head);
    if (process->again)
        return left - process->spare - 2; /* that are behind its end */
    bool is_short = process->ended && retention_has_limit(retention);
    return left - (is_short ? RETENTION_LEAST : retention->window) - 1;
}

static int decide(struct retention *retention, struct retention_process *process, int64_t *rows)
{
    int err = 0;
    while (err == 0 && *rows > 0 && units_due(retention, process) > 0)
        err = decide_one(retention, process, rows);
    return err < 0 ? err : put_all_thinned(retention, process);
}

/* A process that has ended is forgotten when all is decided that can be. */
static int decide_all(struct retention *retention, int64_t *rows)
{
    int err = 0;
    for (size_t i = 0; i < retention->process_count && err == 0;) {
        struct retention_process *process = &retention->processes[i];
        err = decide(retention, process, rows);
        if (err == 0 && process->ended && units_due(retention, process) <= 0)
            retention_process_forget(retention, i);
        else
            i++;
    }
    return err;
}

/* ---- a round ---- */

static int look(struct retention *retention)
{
    int64_t pages = 0, unused = 0;
    int err = ask(retention, RETENTION_PAGES, &pages);
    if (err == 0)
        err = ask(retention, RETENTION_FREE_PAGES, &unused);
    retention->used = (pages - unused) * retention->page_bytes;
    retention->file_bytes = pages * retention->page_bytes + (int64_t)db_log_bytes(retention->db);
    if (retention->file_bytes > retention->most_bytes)
        retention->most_bytes = retention->file_bytes;
    return err;
}

/* After something became due. */
static int decide_and_look(struct retention *retention, int64_t *rows)
{
    --*rows;
    int err = decide_all(retention, rows);
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
    int err = decide_all(retention, rows);
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
        int64_t due = units_due(retention, process);
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

/* ---- validity ---- */

static bool blocks_are_valid(const struct retention_process *process)
{
    for (size_t i = 0; i < process->late.count; i++) {
        const struct retention_block *block = &process->late.at[i];
        if (block->seq >= process->decided || block->free_seq < block->seq ||
            (i && process->late.at[(i - 1) / 2].free_seq > block->free_seq))
            return false;
    }
    for (size_t i = 0; i < process->spared.count; i++)
        if (!retention_meets(process, process->spared.at[i].seq, process->spared.at[i].free_seq))
            return false;
    return true;
}

static bool process_is_valid(const struct retention_process *process)
{
    for (size_t i = process->head; i + 1 < process->count; i++)
        if (process->units[i].begin >= process->units[i + 1].begin)
            return false;
    for (size_t i = 0; i < process->kept_count; i++)
        if (process->kept[i].begin >= process->kept[i].end ||
            process->kept[i].end > process->decided ||
            (i && process->kept[i - 1].end > process->kept[i].begin))
            return false;
    for (size_t i = 0; i < process->left_count; i++)
        if (process->left[i].blocks <= 0 ||
            (i && process->left[i - 1].end > process->left[i].begin))
            return false;
    return process->head <= process->count && blocks_are_valid(process);
}

bool retention_is_valid(const struct retention *retention)
{
    size_t heaps = 0, ended = 0;
    for (size_t i = 0; retention && i < retention->process_count; i++) {
        heaps += retention->processes[i].heap_count;
        ended += retention->processes[i].ended;
        if (!process_is_valid(&retention->processes[i]) ||
            map_get(&retention->places, (uint64_t)retention->processes[i].id) != i)
            return false;
    }
    return !retention || (retention->places.count == retention->process_count &&
                          retention->heaps.count == heaps && retention->ended_waiting == ended);
}
