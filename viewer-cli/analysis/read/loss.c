#include "loss.h"

#include <stdio.h>
#include <string.h>

#include "mem.h"
#include "query.h"

/* What is lost happened after first_seq. */
static bool is_asked_for(int64_t process, int64_t first_seq, const struct loss_span *spans,
                         size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((spans[i].process == process || process <= 0) && first_seq < spans[i].last_seq)
            return true;
    return process <= 0 && count == 0;
}

static void add_kind(struct loss *loss, const char *name, int64_t n)
{
    size_t i = 0;
    while (i < loss->kind_count && strcmp(loss->kinds[i].name, name) != 0)
        i++;
    if (i == LOSS_KINDS)
        i--;
    if (i == loss->kind_count) {
        snprintf(loss->kinds[i].name, sizeof loss->kinds[i].name, "%.31s", name);
        loss->kinds[i].n = 0;
        loss->kind_count++;
    }
    loss->kinds[i].n += n;
}

static void sort_kinds(struct loss *loss)
{
    for (size_t i = 1; i < loss->kind_count; i++) {
        for (size_t j = i; j > 0 && loss->kinds[j - 1].n < loss->kinds[j].n; j--) {
            char name[sizeof loss->kinds[j].name];
            int64_t n = loss->kinds[j].n;
            memcpy(name, loss->kinds[j].name, sizeof name);
            loss->kinds[j] = loss->kinds[j - 1];
            memcpy(loss->kinds[j - 1].name, name, sizeof name);
            loss->kinds[j - 1].n = n;
        }
    }
}

bool loss_is_valid(const struct loss *loss)
{
    int64_t sum = 0;
    for (size_t i = 0; i < loss->kind_count; i++) {
        sum += loss->kinds[i].n;
        if (loss->kinds[i].n <= 0 || (i && loss->kinds[i].n > loss->kinds[i - 1].n))
            return false;
    }
    return sum == loss->events && loss->damage.most >= (loss->damage.any ? -1 : 0) &&
           (loss->damage.any || loss->damage.most == 0);
}

/* A gap without an end goes up to the largest number. */
static void add_gap(struct loss *loss, int64_t first_seq, int64_t last_seq, int64_t first_ns)
{
    int64_t keys = 0;
    bool known = last_seq < INT64_MAX && !__builtin_sub_overflow(last_seq, first_seq, &keys) &&
                 keys >= 0 && loss->damage.most >= 0 &&
                 !__builtin_add_overflow(loss->damage.most, keys, &loss->damage.most);
    if (!known)
        loss->damage.most = -1;
    if (!loss->damage.any) {
        loss->damage.first_seq = first_seq;
        loss->damage.first_ns = first_ns;
    }
    loss->damage.any = true;
}

static int read_repaired(struct db *db, struct loss *out)
{
    const char *names;
    struct query query =
        query_ask(db, "SELECT value AS names FROM meta WHERE key = 'repaired_missing'", Q_NOTHING,
                  Q_OUT(Q_TEXT(names)));
    while (query_next(&query))
        snprintf(out->repaired, sizeof out->repaired, "%s", names);
    return query_end(&query);
}

int loss_read(struct db *db, const struct loss_span *spans, size_t count, struct loss *out)
{
    int64_t process, first_seq, first_ns, n, last_seq;
    const char *kind;
    *out = (struct loss){0};
    struct query query =
        query_ask(db,
                  "SELECT process, first_seq, first_ns, kind, n, last_seq FROM lost"
                  " WHERE n > 0 OR kind = '" LOSS_DAMAGED "' ORDER BY first_seq, first_ns, kind",
                  Q_NOTHING,
                  Q_OUT(Q_INT(process), Q_INT(first_seq), Q_INT(first_ns), Q_TEXT(kind), Q_INT(n),
                        Q_ANY(last_seq)));
    while (query_next(&query)) {
        if (!is_asked_for(process, first_seq, spans, count))
            continue;
        if (strcmp(kind, LOSS_DAMAGED) == 0) {
            add_gap(out, first_seq, last_seq, first_ns);
            continue;
        }
        if (out->events == 0) {
            out->first_seq = first_seq;
            out->first_ns = first_ns;
        }
        out->events += n;
        add_kind(out, kind, n);
    }
    sort_kinds(out);
    int err = query_end(&query);
    return err < 0 ? err : read_repaired(db, out);
}

int loss_begin_of_step(struct db *db, int64_t process, int64_t first_step, int64_t *seq)
{
    *seq = 0;
    return query_read(db,
                      "SELECT coalesce(min(begin_seq), 0) AS seq FROM phase"
                      " WHERE process = ?1 AND step >= ?2",
                      Q_IN(process, first_step), Q_OUT(Q_INT(*seq)));
}

int loss_end_of_steps(struct db *db, int64_t first_step, int64_t last_step, struct loss_span *span)
{
    span->last_seq = INT64_MAX;
    return query_read(db,
                      "SELECT max(end_seq) AS last_seq FROM phase"
                      " WHERE process = ?1 AND step BETWEEN ?2 AND ?3"
                      " HAVING count(*) = count(end_seq) AND count(*) > 0",
                      Q_IN(span->process, first_step, last_step), Q_OUT(Q_INT(span->last_seq)));
}

int loss_read_finished(struct db *db, bool *finished, int64_t *last_ns)
{
    *finished = false;
    *last_ns = 0;
    int err = query_read(db, "SELECT value <> 0 AS finished FROM meta WHERE key = 'finished'",
                         Q_NOTHING, Q_OUT(Q_INT(*finished)));
    if (err < 0 || *finished)
        return err;
    /* The newest of what the last commit brought: it has the highest numbers. */
    return query_read(
        db,
        "SELECT max(coalesce((SELECT max(start_ns) FROM process), 0),"
        " coalesce((SELECT max(coalesce(end_ns, begin_ns)) FROM"
        "   (SELECT end_ns, begin_ns FROM phase ORDER BY id DESC LIMIT 1000)), 0),"
        " coalesce((SELECT alloc_ns FROM allocation ORDER BY seq DESC LIMIT 1), 0)) AS last_ns",
        Q_NOTHING, Q_OUT(Q_INT(*last_ns)));
}

/* What the recorder stored when it could not go on; NULL, to be freed. */
static char *read_stopped(struct db *db)
{
    char *why = NULL;
    query_read(db, "SELECT value AS why FROM meta WHERE key = 'stopped' AND value <> ''", Q_NOTHING,
               Q_OUT(Q_COPY(why)));
    return why;
}

void loss_unfinished(struct db *db, struct buf *out)
{
    char *stopped = read_stopped(db);
    const char *log = db_missing_log(db);
    if (stopped)
        buf_print(out, "not finished: recording stopped before the end: %s", stopped);
    else if (log)
        buf_print(out,
                  "not finished, and its log (%s) is missing or empty: what stood only there is "
                  "missing",
                  log);
    else
        buf_text(out, "not finished: still being written, the recorder was killed, or it could not "
                      "write");
    mem_free(stopped);
}
