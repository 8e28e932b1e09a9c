/* Segments at the highest point, with the blocks in them: by address, the largest where they are
 * too many. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "data.h"
#include "error.h"
#include "frag.h"
#include "instant.h"
#include "mem.h"
#include "pack.h"

enum { WAITS = 255 };

static void put_block(struct data *data, struct buf *out, const struct frag_segment *segment,
                      const struct frag_block *block, uint64_t *end)
{
    uint64_t offset = block->address - segment->area.address;
    pack_number(out, offset - *end);
    pack_number(out, (uint64_t)block->size);
    pack_number(out, block->waiting ? WAITS : (uint64_t)block->purpose);
    pack_number(out,
                lexicon_site(&data->lexicon, block->site == FRAG_NONE ? QUERY_NONE : block->site));
    *end = offset + (uint64_t)block->size;
}

static void put_segment(struct data *data, struct buf *out, const struct frag *frag,
                        const struct frag_segment *segment)
{
    char address[32];
    uint64_t end = 0;
    snprintf(address, sizeof address, "0x%" PRIx64, (uint64_t)segment->area.address);
    pack_text(out, address);
    pack_number(out, (uint64_t)segment->area.size);
    pack_number(out, (uint64_t)segment->area.heap);
    pack_number(out, (uint64_t)segment->free);
    pack_number(out, segment->area.mapped);
    pack_number(out, segment->count);
    for (size_t i = 0; i < segment->count; i++)
        put_block(data, out, segment, &frag->blocks[segment->first + i], &end);
}

static int put_segments(struct data *data, const struct frag *frag)
{
    struct buf rows = {0};
    size_t *order = frag_order(frag, true), count = 0, blocks = 0;
    bool *shown = mem_alloc(frag->segment_count + 1, sizeof *shown);
    int err = order && shown ? 0 : ERR_NOMEM;
    for (size_t i = 0; err == 0 && i < frag->segment_count && count < DATA_SEGMENTS; i++) {
        blocks += frag->segments[order[i]].count;
        if (blocks > DATA_MAP_BLOCKS && count)
            break;
        shown[order[i]] = true;
        count++;
    }
    for (size_t i = 0; err == 0 && i < frag->segment_count; i++)
        if (shown[i])
            put_segment(data, &rows, frag, &frag->segments[i]);
    pack_number(&data->out, frag->segment_count - count);
    pack_number(&data->out, count);
    buf_add(&data->out, buf_string(&rows), rows.count);
    data->out.broken = data->out.broken || rows.broken;
    buf_clear(&rows);
    mem_free(order);
    mem_free(shown);
    return err;
}

int data_map(struct data *data, const struct report_scope *scope)
{
    struct instant instant;
    struct frag frag = {0};
    int err = instant_find(data->report->db, scope->process.id, scope->device, "peak", &instant);
    bool found = err == 0;
    if (found)
        err = frag_read(data->report->db, scope->process.id, scope->device, &instant, 0, &frag);
    else if (err == ERR_NOTFOUND)
        err = 0;
    if (err == 0) {
        pack_number(&data->out, found && frag.known);
        pack_signed(&data->out, found ? instant.seq : 0);
        err = put_segments(data, &frag);
    }
    frag_clear(&frag);
    return err;
}
