/*
 * What grows: two ends of units, some way apart, compared.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "growth.h"
#include "human.h"
#include "mem.h"
#include "query.h"
#include "why.h"

/* ---- the two moments ---- */

static const char step_end_sql[] =
    "SELECT max(end_seq) AS seq FROM phase WHERE process = ?1 AND step = ?2 AND scope = 'process'"
    " AND domain IS NULL AND ?2 >= 0";

static const char call_end_sql[] =
    "SELECT end_seq AS seq FROM phase WHERE process = ?1 AND parent IS NULL"
    "   AND scope = 'process' AND kind IN ('forward', 'forward_no_grad', 'eval')"
    "   AND end_seq IS NOT NULL ORDER BY begin_seq LIMIT 1 OFFSET ?2";

static int find_end(struct db *db, int64_t process, const struct growth *growth, int64_t unit,
                    struct instant *out)
{
    *out = (struct instant){.allocated = GROUP_NONE, .reserved = GROUP_NONE, .seq = GROUP_NONE};
    return query_read(db, growth->calls ? call_end_sql : step_end_sql, Q_IN(process, unit),
                      Q_OUT(Q_OPT(out->seq)));
}

/* ---- what differs ---- */

static const char cache_sql[] =
    "SELECT EXISTS(SELECT 1 FROM site s JOIN frame f ON f.id = s.frame"
    "   JOIN string n ON n.id IN (f.function, f.file)"
    "  WHERE s.site = ?1 AND (n.text LIKE '%cache%.py' OR n.text LIKE '%past_key%'"
    "     OR n.text LIKE '%kv%' OR (n.text LIKE '%cache%' AND n.text NOT LIKE '%/%'))) AS cache";

static const char inference_sql[] =
    "SELECT NOT EXISTS(SELECT 1 FROM phase WHERE process = ?1 AND kind = 'backward') AS inference";

/* Of a group that changed: as many blocks at both moments, those that live at both counted or not. */
static bool is_larger(const struct why_group *group)
{
    return group->before_blocks > 0 && group->before_blocks == group->after_blocks;
}

/* The sum of the groups that grew as the largest did: as many blocks as before, or more of them. */
static int64_t alike(const struct why *why, bool larger)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < why->group_count; i++)
        if (why_change(&why->groups[i]) > 0 && is_larger(&why->groups[i]) == larger)
            bytes += why_change(&why->groups[i]);
    return bytes;
}

static int explain(struct db *db, const struct why *why, int64_t apart, struct growth_cause *out)
{
    const struct why_group *group = &why->groups[0];
    if (!why->group_count || why_change(group) <= 0)
        return 0;
    out->bytes = why_change(group);
    out->larger = is_larger(group);
    out->per_unit = alike(why, out->larger) / apart;
    out->shown = group->shown ? mem_copy(group->shown, strlen(group->shown)) : NULL;
    if (group->shown && !out->shown)
        return ERR_NOMEM;
    return query_read(db, cache_sql, Q_IN(group->site), Q_OUT(Q_INT(out->cache)));
}

int growth_cause_read(struct db *db, int64_t process, int64_t device, const struct growth *growth,
                      struct growth_cause *out)
{
    struct instant before, after;
    struct why why = {0};
    *out = (struct growth_cause){0};
    const bool sequence = growth->sequence.per_call > 0;
    const int64_t first = sequence ? growth->sequence.first : growth->first;
    const int64_t last = sequence ? growth->sequence.last : growth->last;
    if (growth->kind != GROWTH_GROWING && !sequence)
        return 0;
    int err = find_end(db, process, growth, first, &before);
    if (err == 0)
        err = find_end(db, process, growth, last, &after);
    if (err == 0)
        err = query_read(db, inference_sql, Q_IN(process), Q_OUT(Q_INT(out->inference)));
    if (err < 0 || before.seq == GROUP_NONE || after.seq == GROUP_NONE)
        return err;
    err = why_read_changes(db, process, device, &before, &after, 1, &why);
    if (err == 0)
        err = explain(db, &why, last - first, out);
    why_clear(&why);
    return err;
}

void growth_cause_clear(struct growth_cause *cause)
{
    mem_free(cause->shown);
    *cause = (struct growth_cause){0};
}

/* ---- in words ---- */

enum { TOKENS = 64, SHOWN = 120 };

static bool is_cache(const struct growth *growth, const struct growth_cause *cause)
{
    return cause && growth->calls && cause->inference && cause->per_unit > 0 &&
           (cause->larger || cause->cache);
}

static void put_cache(char text[GROWTH_TEXT], const struct growth_cause *cause)
{
    char bytes[HUMAN_MAX];
    snprintf(text, GROWTH_TEXT, "%s: +%s per %d tokens (calls of the model), %.120s",
             cause->cache ? "KV cache" : "a cache that grows with the sequence (as a KV cache)",
             human_bytes(bytes, cause->per_unit * TOKENS), TOKENS,
             cause->shown ? cause->shown : "call site not known");
}

/* Of a library's function the file is left out: rnn.py is PyTorch's, and may be the program's. */
static int shown_bytes(const char *shown)
{
    const char *library = strstr(shown, " > ");
    const char *file = library ? strstr(library, " (") : NULL;
    return (int)(file ? (size_t)(file - shown) : strlen(shown));
}

static void put_growing(char text[GROWTH_TEXT], const struct growth *growth,
                        const struct growth_cause *cause)
{
    char bytes[HUMAN_MAX];
    const char *unit = growth->calls ? "call" : "step";
    const char *shown = cause && cause->shown ? cause->shown : "";
    snprintf(text, GROWTH_TEXT, "%s per %s, %ss %" PRId64 " to %" PRId64 "%s%.*s",
             human_bytes(bytes, growth->per_unit), unit, unit, growth->first, growth->last,
             *shown ? ", most in " : "", shown_bytes(shown) < SHOWN ? shown_bytes(shown) : SHOWN,
             shown);
}

/* "KV cache: +4.0 MiB per 64 tokens in calls 1 to 63, then freed; highest: 26.3 MiB in call 64" */
static void put_sequence(char text[GROWTH_TEXT], const struct growth *growth,
                         const struct growth_cause *cause)
{
    const struct growth_sequence *sequence = &growth->sequence;
    char bytes[HUMAN_MAX], high[HUMAN_MAX], what[80];
    if (is_cache(growth, cause))
        snprintf(what, sizeof what, "%s: +%s per %d tokens",
                 cause->cache ? "KV cache" : "a cache (as a KV cache)",
                 human_bytes(bytes, cause->per_unit * TOKENS), TOKENS);
    else
        snprintf(what, sizeof what, "%s per call", human_bytes(bytes, sequence->per_call));
    snprintf(text, GROWTH_TEXT,
             "%s in calls %" PRId64 " to %" PRId64
             " of the model, then freed; highest: %s%s in call %" PRId64,
             what, sequence->first, sequence->last,
             sequence->prefill ? "prefill of a prompt, " : "", human_bytes(high, growth->highest),
             growth->highest_unit);
}

const char *growth_text(char text[GROWTH_TEXT], const struct growth *growth,
                        const struct growth_cause *cause)
{
    char low[HUMAN_MAX], high[HUMAN_MAX];
    const char *unit = growth->calls ? "call" : "step";
    text[0] = '\0';
    if (growth->kind == GROWTH_GROWING && is_cache(growth, cause))
        put_cache(text, cause);
    else if (growth->kind == GROWTH_GROWING)
        put_growing(text, growth, cause);
    else if (growth->kind == GROWTH_STEADY)
        snprintf(text, GROWTH_TEXT, "none since %s %" PRId64, unit, growth->since);
    else if (growth->kind == GROWTH_VARYING && growth->sequence.per_call)
        put_sequence(text, growth, cause);
    else if (growth->kind == GROWTH_VARYING)
        snprintf(text, GROWTH_TEXT,
                 "no memory is left behind; peaks differ: %s in %s %" PRId64 ", %s in %s %" PRId64,
                 human_bytes(low, growth->lowest), unit, growth->lowest_unit,
                 human_bytes(high, growth->highest), unit, growth->highest_unit);
    return text;
}
