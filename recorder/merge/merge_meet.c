/*
 * Meetings of an input (clock.h), from what recordings have of collectives.
 *
 * NCCL's kernels end on all ranks when the collective is over. A program, or a library, can call a
 * phase or a mark after a collective. NCCL's own ranges say when it was asked for, which is as good
 * as the host keeps step with its device. And where DDP or FSDP share gradients, which a bucket or
 * a call stack of theirs shows, a backward ends when the last of them has come.
 */
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "merge_types.h"
#include "query.h"

/* Words that a collective's name has in it, without what stands between words, in small letters. */
#define IS_COLLECTIVE(name)                                                                        \
    "EXISTS (SELECT 1 FROM (VALUES ('allreduce'), ('allgather'), ('reducescatter'), ('alltoall')," \
    " ('broadcast'), ('barrier')) v"                                                               \
    " WHERE instr(replace(replace(replace(lower(" name "), '_', ''), '-', ''), ' ', ''),"          \
    "             v.column1))"

static const char *const meetings_sql[CLOCK_KINDS] = {
    [CLOCK_KERNEL] =
        "SELECT name, -1 AS step, place, min(end_ns) AS ns FROM"
        " (SELECT s.text AS name, a.end_ns AS end_ns,"
        "         row_number() OVER (PARTITION BY a.process, a.device, a.name ORDER BY a.seq)"
        "           AS place"
        "    FROM activity a JOIN string s ON s.id = a.name"
        "   WHERE a.kind = 1 AND s.text LIKE 'nccl%Kernel%')"
        " WHERE end_ns IS NOT NULL GROUP BY name, place",
    [CLOCK_NAMED] =
        "SELECT name, step, place, min(ns) AS ns FROM"
        " (SELECT name, coalesce(step, -1) AS step, ordinal AS place, end_ns AS ns FROM phase"
        "   WHERE end_ns IS NOT NULL AND kind = 'user' AND ended = 'end'"
        "     AND lower(coalesce(domain, '')) <> 'nccl' AND " IS_COLLECTIVE(
            "name") "  UNION ALL"
                    "  SELECT 'mark ' || name, -1,"
                    "         row_number() OVER (PARTITION BY process, name ORDER BY seq), at_ns "
                    "FROM mark"
                    "   WHERE lower(coalesce(domain, '')) <> 'nccl' AND " IS_COLLECTIVE(
                        "name") ")"
                                " GROUP BY name, step, place",
    [CLOCK_NCCL] =
        "SELECT name, -1 AS step, place, min(ns) AS ns FROM"
        " (SELECT name, end_ns AS ns,"
        "         row_number() OVER (PARTITION BY process, name ORDER BY begin_seq, id) AS place"
        "    FROM phase WHERE lower(domain) = 'nccl' AND end_ns IS NOT NULL)"
        " GROUP BY name, place",
    [CLOCK_BACKWARD] =
        "SELECT 'backward' AS name, ph.step AS step, ph.ordinal AS place, min(ph.end_ns) AS ns"
        "  FROM phase ph JOIN process p ON p.id = ph.process"
        " WHERE ph.kind = 'backward' AND ph.ended = 'end' AND ph.end_ns IS NOT NULL"
        "   AND ph.step IS NOT NULL AND p.rank IS NOT NULL AND coalesce(p.world_size, 2) > 1"
        "   AND (EXISTS (SELECT 1 FROM tag WHERE category = 6) OR"
        "        EXISTS (SELECT 1 FROM sharing_site))"
        " GROUP BY ph.step, ph.ordinal",
};

static uint64_t mix(uint64_t hash)
{
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9ull;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebull;
    return hash ^ hash >> 31;
}

static uint64_t hash_of(const char *name, int64_t step, int64_t place)
{
    uint64_t hash = mix((uint64_t)step * 0x9e3779b97f4a7c15ull + 1);
    hash = mix(hash ^ (uint64_t)place);
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3ull;
    return mix(hash);
}

static int read_kind(struct merge *merge, struct merge_input *input, struct db *db,
                     enum clock_kind kind)
{
    struct clock_meetings *meetings = &input->side.meetings[kind];
    const char *name;
    int64_t step, place, ns;
    struct query query = query_ask(db, meetings_sql[kind], Q_NOTHING,
                                   Q_OUT(Q_TEXT(name), Q_INT(step), Q_INT(place), Q_INT(ns)));
    while (query_next(&query))
        if (!clock_meet(meetings, hash_of(name, step, place), ns))
            query_fail(&query, ERR_NOMEM);
    int err = query_end(&query);
    return err < 0 ? merge_input_failed(merge, input, db, err) : 0;
}

int merge_read_meetings(struct merge *merge, struct merge_input *input, struct db *db)
{
    int err = 0;
    for (int kind = 0; kind < CLOCK_KINDS && err == 0; kind++)
        err = read_kind(merge, input, db, (enum clock_kind)kind);
    return err;
}
