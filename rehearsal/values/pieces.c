/* pieces.c - see pieces.h. */
#include "pieces.h"

#include <string.h>

#include "mem.h"
#include "values.h"

bool piece_new(struct piece *piece, uint64_t at, uint64_t count)
{
    *piece = (struct piece){.at = at, .count = count};
    if (count <= VALUES_MOST)
        piece->bytes = mem_alloc(count + 8, 1); /* whole words may be read at its end */
    return piece->bytes != NULL;
}

bool piece_fetch(struct piece *piece, uint64_t at, uint64_t count)
{
    *piece = (struct piece){0};
    if (!values_any() || count > VALUES_MOST || !values_are_known(at, count) ||
        !piece_new(piece, at, count))
        return false;
    if (values_get(at, piece->bytes, count))
        return true;
    piece_drop(piece);
    return false;
}

void piece_drop(struct piece *piece)
{
    mem_free(piece->bytes);
    *piece = (struct piece){0};
}

void piece_put(struct piece *piece)
{
    values_put(piece->at, piece->bytes, piece->count);
    piece_drop(piece);
}

bool piece_fetch_real(struct piece *piece, uint64_t at, uint64_t count)
{
    *piece = (struct piece){0};
    if (count > VALUES_MOST || !values_are_real(at, count) || !piece_new(piece, at, count))
        return false;
    if (values_get_real(at, piece->bytes, count))
        return true;
    piece_drop(piece);
    return false;
}

void piece_put_real(struct piece *piece)
{
    values_put_real(piece->at, piece->bytes, piece->count);
    piece_drop(piece);
}

void piece_run_end(struct piece_run *run)
{
    if (run->count)
        values_put(run->at, run->bytes, run->count);
    run->at += run->count;
    run->count = 0;
}

void piece_run_put(struct piece_run *run, const void *bytes, uint32_t count)
{
    if (run->count + count > sizeof run->bytes)
        piece_run_end(run);
    memcpy(run->bytes + run->count, bytes, count);
    run->count += count;
}
