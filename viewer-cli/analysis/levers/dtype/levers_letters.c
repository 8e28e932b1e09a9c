/* levers_letters.c - see levers_letters.h. */
#include "levers_letters.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "group.h"
#include "mem.h"
#include "query.h"

enum { FLOAT = 4, ROUNDED = 512, UNCUT = 1 << 20 };
#define NUMBERS_MOST (INT64_MAX / 64)

struct letters {
    const struct levers_seen *seen;
    struct levers_dtypes *dtypes;
    int64_t bytes; /* of an output */
    const char *letters;
    size_t
        *places;  /* of blocks of the forward that is gone through; as many as there are letters */
    size_t count; /* of such blocks, maybe more than that */
    size_t taken; /* blocks that got an operation, of all forwards */
};

static enum levers_op op_of(char letter)
{
    switch (letter) {
    case 'h':
        return LEVERS_OP_HALF;
    case 'm':
        return LEVERS_OP_MATRIX;
    case 'c':
        return LEVERS_OP_CONVOLUTION;
    case 'b':
        return LEVERS_OP_ATTENTION;
    case 'f':
        return LEVERS_OP_FULL;
    case 's':
        return LEVERS_OP_GIVEN;
    default:
        return LEVERS_OP_UNKNOWN;
    }
}

static bool has_bytes(const struct letters *all, const struct levers_block *block)
{
    int64_t over = block->size - all->bytes;
    int64_t most = !all->seen->on_host && all->bytes >= UNCUT ? UNCUT : ROUNDED;
    return block->asked == all->bytes || (block->asked == block->size && over >= 0 && over < most);
}

/* Of a forward that is over. */
static int take_forward(struct letters *all)
{
    const bool alike = all->count == strlen(all->letters);
    for (size_t i = 0; alike && i < all->count; i++) {
        const struct levers_block *block = &all->seen->step.blocks[all->places[i]];
        enum levers_op op = op_of(all->letters[i]);
        if (op == LEVERS_OP_UNKNOWN || levers_op_made(all->dtypes, block) != LEVERS_OP_UNKNOWN)
            continue;
        if (!map_put(&all->dtypes->ops, (uint64_t)block->seq, op, NULL) ||
            ((op == LEVERS_OP_FULL || op == LEVERS_OP_GIVEN) && block->module != GROUP_NONE &&
             !map_put(&all->dtypes->floats, (uint64_t)block->module, 1, NULL)))
            return ERR_NOMEM;
        all->taken++;
    }
    all->count = 0;
    return 0;
}

/* A forward ends where the next backward begins. */
static int go_through(struct letters *all)
{
    const struct levers_step *step = &all->seen->step;
    const size_t most = strlen(all->letters);
    const struct levers_phase *backward = NULL;
    int err = 0;
    for (size_t i = step->older; i < step->count && err == 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (!levers_computes(&step->phases, block->seq) || !has_bytes(all, block))
            continue;
        const struct levers_phase *next =
            levers_phase_after(&step->phases, LEVERS_BACKWARD, block->seq);
        if (next != backward)
            err = take_forward(all);
        backward = next;
        if (all->count < most)
            all->places[all->count] = i;
        all->count++;
    }
    return err < 0 ? err : take_forward(all);
}

static int take_text(struct letters *all, const char *text)
{
    int64_t numbers = 0;
    int begin = 0;
    if (sscanf(text, "%" SCNd64 " %n", &numbers, &begin) != 1 || numbers <= 0 ||
        numbers > NUMBERS_MOST || !text[begin])
        return 0;
    all->bytes = FLOAT * numbers;
    all->letters = text + begin;
    all->count = 0;
    all->places = mem_alloc(strlen(all->letters), sizeof *all->places);
    int err = all->places ? go_through(all) : ERR_NOMEM;
    mem_free(all->places);
    return err;
}

int levers_letters_read(struct levers_seen *seen, struct levers_dtypes *dtypes, size_t *count)
{
    struct letters all = {.seen = seen, .dtypes = dtypes};
    const char *text;
    struct query query = query_ask(
        seen->db, "SELECT value AS text FROM setting WHERE process = ?1 AND key = 'autocast'",
        Q_IN(seen->peak->process), Q_OUT(Q_TEXT(text)));
    while (query_next(&query))
        query_fail(&query, take_text(&all, text));
    *count = all.taken;
    return query_end(&query);
}
