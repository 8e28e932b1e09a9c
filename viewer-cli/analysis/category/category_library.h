/*
 * category_library.h - memory that a library keeps for itself: cuBLAS' workspaces, which PyTorch
 * takes from its own allocator at the first multiplication of each thread on each stream, and never
 * gives back. In step with view allocation_category.
 *
 * What tells them from tensors, by the strength of what it proves: a frame of the call in the
 * stack, where stacks have C++ frames; else the size, and where the block was born, and that it
 * stayed.
 */
#ifndef TIDEMARK_ANALYSIS_CATEGORY_LIBRARY_H
#define TIDEMARK_ANALYSIS_CATEGORY_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "category.h"
#include "db.h"

enum { CATEGORY_SIZES = 8 };

enum library_proof {
    LIBRARY_NONE,
    LIBRARY_FRAME,    /* it was asked for by cuBLAS' wrapper */
    LIBRARY_MULTIPLY, /* its size, in a matrix multiplication */
    LIBRARY_NO_TAG    /* its size, and it is no tensor that the helper knows */
};

struct category_library {
    int64_t sizes[CATEGORY_SIZES]; /* of workspaces, bytes */
    size_t size_count;
    bool frames;           /* some stack has a frame of the wrapper */
    struct db_stmt *facts; /* about one block */
};

struct library_birth {
    bool backward; /* born in one */
    bool proves;   /* in the first of several steps, or before: to have stayed says something */
};

/* 0 or an error; category_library_clear in both cases. */
int category_library_read(struct db *db, int64_t process, struct category_library *out);
void category_library_clear(struct category_library *library);
/* Of a block without a tag that is there after the last step. 0 or an error. */
int category_library_decide(struct category_library *library, int64_t seq, int64_t size,
                            const struct library_birth *birth, enum library_proof *out);

#endif
