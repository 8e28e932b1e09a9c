/* levers_pieces.c - see levers_pieces.h. */
#include "levers_pieces.h"

/* By a number; and needed in backward. The last may go on to something that does not need it. */
static const struct piece {
    bool scalar, saved;
} pieces[LEVERS_PIECES] = {{true, true},  {false, false}, {true, false}, {false, false},
                           {true, false}, {false, true},  {true, true},  {false, true}};

static bool is_piece(const struct levers_scalars *scalars, const struct levers_step *step,
                     size_t at, size_t piece)
{
    const struct levers_block *block = &step->blocks[at];
    const struct levers_phase *forward =
        levers_phase_around(&step->phases, LEVERS_FORWARD, block->seq);
    const bool saved = forward && block->end > forward->end;
    return forward && levers_with_scalar(scalars, step, at) == pieces[piece].scalar &&
           (saved == pieces[piece].saved || piece == LEVERS_PIECES - 1);
}

bool levers_is_gelu(const struct levers_scalars *scalars, const struct levers_step *step, size_t at)
{
    const struct levers_block *first = &step->blocks[at];
    size_t piece = 0;
    for (size_t i = at; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->asked <= LEVERS_SCALAR)
            continue;
        if (block->site != first->site || block->module != first->module)
            break;
        if (piece == LEVERS_PIECES || block->asked != first->asked ||
            !is_piece(scalars, step, i, piece))
            return false;
        piece++;
    }
    return piece == LEVERS_PIECES;
}
