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

/* Arguments that tell a rank or a node its number, as launchers add them. */
static bool is_of_rank(const char *word, size_t bytes)
{
    struct buf text = {0};
    buf_add(&text, word, bytes);
    bool found = strstr(buf_string(&text), "rank") || strstr(buf_string(&text), "RANK");
    buf_clear(&text);
    return found;
}

/* The command without those. Where the program lies is a matter of the node, too. */
static void put_command(struct buf *out, const char *argv)
{
    while (*argv) {
        size_t bytes = strcspn(argv, " ");
        bool number = is_of_rank(argv, bytes);
        if (!number) {
            buf_add(out, argv, bytes);
            buf_text(out, " ");
        }
        argv += bytes;
        argv += strspn(argv, " ");
        if (number && *argv >= '0' && *argv <= '9') { /* --node-rank 3 */
            argv += strcspn(argv, " ");
            argv += strspn(argv, " ");
        }
    }
}

static int check_commands(struct merge *merge)
{
    const struct merge_input *first = &merge->inputs[0];
    int err = 0;
    for (size_t i = 1; i < merge->options->count && first->argv && err == 0; i++) {
        const struct merge_input *input = &merge->inputs[i];
        struct buf a = {0}, b = {0};
        put_command(&a, first->argv);
        put_command(&b, input->argv ? input->argv : first->argv);
        if (a.broken || b.broken)
            err = ERR_NOMEM;
        else if (strcmp(buf_string(&a), buf_string(&b)) != 0)
            err = merge_say(merge, misfit(merge),
                            "%s ran '%.80s', %s '%.80s': not of one job (--mixed takes them all "
                            "the same)",
                            first->path, first->argv, input->path, input->argv);
        buf_clear(&a);
        buf_clear(&b);
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
