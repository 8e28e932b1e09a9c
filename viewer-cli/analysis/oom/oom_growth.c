/* oom_growth.c - see oom_growth.h. */
#include "oom_growth.h"

#include "error.h"
#include "query.h"

enum {
    NOTICEABLE = 100, /* it grew by such a part, or more */
    STEPS = 16        /* that are looked at */
};

struct bounds { /* events of a step */
    int64_t step, first, last;
};

static int read_bounds(struct db *db, int64_t process, int64_t step, struct bounds *out)
{
    *out = (struct bounds){.step = step, .first = QUERY_NONE, .last = QUERY_NONE};
    return query_read(db,
                      "SELECT min(begin_seq) AS first, max(end_seq) AS last FROM phase"
                      " WHERE process = ?1 AND step = ?2 AND scope = 'process'",
                      Q_IN(process, step), Q_OUT(Q_OPT(out->first), Q_OPT(out->last)));
}

/* Blocks of the site that were allocated in the step until the event. */
static int count_blocks(struct db *db, const struct bounds *bounds, int64_t device, int64_t site,
                        int64_t *count)
{
    *count = 0;
    return query_read(db,
                      "SELECT count(*) AS count FROM allocation a JOIN heap h ON h.id = a.heap"
                      " WHERE a.seq BETWEEN ?1 AND ?2 AND a.site = ?3 AND h.device = ?4",
                      Q_IN(bounds->first, bounds->last, site, device), Q_OUT(Q_INT(*count)));
}

static int read_asked(struct db *db, const struct bounds *bounds, int64_t device, int64_t site,
                      int64_t before, int64_t *asked)
{
    *asked = 0;
    int err =
        query_first(db,
                    "SELECT coalesce(a.requested, a.size) AS asked FROM allocation a"
                    " JOIN heap h ON h.id = a.heap"
                    " WHERE a.seq BETWEEN ?1 AND ?2 AND a.site = ?3 AND h.device = ?4"
                    " ORDER BY a.seq LIMIT 1 OFFSET ?5",
                    Q_IN(bounds->first, bounds->last, site, device, before), Q_OUT(Q_INT(*asked)));
    return err < 0 ? err : 0;
}

/* What the model is called with: inputs that were made in the step before its first forward, for
 * what one module passes to another is tagged so, too. */
static int read_input(struct db *db, int64_t process, int64_t device, const struct bounds *bounds,
                      int64_t *bytes)
{
    enum { TAG_INPUT = 5 }; /* tag.category */
    return query_read(db,
                      "SELECT coalesce(sum(a.size), 0) AS bytes FROM allocation a"
                      " JOIN heap h ON h.id = a.heap JOIN tag t ON t.id = a.tag"
                      " WHERE a.seq >= ?1 AND h.device = ?2 AND t.category = ?3 AND a.seq <"
                      "  (SELECT min(begin_seq) FROM phase WHERE process = ?4 AND step = ?5 AND "
                      "kind = 'forward')",
                      Q_IN(bounds->first, device, TAG_INPUT, process, bounds->step),
                      Q_OUT(Q_INT(*bytes)));
}

static bool is_more(int64_t bytes, int64_t than)
{
    return than > 0 && bytes - than > than / NOTICEABLE;
}

/* From the newest on back, as long as each asked for less than the one behind it. */
static int read_steps(struct db *db, int64_t process, int64_t device, int64_t step, int64_t site,
                      int64_t before, int64_t asked, struct oom_growth *out)
{
    int64_t next = asked;
    int err = 0;
    for (int64_t at = step - 1; at >= step - STEPS && err >= 0; at--) {
        struct bounds bounds;
        int64_t then = 0;
        err = read_bounds(db, process, at, &bounds);
        if (err >= 0 && bounds.first != QUERY_NONE && bounds.last != QUERY_NONE)
            err = read_asked(db, &bounds, device, site, before, &then);
        if (err < 0 || !is_more(next, then))
            return err;
        if (!out->found)
            out->before = then;
        out->found = true;
        out->since = at;
        next = then;
    }
    return err;
}

/* Where they grew by about as much: the cause is outside of the model. */
static int read_inputs(struct db *db, int64_t process, int64_t device, const struct bounds *now,
                       int64_t asked, struct oom_growth *out)
{
    struct bounds before;
    int64_t input = 0, input_before = 0;
    int err = read_bounds(db, process, now->step - 1, &before);
    if (err >= 0)
        err = read_input(db, process, device, now, &input);
    if (err >= 0)
        err = read_input(db, process, device, &before, &input_before);
    const double grew = (double)asked / (double)out->before;
    if (err >= 0 && is_more(input, input_before) &&
        (double)input / (double)input_before > 1 + (grew - 1) / 2) {
        out->input = input;
        out->input_before = input_before;
    }
    return err;
}

int oom_growth_read(struct db *db, int64_t process, int64_t device, int64_t seq, int64_t step,
                    int64_t site, int64_t asked, struct oom_growth *out)
{
    struct bounds now;
    int64_t before;
    *out = (struct oom_growth){0};
    int err = read_bounds(db, process, step, &now);
    if (err < 0 || now.first == QUERY_NONE)
        return err;
    now.last = seq;
    err = count_blocks(db, &now, device, site, &before);
    if (err >= 0)
        err = read_steps(db, process, device, step, site, before, asked, out);
    if (err >= 0 && out->found)
        err = read_inputs(db, process, device, &now, asked, out);
    return err;
}

bool oom_growth_is_valid(const struct oom_growth *growth, int64_t asked)
{
    return !growth->found || (growth->before > 0 && growth->before < asked);
}
