/* state_model_rows.c - the rows of a run beside the model of it. */
#include <stdlib.h>
#include <string.h>

#include "feed.h"
#include "state_model.h"
#include "test.h"

static void check_blocks(const struct rows *rows)
{
    CHECK_INT(rows->alloc_count, m->block_count);
    size_t exact_phases = 0;
    for (int i = 0; i < m->block_count; i++) {
        const struct m_block *b = &m->blocks[i];
        const struct batch_alloc *row = rows_alloc(rows, b->seq);
        REQUIRE(row != NULL);
        CHECK_INT(row->address, b->address);
        CHECK_INT(row->size, b->size);
        CHECK_INT(row->alloc_ns, b->ns);
        CHECK_INT(row->free_seq, b->free_seq ? b->free_seq : DB_LIVING_SEQ);
        CHECK_INT(row->life_ns, b->free_seq ? b->free_ns - b->ns : DB_LIVING_NS);
        CHECK_INT(row->requested, BATCH_NOT_KNOWN);
        const struct row *heap = rows_find(rows, SCH_HEAP, 1, (const int64_t[]){row->heap});
        REQUIRE(heap != NULL);
        CHECK_INT(heap->at[1], b->process + 1);
        const struct row *tag = rows_find(rows, SCH_TAG, 1, (const int64_t[]){row->tag});
        CHECK_INT(tag ? tag->at[1] : 0, b->category);
        CHECK_INT(row->segment, b->segment ? m->segments[b->segment - 1].seq : BATCH_NOT_KNOWN);
        const struct row *idle = rows_find(rows, SCH_IDLE, 1, (const int64_t[]){b->seq});
        CHECK_INT(idle ? idle->at[1] : 0, b->idle_seq);
        CHECK_INT(idle ? idle->at[2] : 0, b->idle_ns);
        const struct row *own = rows_find(rows, SCH_ALLOCATION_PHASE, 1, (const int64_t[]){b->seq});
        CHECK((own != NULL) == (b->phase != 0));
        exact_phases += own != NULL;
        if (own && b->phase) {
            own = rows_find(rows, SCH_PHASE, 1, (const int64_t[]){own->at[1]});
            CHECK_INT(own ? own->at[PHASE_BEGIN_SEQ] : 0, b->phase);
        }
    }
    CHECK_INT(rows->tables[SCH_ALLOCATION_PHASE].count, exact_phases);
}

static void check_segments(const struct rows *rows)
{
    CHECK_INT(rows->tables[SCH_SEGMENT].count, m->segment_count);
    for (int i = 0; i < m->segment_count; i++) {
        const struct m_segment *s = &m->segments[i];
        const struct row *row = rows_find(rows, SCH_SEGMENT, 1, &s->seq);
        REQUIRE(row != NULL);
        CHECK_INT(row->at[2], s->address);
        CHECK_INT(row->at[3], s->size);
        CHECK_INT(row->at[4], s->ns);
        CHECK_INT(row->at[5], s->free_seq ? s->free_ns - s->ns : ROW_NULL);
        CHECK_INT(row->at[6], s->free_seq ? s->free_seq : ROW_NULL);
    }
    CHECK_INT(rows->tables[SCH_MAPPING].count, m->mapping_count);
    for (int i = 0; i < m->mapping_count; i++) {
        const struct m_mapping *mapping = &m->mappings[i];
        const struct row *row = &rows->tables[SCH_MAPPING].rows[i];
        CHECK_INT(row->at[0], mapping->seq);
        CHECK_INT(row->at[2], BASE + (uint64_t)mapping->page * PAGE);
        CHECK_INT(row->at[3], mapping->pages * PAGE);
        CHECK_INT(row->at[4], mapping->ns);
        CHECK_INT(row->at[5], mapping->mapped);
    }
}

/* The process's row of a phase that begins with this number. */
static const struct row *phase_at(const struct rows *rows, int process, int64_t begin_seq)
{
    for (size_t i = 0; i < rows->tables[SCH_PHASE].count; i++) {
        const struct row *row = &rows->tables[SCH_PHASE].rows[i];
        if (row->at[PHASE_PROCESS_ID] == process + 1 && row->at[PHASE_BEGIN_SEQ] == begin_seq)
            return row;
    }
    return NULL;
}

static void check_phases(const struct rows *rows)
{
    static const char *const texts[NAMES] = {"forward", "backward", "mine", "loss"};
    for (int i = 0; i < m->phase_count; i++) {
        const struct m_phase *p = &m->phases[i];
        const struct row *row = phase_at(rows, p->process, p->begin_seq);
        REQUIRE(row != NULL);
        CHECK_STR(row->text[PHASE_NAME], texts[p->name]);
        CHECK_STR(row->text[PHASE_KIND], p->name == 2 ? "user" : texts[p->name]);
        CHECK_STR(row->text[PHASE_SCOPE], p->process_scope ? "process" : "thread");
        CHECK_STR(row->text[PHASE_ENDED], p->ended ? p->ended : "process end");
        CHECK_INT(row->at[PHASE_THREAD_ID], 100 + p->thread);
        CHECK_INT(row->at[PHASE_STEP], p->step);
        CHECK_INT(row->at[PHASE_ORDINAL], p->ordinal);
        CHECK_INT(row->at[PHASE_END_SEQ], p->ended ? p->end_seq : m->end_seq[p->process]);
        CHECK_INT(row->at[PHASE_BEGIN_NS], p->begin_ns);
        if (p->ended)
            CHECK_INT(row->at[PHASE_END_NS], p->end_ns);
        const struct row *parent = p->parent ? phase_at(rows, p->process, p->parent) : NULL;
        CHECK_INT(row->at[PHASE_PARENT], parent ? parent->at[0] : ROW_NULL);
    }
}

static int64_t device_id(const struct rows *rows, int device)
{
    const struct row_table *devices = &rows->tables[SCH_DEVICE];
    for (size_t i = 0; i < devices->count; i++)
        if (devices->rows[i].at[2] == device)
            return devices->rows[i].at[0];
    return 0;
}

/* What is reserved, waits, and lies between blocks as the phase ends; `highest` is the seq of its
 * peak, ROW_NULL = as it began. */
static void check_sums(const struct row *part, const struct row *phase, int process, int device,
                       int64_t highest)
{
    int64_t begin = phase->at[PHASE_BEGIN_SEQ], end = phase->at[PHASE_END_SEQ];
    const struct m_sums *sums = &m->sums[end][process][device];
    int64_t most = ROW_NULL;
    for (int64_t s = 1; s <= end; s++)
        if (m->sums[s][process][device].reserved > most)
            most = m->sums[s][process][device].reserved;
    CHECK_INT(part->at[PART_RESERVED], sums->reserved);
    CHECK_INT(part->at[PART_ACTIVE], sums->active);
    CHECK_INT(part->at[PART_SPLIT], sums->split);
    CHECK_INT(part->at[PART_MAX_RESERVED], most);
    CHECK_INT(part->at[PART_PEAK_RESERVED],
              m->sums[highest == ROW_NULL ? begin - 1 : highest][process][device].reserved);
}

/* One phase on one device, from the allocated bytes after each number. */
static void check_part(const struct rows *rows, const struct row *phase, int process, int device)
{
    int64_t begin = phase->at[PHASE_BEGIN_SEQ], end = phase->at[PHASE_END_SEQ];
    const struct row *part = rows_phase_device(rows, phase->at[0], device_id(rows, device));
    int64_t before = m->allocated[begin - 1][process][device];
    int64_t peak = before, peak_seq = ROW_NULL, highest = 0, highest_seq = ROW_NULL;
    for (int64_t s = 1; s <= end; s++) {
        int64_t now = m->allocated[s][process][device];
        if (now > highest) {
            highest = now;
            highest_seq = s;
        }
        if (s >= begin && now > peak) {
            peak = now;
            peak_seq = s;
        }
    }
    CHECK((part != NULL) == (highest > 0));
    if (!part)
        return;
    int64_t allocs = 0, frees = 0, bytes = 0;
    for (int i = 0; i < m->block_count; i++) {
        const struct m_block *b = &m->blocks[i];
        if (b->process != process || device_of_heap[b->heap] != device)
            continue;
        bool born = b->seq >= begin && b->seq <= end;
        allocs += born;
        bytes += born ? b->size : 0;
        frees += b->free_seq >= begin && b->free_seq <= end;
    }
    CHECK_INT(part->at[PART_BEGIN_ALLOCATED], before);
    CHECK_INT(part->at[PART_ALLOCATED], m->allocated[end][process][device]);
    CHECK_INT(part->at[PART_MAX], highest);
    CHECK_INT(part->at[PART_MAX_SEQ], highest_seq);
    CHECK_INT(part->at[PART_PEAK], peak);
    CHECK_INT(part->at[PART_PEAK_SEQ], peak_seq);
    CHECK_INT(part->at[PART_ALLOCS], allocs);
    CHECK_INT(part->at[PART_FREES], frees);
    CHECK_INT(part->at[PART_BYTES], bytes);
    check_sums(part, phase, process, device, peak_seq);
}

static void check_parts(const struct rows *rows)
{
    for (size_t i = 0; i < rows->tables[SCH_PHASE].count; i++) {
        const struct row *phase = &rows->tables[SCH_PHASE].rows[i];
        REQUIRE(phase->at[PHASE_END_SEQ] >= phase->at[PHASE_BEGIN_SEQ]);
        for (int d = 0; d < DEVICES; d++)
            check_part(rows, phase, (int)phase->at[PHASE_PROCESS_ID] - 1, d);
    }
}

static int by_begin(const void *a, const void *b)
{
    const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;
    int64_t difference = x->at[PHASE_BEGIN_SEQ] - y->at[PHASE_BEGIN_SEQ];
    return difference < 0 ? -1 : difference > 0;
}

/* The outermost phases of scope process follow each other without a gap, in time and in numbers
 * but for those that the process has no event with. */
static void check_partition(const struct rows *rows, int process)
{
    static const struct row *list[MAX_SEQ];
    size_t count = 0;
    for (size_t i = 0; i < rows->tables[SCH_PHASE].count; i++) {
        const struct row *row = &rows->tables[SCH_PHASE].rows[i];
        if (row->at[PHASE_PROCESS_ID] != process + 1 || strcmp(row->text[PHASE_SCOPE], "process"))
            continue;
        const struct row *parent =
            rows_find(rows, SCH_PHASE, 1, (const int64_t[]){row->at[PHASE_PARENT]});
        if (!parent || strcmp(parent->text[PHASE_SCOPE], "process") != 0)
            list[count++] = row;
    }
    qsort(list, count, sizeof *list, by_begin);
    const struct row *own = rows_find(rows, SCH_PROCESS, 1, (const int64_t[]){process + 1});
    REQUIRE(count > 0 && own);
    CHECK_INT(list[0]->at[PHASE_BEGIN_NS], own->at[PROCESS_START]);
    CHECK_INT(list[count - 1]->at[PHASE_END_NS], own->at[PROCESS_END]);
    for (size_t i = 1; i < count; i++) {
        CHECK_INT(list[i]->at[PHASE_BEGIN_NS], list[i - 1]->at[PHASE_END_NS]);
        CHECK_INT(list[i]->at[PHASE_BEGIN_SEQ], list[i - 1]->at[PHASE_END_SEQ] + 1);
    }
}

static void check_stretches(const struct rows *rows)
{
    const struct row_table *table = &rows->tables[SCH_STRETCH];
    for (int64_t s = 1; s <= m->seq; s++) {
        if (m->events[s].process < 0)
            continue;
        const struct row *best = NULL;
        for (size_t i = 0; i < table->count; i++) {
            const struct row *row = &table->rows[i];
            if (row->at[0] == m->events[s].process + 1 && row->at[1] <= s &&
                (!best || row->at[1] > best->at[1]))
                best = row;
        }
        REQUIRE(best != NULL);
        const struct row *phase = rows_find(rows, SCH_PHASE, 1, (const int64_t[]){best->at[2]});
        REQUIRE(phase != NULL);
        if (m->events[s].innermost)
            CHECK_INT(phase->at[PHASE_BEGIN_SEQ], m->events[s].innermost);
        else
            CHECK_STR(phase->text[PHASE_KIND], "other");
        CHECK(phase->at[PHASE_BEGIN_SEQ] <= s && s <= phase->at[PHASE_END_SEQ]);
    }
}

static void check_keyframes(const struct rows *rows)
{
    const struct row_table *table = &rows->tables[SCH_KEYFRAME];
    CHECK(table->count > 0);
    for (size_t i = 0; i < table->count;) {
        int64_t seq = table->rows[i].at[0];
        size_t rows_of_it = 0, living = 0;
        for (; i < table->count && table->rows[i].at[0] == seq; i++)
            rows_of_it++;
        for (int k = 0; k < m->block_count; k++) {
            const struct m_block *b = &m->blocks[k];
            bool gone = seq >= m->end_seq[b->process];
            bool lives = b->seq <= seq && (!b->free_seq || b->free_seq > seq) && !gone;
            living += lives;
            if (lives)
                CHECK(rows_find(rows, SCH_KEYFRAME, 2, (const int64_t[]){seq, b->seq}) != NULL);
        }
        CHECK_INT(rows_of_it, living);
    }
}

void model_check_totals(const struct state *state)
{
    struct state_totals totals;
    state_totals(state, &totals);
    int64_t highest = 0, living = 0, now = 0;
    for (int64_t s = 1; s <= m->seq; s++)
        for (int p = 0; p < PROCESSES; p++)
            for (int d = 0; d < DEVICES; d++)
                if (m->allocated[s][p][d] > highest)
                    highest = m->allocated[s][p][d];
    for (int i = 0; i < m->block_count; i++) {
        living += !m->blocks[i].free_seq;
        if (!m->blocks[i].free_seq && !m->ended[m->blocks[i].process])
            now += m->blocks[i].size;
    }
    CHECK_INT(totals.peak_allocated, highest);
    CHECK_INT(totals.living, living);
    CHECK_INT(totals.allocated, now);
    CHECK_INT(totals.allocs, m->block_count);
    CHECK_INT(totals.lost, 0);
}

static void check_anomalies(const struct rows *rows)
{
    CHECK_INT(rows_anomalies(rows, "free without allocation"), m->unknown_frees);
    CHECK_INT(rows_anomalies(rows, "address allocated twice"), m->twice);
    CHECK_INT(rows_anomalies(rows, "phase end without begin"), m->bad_ends);
    CHECK_INT(rows_anomalies(rows, "idle without free"), m->unknown_idles);
    CHECK_INT(rows_anomalies(rows, "allocated while awaiting free"), m->reused);
    CHECK_INT(rows_anomalies(rows, "segment taken twice"), m->segments_twice);
    CHECK_INT(rows_anomalies(rows, "segment free without allocation"), m->unknown_segments);
    CHECK_INT(rows_anomalies(rows, "mapped twice"), m->mapped_twice);
    CHECK_INT(rows_anomalies(rows, "unmapped without mapping"), m->not_mapped);
}

void model_check_rows(const struct rows *rows)
{
    check_anomalies(rows);
    check_blocks(rows);
    check_segments(rows);
    check_phases(rows);
    check_parts(rows);
    check_stretches(rows);
    check_keyframes(rows);
    for (int p = 0; p < PROCESSES; p++)
        check_partition(rows, p);
}
