/*
 * Do the inputs belong together? What makes no sense in any case is refused; what may be meant is
 * refused unless `mixed` says that it is.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "map.h"
#include "mem.h"
#include "merge_types.h"

#define APART_NS (INT64_C(600) * 1000000000) /* calendars of one job are not further apart */

static int misfit(struct merge *merge)
{
    merge->result->misfit = true;
    return ERR_ARG;
}

/* ---- never ---- */

static bool is_same_recording(const struct merge_input *a, const struct merge_input *b)
{
    if (a->inode && b->inode && strcmp(a->inode, b->inode) == 0)
        return true;
    return a->side.monotonic && b->side.monotonic && a->recorder_pid &&
           a->recorder_pid == b->recorder_pid && a->side.monotonic_ns == b->side.monotonic_ns &&
           a->side.real_ns == b->side.real_ns;
}

static int check_twice(struct merge *merge)
{
    for (size_t i = 0; i < merge->options->count; i++)
        for (size_t j = 0; j < i; j++)
            if (is_same_recording(&merge->inputs[j], &merge->inputs[i]))
                return merge_say(merge, misfit(merge), "%s and %s are the same recording",
                                 merge->inputs[j].path, merge->inputs[i].path);
    return 0;
}

static int check_merged(struct merge *merge)
{
    for (size_t i = 0; i < merge->options->count; i++)
        if (merge->inputs[i].is_merged)
            return merge_say(merge, misfit(merge),
                             "%s is merged already: name the recordings that it was made of",
                             merge->inputs[i].path);
    return 0;
}

/* ---- not without being told ---- */

static int check_world(struct merge *merge)
{
    const struct merge_input *first = NULL;
    for (size_t i = 0; i < merge->options->count; i++) {
        const struct merge_input *input = &merge->inputs[i];
        if (!input->world_size)
            continue;
        if (first && first->world_size != input->world_size)
            return merge_say(merge, misfit(merge),
                             "%s is of %" PRId64 " ranks, %s of %" PRId64
                             ": not of one job (--mixed takes them all the same)",
                             first->path, first->world_size, input->path, input->world_size);
        first = first ? first : input;
    }
    return 0;
}

static int check_ranks(struct merge *merge)
{
    struct map owner = {0};
    int err = 0;
    for (size_t i = 0; i < merge->options->count && err == 0; i++) {
        const struct merge_input *input = &merge->inputs[i];
        for (size_t j = 0; j < input->rank_count && err == 0; j++) {
            uint64_t old = MAP_NONE;
            if (!map_put(&owner, (uint64_t)input->ranks[j], i, &old))
                err = ERR_NOMEM;
            else if (old != MAP_NONE)
                err = merge_say(merge, misfit(merge),
                                "rank %" PRId64 " is in %s and in %s: not of one job (--mixed "
                                "takes them all the same)",
                                input->ranks[j], merge->inputs[old].path, input->path);
        }
    }
    map_clear(&owner);
    return err;
}

static int check_commands(struct merge *merge)
{
    const struct merge_input *first = NULL;
    int err = 0;
    for (size_t i = 0; i < merge->options->count && err == 0; i++) {
        const struct merge_input *input = &merge->inputs[i];
        struct buf words[2] = {{0}, {0}};
        if (!input->argv)
            continue;
        if (first)
            err = merge_other_word(first, input, &words[0], &words[1]);
        if (err == 0 && words[0].count)
            err = merge_say(merge, misfit(merge),
                            "%s ran %s where %s ran %s: not of one job (--mixed takes them all the "
                            "same)",
                            first->path, buf_string(&words[0]), input->path, buf_string(&words[1]));
        buf_clear(&words[0]);
        buf_clear(&words[1]);
        first = first ? first : input;
    }
    return err;
}

/* By their calendars one was over long before another began. */
static int check_times(struct merge *merge)
{
    const struct merge_input *early = NULL, *late = NULL;
    for (size_t i = 0; i < merge->options->count; i++) {
        const struct merge_input *input = &merge->inputs[i];
        const struct clock_side *side = &input->side;
        if (!side->calendar)
            continue;
        if (!early || side->real_ns + side->run_ns < early->side.real_ns + early->side.run_ns)
            early = input;
        if (!late || side->real_ns > late->side.real_ns)
            late = input;
    }
    if (!early || late->side.real_ns - early->side.real_ns - early->side.run_ns < APART_NS)
        return 0;
    return merge_say(merge, misfit(merge),
                     "%s was over %" PRId64 " minutes before %s began: not of one job (--mixed "
                     "takes them all the same)",
                     early->path,
                     (late->side.real_ns - early->side.real_ns - early->side.run_ns) / 60000000000,
                     late->path);
}

/* ---- which of them are of one job, where they need not be ---- */

static bool share_a_rank(const struct merge_input *a, const struct merge_input *b)
{
    for (size_t i = 0; i < a->rank_count; i++)
        for (size_t j = 0; j < b->rank_count; j++)
            if (a->ranks[i] == b->ranks[j])
                return true;
    return false;
}

/* By their calendars they ran together for more than half of the shorter one. */
static bool ran_together(const struct clock_side *a, const struct clock_side *b)
{
    if (!a->calendar || !b->calendar)
        return false;
    int64_t begin = a->real_ns > b->real_ns ? a->real_ns : b->real_ns;
    int64_t a_end = a->real_ns + a->run_ns, b_end = b->real_ns + b->run_ns;
    int64_t shorter = a->run_ns < b->run_ns ? a->run_ns : b->run_ns;
    return (a_end < b_end ? a_end : b_end) - begin > shorter / 2;
}

static bool may_be_one(const struct merge_input *a, const struct merge_input *b)
{
    return a->world_size > 1 && a->world_size == b->world_size && a->rank_count && b->rank_count &&
           !share_a_rank(a, b) && ran_together(&a->side, &b->side);
}

/* An input joins the first job that it fits into: no two of one job have a rank in common. */
static int job_of(const struct merge *merge, size_t at)
{
    int jobs = 0;
    for (size_t i = 0; i < at; i++)
        jobs = merge->inputs[i].side.job >= jobs ? merge->inputs[i].side.job + 1 : jobs;
    for (int job = 0; job < jobs; job++) {
        bool fits = true;
        for (size_t i = 0; i < at && fits; i++)
            fits = merge->inputs[i].side.job != job ||
                   may_be_one(&merge->inputs[i], &merge->inputs[at]);
        if (fits)
            return job;
    }
    return jobs;
}

int merge_find_jobs(struct merge *merge)
{
    for (size_t i = 1; i < merge->options->count && merge->options->mixed; i++)
        merge->inputs[i].side.job = job_of(merge, i);
    return 0;
}

/* ---- all of it ---- */

int merge_check(struct merge *merge)
{
    int err = check_twice(merge);
    if (err == 0)
        err = check_merged(merge);
    if (err < 0 || merge->options->mixed)
        return err;
    err = check_world(merge);
    if (err == 0)
        err = check_ranks(merge);
    if (err == 0)
        err = check_commands(merge);
    return err == 0 ? check_times(merge) : err;
}
