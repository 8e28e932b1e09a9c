/* What lived at many moments, and the axis that it is drawn on. */
#include "course.h"
#include "data.h"
#include "error.h"
#include "instant.h"
#include "moments.h"
#include "pack.h"

static const struct moments_limits limits = {
    .exact = 60000, .moments = 3000, .changes = 450000, .classes = 5000, .top = 12};

/* ---- course ---- */

static void put_column(struct buf *out, const struct course_column *column)
{
    pack_number(out, (uint64_t)(column->until_ns - column->from_ns));
    pack_number(out, (uint64_t)column->first);
    pack_number(out, (uint64_t)column->min);
    pack_number(out, (uint64_t)column->max);
    pack_known(out, column->reserved_max);
    pack_known(out, column->step);
    pack_number(out, column->kind);
    pack_number(out, (column->pause ? 1u : 0u) | (column->thinned ? 2u : 0u));
}

int data_course(struct data *data, const struct report_scope *scope)
{
    const struct course_request request = {
        .process = scope->process.id,
        .device = scope->device,
        .first_step = INT64_MIN,
        .last_step = INT64_MAX,
        .columns = DATA_COLUMNS,
    };
    struct course course;
    struct buf *out = &data->out;
    struct instant peak = {.seq = PACK_NONE};
    int err = course_read(data->report->db, &request, &course);
    if (err == 0)
        err = instant_find(data->report->db, scope->process.id, scope->device, "peak", &peak);
    bool found = err == 0;
    if (found || err == ERR_NOTFOUND) {
        err = 0;
        pack_signed(out, course.from_ns);
        pack_number(out, course.count);
        for (unsigned i = 0; i < course.count; i++)
            put_column(out, &course.columns[i]);
        pack_number(out, course.driven);
        pack_known(out, found ? peak.seq : PACK_NONE);
        pack_number(out, (uint64_t)(found ? peak.allocated : course.peak));
        pack_number(out, (uint64_t)(found ? peak.at_ns : course.peak_ns));
    }
    course_clear(&course);
    return err;
}

/* ---- moments ---- */

static void put_modules(struct buf *out, const struct modules *modules)
{
    pack_number(out, modules->count);
    for (size_t i = 0; i < modules->count; i++) {
        const struct module_node *node = &modules->nodes[i];
        pack_text(out, node->path);
        pack_text(out, node->class_name);
        pack_known(out, node->parent == MODULE_ROOT ? PACK_NONE : (int64_t)node->parent);
    }
}

static void put_classes(struct data *data, const struct moments *moments)
{
    struct buf *out = &data->out;
    pack_number(out, moments->class_count);
    for (size_t i = 0; i < moments->class_count; i++) {
        const struct moments_class *class = &moments->classes[i];
        pack_number(out, class->purpose);
        pack_number(out, class->born);
        pack_number(out, lexicon_site(&data->lexicon, class->site));
        pack_number(out, class->module);
    }
}

static void put_blocks(struct data *data, const struct moments *moments)
{
    struct buf *out = &data->out;
    int64_t seq = 0, ns = 0;
    pack_number(out, moments->block_count);
    for (size_t i = 0; i < moments->block_count; i++) {
        const struct moments_block *block = &moments->blocks[i];
        bool lives = block->free_seq == MOMENTS_NONE;
        pack_number(out, (uint64_t)(block->seq - seq));
        pack_number(out, (uint64_t)block->size);
        pack_known(out, block->requested);
        pack_signed(out, block->alloc_ns - ns);
        pack_known(out, lives ? PACK_NONE : block->free_seq - block->seq);
        pack_known(out, lives ? PACK_NONE : block->free_ns - block->alloc_ns);
        pack_number(out, block->class);
        pack_number(out, lexicon_site(&data->lexicon, block->site));
        seq = block->seq;
        ns = block->alloc_ns;
    }
}

static void put_moments(struct buf *out, const struct moments *moments)
{
    struct moment before = {0};
    size_t at = 0;
    pack_number(out, moments->exact ? 0 : moments->count);
    for (size_t i = 0; i < moments->count && !moments->exact; i++) {
        const struct moment *moment = &moments->moments[i];
        size_t first = at;
        uint32_t class = 0;
        while (at < moments->change_count && moments->changes[at].moment == i)
            at++;
        pack_number(out, (uint64_t)(moment->seq - before.seq));
        pack_number(out, (uint64_t)(moment->ns - before.ns));
        pack_number(out, at - first);
        for (size_t k = first; k < at; k++) {
            const struct moments_change *change = &moments->changes[k];
            pack_number(out, change->class - class);
            pack_signed(out, change->bytes);
            pack_signed(out, change->blocks);
            class = change->class;
        }
        before = *moment;
    }
}

int data_moments(struct data *data, const struct report_scope *scope)
{
    struct moments moments;
    struct buf *out = &data->out;
    int err = moments_read(data->report->db, scope->process.id, scope->device, &limits, &moments);
    if (err == 0) {
        pack_number(out, moments.exact);
        pack_number(out, (uint64_t)moments.folded);
        put_modules(out, &moments.modules);
        put_classes(data, &moments);
        put_blocks(data, &moments);
        put_moments(out, &moments);
        pack_number(out, moments.limits.top);
    }
    moments_clear(&moments);
    return err;
}
