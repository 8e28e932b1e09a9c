/*
 * What an input is, and what the merged recording says of itself: tables meta, clock and merged.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "buf.h"
#include "error.h"
#include "mem.h"
#include "merge_types.h"
#include "query.h"

/* ---- meta: what all inputs say alike stays ---- */

static struct merge_fact *find_fact(struct merge *merge, const char *key)
{
    for (size_t i = 0; i < merge->fact_count; i++)
        if (strcmp(merge->facts[i].key, key) == 0)
            return &merge->facts[i];
    return NULL;
}

static int add_fact(struct merge *merge, const char *key, const char *text, int64_t number)
{
    struct merge_fact fact = {.number = number, .inputs = 1};
    fact.key = mem_copy(key, strlen(key));
    fact.text = text ? mem_copy(text, strlen(text)) : NULL;
    if (!fact.key || (text && !fact.text) ||
        !MEM_GROW(merge->facts, merge->fact_cap, merge->fact_count + 1)) {
        mem_free(fact.key);
        mem_free(fact.text);
        return ERR_NOMEM;
    }
    merge->facts[merge->fact_count++] = fact;
    return 0;
}

static int take_fact(struct merge *merge, const char *key, const char *text, int64_t number)
{
    struct merge_fact *fact = find_fact(merge, key);
    if (!fact)
        return add_fact(merge, key, text, number);
    bool same =
        text ? fact->text && strcmp(fact->text, text) == 0 : !fact->text && fact->number == number;
    fact->inputs = same && fact->inputs ? fact->inputs + 1 : 0;
    return 0;
}

static int read_meta(struct merge *merge, struct merge_input *input, struct db *db)
{
    const char *key, *text;
    int64_t number;
    struct query query =
        query_ask(db,
                  "SELECT key, CASE typeof(value) WHEN 'text' THEN value END AS text,"
                  " CASE typeof(value) WHEN 'integer' THEN value END AS number FROM meta",
                  Q_NOTHING, Q_OUT(Q_TEXT(key), Q_NTEXT(text), Q_ANY(number)));
    while (query_next(&query)) {
        if (strcmp(key, "finished") == 0)
            input->finished = number == 1;
        else if (strcmp(key, "run_ns") == 0)
            input->side.run_ns = number > 0 && number < DB_LARGEST ? number : 0;
        else if (strcmp(key, "recorder_pid") == 0)
            input->recorder_pid = number;
        query_fail(&query, take_fact(merge, key, text, number));
    }
    return query_end(&query);
}

void merge_clear_facts(struct merge *merge)
{
    for (size_t i = 0; i < merge->fact_count; i++) {
        mem_free(merge->facts[i].key);
        mem_free(merge->facts[i].text);
    }
    mem_free(merge->facts);
    merge->facts = NULL;
    merge->fact_count = 0;
}

/* ---- the rest of what an input is ---- */

static int read_clock(struct merge_input *input, struct db *db)
{
    struct clock_side *side = &input->side;
    int64_t run_ns, monotonic_ns, real_ns, boot_ns;
    int err = query_first(
        db, "SELECT run_ns, monotonic_ns, real_ns, boot_ns FROM clock ORDER BY run_ns LIMIT 1",
        Q_NOTHING, Q_OUT(Q_INT(run_ns), Q_INT(monotonic_ns), Q_INT(real_ns), Q_INT(boot_ns)));
    if (err != DB_ROW)
        return err;
    side->calendar = real_ns > 0;
    side->real_ns = real_ns - run_ns;
    side->monotonic = monotonic_ns > 0;
    side->monotonic_ns = monotonic_ns - run_ns;
    input->boot_ns = boot_ns - run_ns;
    return 0;
}

static int read_ranks(struct merge_input *input, struct db *db)
{
    int64_t rank;
    struct query query = query_ask(db,
                                   "SELECT DISTINCT rank FROM process"
                                   " WHERE rank >= 0 AND coalesce(events, 1) > 0 ORDER BY rank",
                                   Q_NOTHING, Q_OUT(Q_INT(rank)));
    while (query_next(&query)) {
        if (MEM_GROW(input->ranks, input->rank_cap, input->rank_count + 1))
            input->ranks[input->rank_count++] = rank;
        else
            query_fail(&query, ERR_NOMEM);
    }
    return query_end(&query);
}

static int read_who(struct merge_input *input, struct db *db)
{
    char *host, *argv;
    int64_t world_size, damaged, is_merged;
    int err = query_first(
        db,
        "SELECT coalesce((SELECT value FROM meta WHERE key = 'host'),"
        "                (SELECT host FROM process WHERE host IS NOT NULL LIMIT 1)) AS host,"
        " (SELECT argv FROM process ORDER BY rank IS NULL, coalesce(events, 1) = 0, rank, id"
        "   LIMIT 1) AS argv,"
        " (SELECT max(world_size) FROM process) AS world_size,"
        " EXISTS (SELECT 1 FROM lost WHERE kind = 'damaged pages of blocks') AS damaged,"
        " EXISTS (SELECT 1 FROM merged) AS is_merged",
        Q_NOTHING,
        Q_OUT(Q_COPY(host), Q_COPY(argv), Q_INT(world_size), Q_INT(damaged), Q_INT(is_merged)));
    if (err != DB_ROW)
        return err < 0 ? err : 0;
    input->host = host;
    input->argv = argv;
    input->world_size = world_size;
    input->damaged = damaged;
    input->is_merged = is_merged;
    return 0;
}

/* Ids that are counted, the largest of each kind, and the last event that anything names. */
static int read_most(struct merge_input *input, struct db *db)
{
    int64_t process, device, heap, phase, loose, settled, seq, version;
    int err = query_first(
        db,
        "SELECT coalesce((SELECT max(id) FROM process), 0) AS process,"
        " coalesce((SELECT max(id) FROM device), 0) AS device,"
        " coalesce((SELECT max(id) FROM heap), 0) AS heap,"
        " coalesce((SELECT max(id) FROM phase WHERE id < 1099511627776), 0) AS phase,"
        " coalesce((SELECT max(id) - 1099511627775 FROM phase WHERE id >= 1099511627776), 0)"
        "   AS loose,"
        " coalesce((SELECT max(settled) FROM phase), 0) AS settled,"
        " coalesce((SELECT max(last_seq) FROM process WHERE last_seq < 1099511627776), 0) AS seq,"
        " (SELECT user_version FROM pragma_user_version) AS version",
        Q_NOTHING,
        Q_OUT(Q_INT(process), Q_INT(device), Q_INT(heap), Q_INT(phase), Q_INT(loose),
              Q_INT(settled), Q_INT(seq), Q_INT(version)));
    if (err != DB_ROW)
        return err;
    input->loose = loose;
    input->most[MERGE_PROCESS] = process;
    input->most[MERGE_DEVICE] = device;
    input->most[MERGE_HEAP] = heap;
    input->most[MERGE_PHASE] = phase + loose;
    input->most[MERGE_SETTLED] = settled;
    input->last_seq = seq;
    input->version = version;
    return 0;
}

static int take_most(struct merge *merge, struct merge_input *input)
{
    for (int kind = 0; kind < MERGE_KINDS; kind++) {
        if (input->most[kind] > MERGE_MOST_ID)
            return merge_damaged(merge, input, "a number of a row is %" PRId64, input->most[kind]);
        input->base[kind] = merge->next[kind];
    }
    return 0;
}

static int read_inode(struct merge_input *input)
{
    struct stat info;
    struct buf text = {0};
    if (stat(input->path, &info) < 0)
        return ERR_NOTFOUND;
    buf_print(&text, "%ju %ju", (uintmax_t)info.st_dev, (uintmax_t)info.st_ino);
    input->inode = text.data;
    return text.broken ? ERR_NOMEM : 0;
}

int merge_read_facts(struct merge *merge, struct merge_input *input, struct db *db)
{
    int err = read_inode(input);
    if (err == 0)
        err = read_meta(merge, input, db);
    if (err >= 0)
        err = read_clock(input, db);
    if (err >= 0)
        err = read_ranks(input, db);
    if (err >= 0)
        err = read_who(input, db);
    if (err >= 0)
        err = read_most(input, db);
    if (err < 0)
        return merge_input_failed(merge, input, db, err);
    input->side.host = input->host;
    return take_most(merge, input);
}

/* ---- what the merged one says ---- */

/* Written anew, or only true of one recorder. */
static bool is_own(const char *key)
{
    static const char *const keys[] = {
        "tidemark_version", "started", "start_monotonic_ns",
        "finished",         "run_ns",  "record_command",
        "recorder_pid",     "merged",  "private",
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

static int put_fact(struct merge *merge, const char *key, const char *text, int64_t number)
{
    struct query_value value = text ? query_text(text) : query_number(number);
    return query_run(merge->out, "INSERT INTO meta(key, value) VALUES(?1, ?2)", Q_IN(key, value));
}

static int put_started(struct merge *merge)
{
    const struct clock_side *first = &merge->inputs[0].side;
    int64_t real_ns = first->real_ns - first->offset;
    char text[64];
    struct tm utc;
    time_t seconds = (time_t)(real_ns / 1000000000);
    int err = 0;
    if (first->calendar && gmtime_r(&seconds, &utc)) {
        size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
        snprintf(text + n, sizeof text - n, ".%06dZ", (int)(real_ns % 1000000000 / 1000));
        err = put_fact(merge, "started", text, 0);
    }
    if (err == 0 && first->monotonic)
        err = put_fact(merge, "start_monotonic_ns", NULL, first->monotonic_ns - first->offset);
    return err;
}

static int put_agreed(struct merge *merge)
{
    int err = 0;
    for (size_t i = 0; i < merge->fact_count && err == 0; i++) {
        const struct merge_fact *fact = &merge->facts[i];
        if (!is_own(fact->key) && fact->inputs == merge->options->count)
            err = put_fact(merge, fact->key, fact->text, fact->number);
    }
    if (err == 0 && find_fact(merge, "private"))
        err = put_fact(merge, "private", NULL, 1);
    return err;
}

static int put_whole(struct merge *merge)
{
    int64_t last_ns = 0;
    bool finished = true;
    for (size_t i = 0; i < merge->options->count; i++) {
        const struct merge_input *input = &merge->inputs[i];
        int64_t end_ns = clock_ns(&input->side, input->side.run_ns);
        last_ns = end_ns > last_ns ? end_ns : last_ns;
        finished = finished && input->finished;
    }
    int err = put_fact(merge, "tidemark_version", TIDEMARK_VERSION, 0);
    if (err == 0)
        err = put_fact(merge, "merged", NULL, (int64_t)merge->options->count);
    if (err == 0)
        err = put_fact(merge, "run_ns", NULL, last_ns);
    if (err == 0)
        err = put_fact(merge, "finished", NULL, finished);
    return err;
}

/* The calendar of the first one; its clock runs as the merged one does. */
static int put_clock(struct merge *merge)
{
    const struct clock_side *first = &merge->inputs[0].side;
    if (!first->calendar)
        return 0;
    return query_run(
        merge->out, "INSERT INTO clock VALUES(?1, ?2, ?3, ?4)",
        Q_IN(first->offset, first->monotonic_ns, first->real_ns, merge->inputs[0].boot_ns));
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void tell(struct merge *merge, size_t at)
{
    const struct merge_input *input = &merge->inputs[at];
    const struct clock_side *side = &input->side;
    struct merge_told *told = &merge->result->told[at];
    bool met = side->way == MERGE_WAY_COLLECTIVES;
    *told =
        (struct merge_told){.path = input->path,
                            .host = input->host ? mem_copy(input->host, strlen(input->host)) : NULL,
                            .way = side->way,
                            .meeting = met ? clock_kind_text(side->kind) : NULL,
                            .meetings = met ? side->count : 0,
                            .offset_ns = clock_ns(side, 0),
                            .drift_ppb = llround(side->drift * 1e9),
                            .error_ns = side->error_ns,
                            .first_process = input->base[MERGE_PROCESS] + 1,
                            .last_process = input->base[MERGE_PROCESS] + input->most[MERGE_PROCESS],
                            .version = input->version,
                            .finished = input->finished};
    merge->result->count = at + 1;
}

static int put_told(struct merge *merge, int64_t id, const struct merge_told *told)
{
    struct query_value host = told->host ? query_text(told->host) : query_opt(QUERY_NONE);
    struct query_value meeting = told->meeting ? query_text(told->meeting) : query_opt(QUERY_NONE);
    int err = query_run(merge->out,
                        "INSERT INTO merged(id, file, host, way, meeting, meetings, offset_ns,"
                        "  drift_ppb, first_process, last_process, schema_version, finished)"
                        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0, 0, 0, 0)",
                        Q_IN(id, name_of(told->path), host, merge_way_text(told->way), meeting,
                             told->meetings, told->offset_ns));
    if (err < 0)
        return err;
    return query_run(merge->out,
                     "UPDATE merged SET drift_ppb = ?2, error_ns = ?3, first_process = ?4,"
                     "  last_process = ?5, schema_version = ?6, finished = ?7 WHERE id = ?1",
                     Q_IN(id, told->drift_ppb, query_opt(told->error_ns), told->first_process,
                          told->last_process, told->version, told->finished));
}

static int put_all(struct merge *merge)
{
    int err = put_agreed(merge);
    if (err >= 0)
        err = put_whole(merge);
    if (err >= 0)
        err = put_started(merge);
    if (err >= 0)
        err = put_clock(merge);
    for (size_t i = 0; i < merge->options->count && err >= 0; i++) {
        tell(merge, i);
        err = put_told(merge, (int64_t)i + 1, &merge->result->told[i]);
    }
    return err;
}

int merge_write_facts(struct merge *merge)
{
    int err = merge_out_begin(merge);
    if (err < 0)
        return err;
    err = put_all(merge);
    return err < 0 ? merge_out_failed(merge, err) : merge_out_end(merge);
}
