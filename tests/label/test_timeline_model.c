/*
 * Rows of phases from random marks, phases, steps and blocks, against what is plain: the labels of
 * the same marks settled all at once, and the allocated bytes after every number.
 */
#include <stdlib.h>
#include <string.h>

#include "phases.h"
#include "test.h"

enum { MAX_SEQ = 8000, DEPTH = 10, DEVICES = 2, BLOCKS = 40 };

struct item { /* open, in order */
    bool user;
    uint64_t node; /* among the labels, of a phase */
    struct label_mark mark;
};

struct expected { /* of one number */
    uint8_t label;
    bool user;    /* the innermost is a phase of the program's own */
    bool at_root; /* nothing is open */
    int64_t step;
    bool marked; /* a mark had come by then */
};

static struct model {
    struct feed feed;
    struct rows rows;
    struct labels labels; /* all at once */
    bool held;            /* the outermost forward's end */
    struct label_mark held_mark;
    bool begun, calm, own_steps;
    struct item open[DEPTH];
    size_t open_count;
    int64_t step; /* the program's own */
    uint32_t heaps[DEVICES], name;
    int64_t size[DEVICES][BLOCKS]; /* of what lives, 0 = nothing */
    int64_t allocated[MAX_SEQ][DEVICES];
    int64_t births[MAX_SEQ][DEVICES], born_bytes[MAX_SEQ][DEVICES], deaths[MAX_SEQ][DEVICES];
    int64_t seq;
    struct expected expected[MAX_SEQ];
} * m;

static uint64_t seed;

static uint64_t pick(uint64_t n)
{
    return test_random(&seed) % n;
}

/* Numbers up to seq are taken. */
static void reach(int64_t seq)
{
    REQUIRE(seq < MAX_SEQ);
    for (int64_t s = m->seq + 1; s <= seq; s++)
        memcpy(m->allocated[s], m->allocated[s - 1], sizeof m->allocated[s]);
    m->seq = seq;
}

static int64_t ns(void)
{
    return (int64_t)(m->feed.now - FEED_START);
}

static void release(void);

static void random_block(void)
{
    size_t d = pick(DEVICES), at = pick(BLOCKS);
    uint64_t address = 0x1000 + at * 0x1000;
    if (m->size[d][at]) {
        reach(feed_free(&m->feed, m->heaps[d], address));
        m->allocated[m->seq][d] -= m->size[d][at];
        m->deaths[m->seq][d]++;
        m->size[d][at] = 0;
    } else {
        release();
        m->size[d][at] = 1 + (int64_t)pick(0xfff);
        reach(feed_alloc(&m->feed, m->heaps[d], address, (uint64_t)m->size[d][at]));
        m->allocated[m->seq][d] += m->size[d][at];
        m->births[m->seq][d]++;
        m->born_bytes[m->seq][d] += m->size[d][at];
    }
}

/* ---- the same marks into plain labels ---- */

static void begin_labels(int64_t seq)
{
    REQUIRE(label_start(&m->labels, seq, ns()));
    m->labels.limit = m->labels.next_pass = MAX_SEQ * 2;
    m->begun = true;
    if (m->own_steps)
        label_own_steps(&m->labels);
    for (size_t i = 0; i < m->open_count; i++)
        REQUIRE(label_user_begin(&m->labels, 0, 100, seq, ns(), &m->open[i].node) == LABEL_MADE);
}

static struct label_mark random_mark(void)
{
    static const uint8_t kinds[] = {MARK_FORWARD,  MARK_FORWARD,   MARK_FORWARD,
                                    MARK_BACKWARD, MARK_ZERO_GRAD, MARK_OPTIMIZER};
    struct label_mark mark = {.kind = kinds[pick(sizeof kinds)], .thread = 100};
    mark.identity = mark.kind == MARK_BACKWARD ? 0 : 1 + pick(2);
    if (mark.kind == MARK_FORWARD) {
        mark.flags = MARK_F_GRAD | MARK_F_TRAINING | MARK_F_PARAMETERS;
        mark.flags ^= pick(3) ? 0 : 1u << pick(4);
    }
    return mark;
}

static void random_begin(void)
{
    release();
    struct item *item = &m->open[m->open_count];
    *item = (struct item){.user = pick(5) == 0};
    if (item->user) {
        reach(feed_phase(&m->feed, m->name));
        if (m->begun)
            REQUIRE(label_user_begin(&m->labels, 0, 100, m->seq, ns(), &item->node) == LABEL_MADE);
    } else {
        item->mark = random_mark();
        reach(feed_event(&m->feed, (struct event){.kind = EVENT_ENTER,
                                                  .size = item->mark.kind,
                                                  .a = item->mark.identity,
                                                  .b = item->mark.flags}));
        if (!m->begun)
            begin_labels(m->seq);
        REQUIRE(label_enter(&m->labels, &item->mark, m->seq, ns()) == LABEL_MADE);
    }
    m->open_count++;
}

/* The outermost forward ends behind the frees that follow it. */
static void release(void)
{
    if (m->held)
        REQUIRE(label_exit(&m->labels, &m->held_mark, m->seq + 1, ns()) == LABEL_MADE);
    m->held = false;
}

static void end_mark(struct label_mark mark)
{
    mark.exception = pick(10) == 0;
    mark.flags = pick(3) ? 0 : MARK_F_ONE_ELEMENT;
    reach(feed_event(&m->feed, (struct event){.kind = EVENT_EXIT,
                                              .flags = mark.exception ? EVENT_F_EXCEPTION : 0,
                                              .size = mark.kind,
                                              .a = mark.identity,
                                              .b = mark.flags}));
    m->held = m->open_count == 0 && mark.kind == MARK_FORWARD && !mark.exception;
    m->held_mark = mark;
    if (!m->held)
        REQUIRE(label_exit(&m->labels, &mark, m->seq + 1, ns()) == LABEL_MADE);
}

/* Phases end from the innermost one on; marks, unless it is calm, in any order. */
static void random_end(void)
{
    release();
    size_t at = m->calm ? m->open_count - 1 : pick(m->open_count);
    if (m->open[at].user)
        for (size_t i = at + 1; i < m->open_count; i++)
            at = m->open[i].user ? i : at;
    struct item item = m->open[at];
    memmove(&m->open[at], &m->open[at + 1], (--m->open_count - at) * sizeof item);
    if (!item.user) {
        end_mark(item.mark);
        return;
    }
    reach(feed_phase_end(&m->feed, 0));
    if (m->begun)
        REQUIRE(label_user_end(&m->labels, item.node, m->seq + 1, ns()) == LABEL_MADE);
}

static void random_step(void)
{
    release();
    bool begins = m->step == BATCH_NULL || pick(2);
    reach(begins ? feed_step(&m->feed, pick(50))
                 : feed_event(&m->feed, (struct event){.kind = EVENT_STEP_END}));
    m->step = begins ? 0 : BATCH_NULL;
    m->own_steps = true;
    if (m->begun) {
        label_own_steps(&m->labels);
        REQUIRE(label_cut(&m->labels, begins ? m->seq : m->seq + 1, ns()) == LABEL_MADE);
    }
}

/* ---- what is expected of each number ---- */

static void expect(void)
{
    if (!m->begun)
        return;
    release();
    label_end(&m->labels);
    for (size_t i = 0; i < m->labels.count; i++) {
        const struct label_stretch *stretch = label_at(&m->labels, i);
        const struct label_node *node = label_node(&m->labels, stretch->node);
        const struct label_node *owner = label_node(&m->labels, stretch->owner);
        int64_t end = i + 1 < m->labels.count ? label_at(&m->labels, i + 1)->begin_seq : m->seq + 1;
        bool user = stretch->node && node->kind == LABEL_USER;
        bool gap = stretch->owner == LABEL_ROOT || label_is_step(owner);
        if (gap && stretch->label != label_fallback(owner))
            user = false;
        for (int64_t s = stretch->begin_seq; s < end; s++)
            m->expected[s] = (struct expected){stretch->label, user, stretch->node == LABEL_ROOT,
                                               stretch->step, true};
    }
}

static const struct row *innermost(int64_t seq)
{
    const struct row_table *table = &m->rows.tables[SCH_STRETCH];
    const struct row *best = NULL;
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].at[1] <= seq && (!best || table->rows[i].at[1] > best->at[1]))
            best = &table->rows[i];
    REQUIRE(best != NULL);
    const struct row *phase = rows_find(&m->rows, SCH_PHASE, 1, (const int64_t[]){best->at[2]});
    REQUIRE(phase != NULL);
    return phase;
}

static void check_numbers(void)
{
    for (int64_t s = 1; s <= m->seq; s++) {
        const struct expected *expected = &m->expected[s];
        const struct row *phase = innermost(s);
        CHECK(phase->at[PHASE_BEGIN_SEQ] <= s && s <= phase->at[PHASE_END_SEQ]);
        if (!expected->marked)
            continue;
        CHECK_STR(phase->text[PHASE_NAME],
                  expected->user ? "mine" : label_name((enum label)expected->label));
        if (expected->at_root && !m->own_steps)
            CHECK_INT(phase->at[PHASE_STEP],
                      expected->step == LABEL_NO_STEP ? ROW_NULL : expected->step);
    }
}

/* After a commit: what a recorder that is killed now leaves. */
static void check_commit(void)
{
    for (int64_t s = 1; s <= m->seq; s += 1 + (int64_t)pick(20)) {
        const struct row *phase = innermost(s);
        int64_t end = phase->at[PHASE_END_SEQ];
        CHECK(phase->at[PHASE_BEGIN_SEQ] <= s && (end == ROW_NULL || s <= end));
    }
}

/* ---- parts ---- */

static void check_part(const struct row *phase, size_t device)
{
    int64_t begin = phase->at[PHASE_BEGIN_SEQ], end = phase->at[PHASE_END_SEQ];
    const struct row *part = rows_phase_device(&m->rows, phase->at[0], (int64_t)device + 1);
    int64_t peak = m->allocated[begin - 1][device], peak_seq = ROW_NULL;
    int64_t births = 0, deaths = 0, bytes = 0, before = 0;
    for (int64_t s = 1; s <= end; s++) {
        before += m->births[s][device];
        if (s < begin)
            continue;
        births += m->births[s][device];
        deaths += m->deaths[s][device];
        bytes += m->born_bytes[s][device];
        if (m->allocated[s][device] > peak) {
            peak = m->allocated[s][device];
            peak_seq = s;
        }
    }
    CHECK((part != NULL) == (before > 0));
    if (!part)
        return;
    CHECK_INT(part->at[PART_BEGIN_ALLOCATED], m->allocated[begin - 1][device]);
    CHECK_INT(part->at[PART_ALLOCATED], m->allocated[end][device]);
    CHECK_INT(part->at[PART_PEAK], peak);
    CHECK_INT(part->at[PART_PEAK_SEQ], peak_seq);
    CHECK_INT(part->at[PART_ALLOCS], births);
    CHECK_INT(part->at[PART_FREES], deaths);
    CHECK_INT(part->at[PART_BYTES], bytes);
}

static bool is_used(const struct row *phase)
{
    const struct row_table *stretches = &m->rows.tables[SCH_STRETCH];
    const struct row_table *phases = &m->rows.tables[SCH_PHASE];
    for (size_t i = 0; i < stretches->count; i++)
        if (stretches->rows[i].at[2] == phase->at[0])
            return true;
    for (size_t i = 0; i < phases->count; i++)
        if (phases->rows[i].at[PHASE_PARENT] == phase->at[0])
            return true;
    return false;
}

static void check_phases(void)
{
    const struct row_table *phases = &m->rows.tables[SCH_PHASE];
    const struct row_table *parts = &m->rows.tables[SCH_PHASE_DEVICE];
    for (size_t i = 0; i < phases->count; i++) {
        const struct row *phase = &phases->rows[i];
        REQUIRE(phase->at[PHASE_END_SEQ] >= phase->at[PHASE_BEGIN_SEQ]);
        CHECK(phase->text[PHASE_ENDED] != NULL);
        CHECK(!m->calm || is_used(phase));
        for (size_t d = 0; d < DEVICES; d++)
            check_part(phase, d);
    }
    for (size_t i = 0; i < parts->count; i++)
        CHECK(rows_find(&m->rows, SCH_PHASE, 1, parts->rows[i].at) != NULL);
}

static int by_begin(const void *a, const void *b)
{
    const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;
    int64_t difference = x->at[PHASE_BEGIN_SEQ] - y->at[PHASE_BEGIN_SEQ];
    return difference < 0 ? -1 : difference > 0;
}

/* The outermost phases follow each other; what is inside one lies inside it. */
static void check_partition(void)
{
    static const struct row *list[MAX_SEQ];
    const struct row_table *table = &m->rows.tables[SCH_PHASE];
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct row *row = &table->rows[i];
        const struct row *parent =
            rows_find(&m->rows, SCH_PHASE, 1, (const int64_t[]){row->at[PHASE_PARENT]});
        CHECK((parent != NULL) == (row->at[PHASE_PARENT] != ROW_NULL));
        if (!parent)
            list[count++] = row;
        else
            CHECK(parent->at[PHASE_BEGIN_SEQ] <= row->at[PHASE_BEGIN_SEQ] &&
                  row->at[PHASE_END_SEQ] <= parent->at[PHASE_END_SEQ]);
    }
    qsort(list, count, sizeof *list, by_begin);
    for (size_t i = 1; i < count; i++) {
        CHECK_INT(list[i]->at[PHASE_BEGIN_SEQ], list[i - 1]->at[PHASE_END_SEQ] + 1);
        CHECK_INT(list[i]->at[PHASE_BEGIN_NS], list[i - 1]->at[PHASE_END_NS]);
    }
}

/* ---- a run ---- */

static void random_event(bool steps)
{
    uint64_t what = pick(100);
    m->feed.now -= pick(6) ? 0 : 10; /* it stands still now and then */
    if (what < 40)
        random_block();
    else if (what < 42 && steps)
        random_step();
    else if (m->open_count && (m->open_count == DEPTH || what < 71))
        random_end();
    else if (what >= 42)
        random_begin();
}

static void run(uint64_t first_seed, int events, bool calm)
{
    seed = first_seed;
    m = calloc(1, sizeof *m);
    m->calm = calm;
    m->step = BATCH_NULL;
    feed_begin(&m->feed, NULL, &m->rows);
    m->name = feed_string(&m->feed, "mine");
    for (size_t d = 0; d < DEVICES; d++)
        m->heaps[d] = feed_heap(&m->feed, DEVICE_CUDA, (int32_t)d, 0);
    for (int i = 0; i < events; i++) {
        random_event(first_seed % 3 == 0);
        if (pick(40) == 0) {
            feed_flush(&m->feed);
            check_commit();
        }
    }
    feed_end(&m->feed, false);
    reach(state_seq(m->feed.state));
    expect();
    check_numbers();
    check_phases();
    if (calm)
        check_partition();
    CHECK_INT(rows_lost(&m->rows, "fact"), 0);
    label_clear(&m->labels);
    state_free(m->feed.state);
    rows_clear(&m->rows);
    free(m);
}

TEST(calm_runs_equal_the_model)
{
    for (uint64_t i = 1; i <= 30; i++)
        run(i, 600, true);
}

TEST(wild_runs_equal_the_model)
{
    for (uint64_t i = 101; i <= 120; i++)
        run(i, 600, false);
}

TEST_MAIN(TEST_CASE(calm_runs_equal_the_model), TEST_CASE(wild_runs_equal_the_model))
