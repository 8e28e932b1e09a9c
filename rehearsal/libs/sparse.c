/* sparse.c - cuSPARSE: matrices, which know their size, and the rest. */
#include "stub.h"

enum { SPARSE_FINE = 0, SPARSE_NO_MEMORY = 2 };

/* cusparseSpMatDescr_t. A matrix that a product is to fill is made without elements; how many it
 * gets is not known. */
struct matrix {
    int64_t rows, columns, elements;
};

static int make(struct matrix **made, int64_t rows, int64_t columns, int64_t elements)
{
    *made = calloc(1, sizeof **made);
    if (!*made)
        return SPARSE_NO_MEMORY;
    **made = (struct matrix){rows, columns, elements};
    return SPARSE_FINE;
}

API(int, cusparseCreateCsr, struct matrix **made, int64_t rows, int64_t columns, int64_t elements)
{
    return make(made, rows, columns, elements);
}

API(int, cusparseCreateCoo, struct matrix **made, int64_t rows, int64_t columns, int64_t elements)
{
    return make(made, rows, columns, elements);
}

API(int, cusparseDestroySpMat, struct matrix *matrix)
{
    free(matrix);
    return SPARSE_FINE;
}

API(int, cusparseSpMatGetSize, const struct matrix *matrix, int64_t *rows, int64_t *columns,
    int64_t *elements)
{
    *rows = matrix->rows;
    *columns = matrix->columns;
    *elements = matrix->elements;
    if (!matrix->elements)
        read_back(sizeof *elements, true, false);
    return SPARSE_FINE;
}

#include "sparse.def"
