#include "living.h"

#include "block_rows.h"
#include "error.h"
#include "group.h"
#include "living_kept.h"
#include "query.h"
#include "span.h"

/* Two questions, asked one after the other: what the last keyframe names, row by row in the order
 * of the keys, and the rows behind it. CROSS JOIN keeps SQLite to that order. */
#define COLUMNS                                                                                    \
    "SELECT a.seq, a.size, a.requested, a.site, a.tag, a.alloc_ns, a.free_seq, a.address, a.heap," \
    "  a.segment, a.module, "
/* The end is looked at first, and once: most rows behind a keyframe have come to it. */
#define LIVES " WHERE a.free_seq NOT BETWEEN 0 AND ?3 AND" BLOCK_ROWS_THEIRS

/* `behind`: an event behind which they were allocated. */
#define KEPT_BEHIND(born, join, behind)                                                            \
    COLUMNS born " FROM keyframe k CROSS JOIN allocation a ON a.seq = k.allocation" join LIVES     \
                 " AND k.seq = ?4 AND k.allocation > max(" behind ", " SPAN_FIRST " - 1)"
#define SINCE_BEHIND(born, join, behind)                                                           \
    COLUMNS born " FROM allocation a" join LIVES " AND a.seq > max(?4, " behind ", " SPAN_FIRST    \
                 " - 1) AND a.seq <= ?3"
#define FREED " AND a.free_seq BETWEEN 0 AND ?8"

#define KEPT(born, join) KEPT_BEHIND(born, join, "?8")
#define SINCE(born, join) SINCE_BEHIND(born, join, "?8")
#define KEPT_FREED(born, join) KEPT_BEHIND(born, join, "-1") FREED
#define SINCE_FREED(born, join) SINCE_BEHIND(born, join, "-1") FREED

/* By whether they were freed up to the bound (else: allocated behind it), and block_rows.born. */
static const char *const kept_sql[2][2] = {BLOCK_ROWS_TEXTS(KEPT), BLOCK_ROWS_TEXTS(KEPT_FREED)};
static const char *const since_sql[2][2] = {BLOCK_ROWS_TEXTS(SINCE), BLOCK_ROWS_TEXTS(SINCE_FREED)};

struct reading {
    struct db *db;
    int64_t process, device, seq;
    int64_t bound; /* -1 = none: all were allocated behind it */
    bool freed;    /* up to the bound */
    int64_t frame; /* seq of the keyframe, -1 = none */
    struct block_rows theirs;
    struct category_rules *rules;
    bool keep;
    struct living_rows *rows; /* as they were asked for, to be kept; NULL: they are not */
    living_see *see;
    void *self;
};

/* As the columns tell it; `born`: of a thread that was in a phase of its own. */
static int read_row(struct reading *reading, const struct living_block *told, int64_t born)
{
    struct category_verdict verdict;
    struct living_block block = *told;
    struct category_block asked = {block.seq, block.free_seq, block.tag, born, block.size};
    int err = category_decide(reading->rules, &asked, &verdict);
    if (err < 0)
        return err;
    block.free_seq = block.free_seq < 0 ? LIVING_NONE : block.free_seq;
    block.phase = verdict.born;
    block.purpose = verdict.purpose;
    block.by = verdict.by;
    block.rule = verdict.rule;
    return reading->see(reading->self, &block) ? 0 : ERR_NOMEM;
}

static int read_rows(struct reading *reading, const char *const texts[2][2])
{
    struct living_block block = {0};
    int64_t born;
    struct query query = query_ask(
        reading->db, texts[reading->freed][reading->theirs.born],
        Q_IN(reading->process, reading->device, reading->seq, reading->frame,
             BLOCK_ROWS_IN(reading->theirs), reading->bound),
        Q_OUT(Q_INT(block.seq), Q_SIZE(block.size), Q_OPT(block.requested), Q_OPT(block.site),
              Q_OPT(block.tag), Q_INT(block.alloc_ns), Q_INT(block.free_seq), Q_ANY(block.address),
              Q_INT(block.heap), Q_OPT(block.segment), Q_OPT(block.module), Q_OPT(born)));
    while (query_next(&query)) {
        living_rows_add(&reading->rows, &block, born);
        query_fail(&query, read_row(reading, &block, born));
    }
    return query_end(&query);
}

static int find_frame(struct reading *reading)
{
    int64_t frame = QUERY_NONE;
    int err = query_read(reading->db, "SELECT max(seq) AS frame FROM keyframe WHERE seq <= ?",
                         Q_IN(reading->seq), Q_OUT(Q_OPT(frame)));
    reading->frame = frame == QUERY_NONE ? -1 : frame;
    return err;
}

static int read_kept(struct reading *reading, const struct living_rows *rows)
{
    int err = 0;
    for (size_t i = 0; i < rows->count && err == 0; i++)
        err = read_row(reading, &rows->rows[i].block, rows->rows[i].born);
    return err;
}

static int read_file(struct reading *reading)
{
    int err = find_frame(reading);
    if (reading->keep)
        reading->rows = living_rows_begin(reading->process, reading->device, reading->seq);
    if (err == 0)
        err = block_rows_find(reading->db, reading->process, reading->device, &reading->theirs);
    if (err == 0)
        err = read_rows(reading, kept_sql);
    if (err == 0)
        err = read_rows(reading, since_sql);
    living_rows_keep(reading->db, reading->rows, err == 0);
    return err;
}

/* All of an instant: perhaps they have been read already. */
static int read_all(struct reading *reading)
{
    const struct living_rows *rows =
        living_rows_kept(reading->db, reading->process, reading->device, reading->seq);
    return rows ? read_kept(reading, rows) : read_file(reading);
}

static int read_living(struct reading *reading, int (*read)(struct reading *reading))
{
    int err = category_load(reading->db, reading->process, &reading->rules);
    if (err == 0)
        err = read(reading);
    category_free(reading->rules);
    return err;
}

static struct reading reading_of(struct db *db, int64_t process, int64_t device, int64_t seq,
                                 living_see *see, void *self)
{
    return (struct reading){.db = db,
                            .process = process,
                            .device = device,
                            .seq = seq,
                            .bound = -1,
                            .see = see,
                            .self = self};
}

int living_read(struct db *db, int64_t process, int64_t device, int64_t seq, living_see *see,
                void *self)
{
    struct reading reading = reading_of(db, process, device, seq, see, self);
    return read_living(&reading, read_all);
}

int living_read_kept(struct db *db, int64_t process, int64_t device, int64_t seq, living_see *see,
                     void *self)
{
    struct reading reading = reading_of(db, process, device, seq, see, self);
    reading.keep = true;
    return read_living(&reading, read_all);
}

int living_read_unlike(struct db *db, int64_t process, int64_t device, int64_t seq, int64_t other,
                       living_see *see, void *self)
{
    struct reading reading = reading_of(db, process, device, seq, see, self);
    reading.bound = other;
    reading.freed = seq < other;
    return read_living(&reading, read_file);
}
