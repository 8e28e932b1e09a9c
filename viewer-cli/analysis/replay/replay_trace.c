#include <string.h>

#include "error.h"
#include "mem.h"
#include "replay.h"

void replay_trace_clear(struct replay_trace *trace)
{
    mem_free(trace->ops);
    mem_free(trace->blocks);
    mem_free(trace->adopted_blocks);
    mem_free(trace->heaps);
    mem_free(trace->segments);
    mem_free(trace->mappings);
    mem_free(trace->ranges);
    mem_free(trace->conf);
    mem_free(trace->allocator);
    mem_free(trace->torch);
    *trace = (struct replay_trace){0};
}

int replay_settings(const struct replay_trace *trace, struct alloc_config *out, char *why,
                    size_t why_size)
{
    const struct alloc_release *release = trace->torch ? alloc_release_of(trace->torch) : NULL;
    alloc_config_default(out);
    if (release)
        out->policy = release->policy;
    return trace->conf ? alloc_config_parse(out, trace->conf, why, why_size) : BASE_OK;
}

enum replay_sizes replay_sizes(const struct replay_trace *trace)
{
    if (trace->without_request == 0)
        return REPLAY_REQUESTED;
    return trace->without_request == trace->block_count ? REPLAY_BLOCK_SIZES : REPLAY_BOTH;
}

bool replay_has_addresses(const struct replay_trace *trace)
{
    const char *allocator = trace->allocator;
    if (allocator && strcmp(allocator, "pytorch") != 0 && strcmp(allocator, "tidemark") != 0)
        return false;
    return !trace->cpu && trace->segment_count + trace->range_count > 0;
}

/* What a block is, as far as the ops were read. */
enum seen { SEEN_NOTHING, SEEN_LIVING, SEEN_WAITING, SEEN_DEAD };

static bool op_is_valid(const struct replay_trace *trace, const struct replay_op *op, char *seen,
                        uint64_t *next)
{
    if (op->kind >= REPLAY_EMPTY)
        return op->kind <= REPLAY_FULL && op->block <= trace->block_count;
    if (op->block >= trace->block_count)
        return false;
    char was = seen[op->block];
    switch ((enum replay_kind)op->kind) {
    case REPLAY_ALLOC:
        seen[op->block] = SEEN_LIVING;
        return op->block == (*next)++ && op->heap < trace->heap_count;
    case REPLAY_FREE:
        seen[op->block] = SEEN_DEAD;
        return was == SEEN_LIVING;
    case REPLAY_GIVE:
        seen[op->block] = SEEN_WAITING;
        return was == SEEN_LIVING;
    default:
        seen[op->block] = SEEN_DEAD;
        return was == SEEN_WAITING;
    }
}

static bool ops_are_valid(const struct replay_trace *trace)
{
    static const char as_found[] = {
        [REPLAY_DEAD] = SEEN_DEAD,
        [REPLAY_LIVING] = SEEN_LIVING,
        [REPLAY_AWAITING] = SEEN_WAITING,
    };
    char *seen = mem_alloc(trace->block_count + 1, 1);
    uint64_t next = trace->adopted;
    bool valid = true;
    if (!seen)
        return true;
    for (size_t i = 0; i < trace->adopted; i++)
        seen[i] = as_found[trace->adopted_blocks[i].state];
    for (size_t i = 0; i < trace->op_count && valid; i++)
        valid = op_is_valid(trace, &trace->ops[i], seen, &next);
    mem_free(seen);
    return valid && next == trace->block_count;
}

bool replay_trace_is_valid(const struct replay_trace *trace)
{
    if (trace->adopted > trace->block_count || trace->adopted_segments > trace->segment_count)
        return false;
    for (size_t i = 0; i < trace->block_count; i++)
        if ((i && trace->blocks[i].seq <= trace->blocks[i - 1].seq) ||
            (i < trace->adopted) != (trace->blocks[i].seq <= trace->rebuilt_until))
            return false;
    for (size_t i = 0; i < trace->segment_count; i++)
        if ((i && trace->segments[i].first < trace->segments[i - 1].first) ||
            trace->segments[i].heap >= trace->heap_count ||
            (i < trace->adopted_segments) != (trace->segments[i].first <= trace->rebuilt_until))
            return false;
    for (size_t i = 0; i < trace->mapping_count; i++)
        if ((i && trace->mappings[i].seq < trace->mappings[i - 1].seq) ||
            trace->mappings[i].heap >= trace->heap_count)
            return false;
    return ops_are_valid(trace);
}
