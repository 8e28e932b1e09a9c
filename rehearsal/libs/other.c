/* other.c - libraries that can do nothing here, and functions that only some versions ask for. */
#include "stub.h"

/* Results of the libraries, each with numbers of its own. */
enum { NCCL_INVALID_USAGE = 5, SPARSE_LT_NOT_SUPPORTED = 10, FILE_NOT_INITIALIZED = 5001 };

#include "other.def"

/* cusparseStatus_t as text: for messages of programs. */
API(const char *, cusparseGetErrorString, int result)
{
    return result == 0 ? "success" : "an error of cuSPARSE";
}
