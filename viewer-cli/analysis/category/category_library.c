#include "category_library.h"

#include "error.h"

/* The smallest block that is looked at, and what the allocator may add to what was asked for. */
#define LEAST (INT64_C(1) << 20)
#define SLACK (INT64_C(1) << 20)

/* As the recording says, or else what PyTorch takes below capability 9.0, and from there on. */
static const char sizes_sql[] =
    "SELECT CAST(value AS INTEGER) FROM setting WHERE process = ?1 AND key = 'cublas_workspace'"
    " UNION SELECT bytes FROM (SELECT 8519680 AS bytes UNION ALL SELECT 33554432)"
    "        WHERE NOT EXISTS (SELECT 1 FROM setting WHERE process = ?1"
    "                             AND key = 'cublas_workspace') LIMIT 8";

#define IS_WRAPPER                                                                                 \
    "(n.text LIKE '%cuda::getNewWorkspace%' OR n.text LIKE '%cuda::getCurrentCUDABlas%'"           \
    " OR n.text LIKE '%cuda::getCUDABlasLtWorkspace%')"

static const char frames_sql[] = "SELECT EXISTS (SELECT 1 FROM string n WHERE " IS_WRAPPER ")";

static const char facts_sql[] =
    "SELECT a.requested, a.site IS NULL,"
    "       EXISTS (SELECT 1 FROM site s JOIN frame f ON f.id = s.frame"
    "                 JOIN string n ON n.id = f.function"
    "                WHERE s.site = a.site AND " IS_WRAPPER "),"
    "       EXISTS (SELECT 1 FROM site s JOIN frame f ON f.id = s.frame"
    "                 JOIN string n ON n.id = f.function LEFT JOIN string l ON l.id = f.file"
    "                WHERE s.site = a.site AND s.depth = 0"
    "                  AND (n.text IN ('linear', 'matmul', 'mm', 'bmm', 'addmm', 'baddbmm',"
    "                                  'einsum', 'multi_head_attention_forward')"
    "                       OR (n.text LIKE '%forward' AND l.text LIKE '%nn/modules/linear.py'))),"
    "       EXISTS (SELECT 1 FROM tag WHERE category <= 3)"
    "  FROM allocation a JOIN heap h ON h.id = a.heap JOIN device d ON d.id = h.device"
    " WHERE a.seq = ?1 AND d.kind = 'cuda'";

int category_library_read(struct db *db, int64_t process, struct category_library *out)
{
    struct db_stmt *row = NULL;
    int err = db_prepare(db, &row, sizes_sql);
    if (err == 0)
        db_bind_int(row, 0, process);
    while (err >= 0 && (err = db_step(row)) == DB_ROW)
        if (out->size_count < CATEGORY_SIZES)
            out->sizes[out->size_count++] = db_column_int(row, 0);
    db_finalize(row);
    row = NULL;
    if (err >= 0)
        err = db_prepare(db, &row, frames_sql);
    if (err >= 0 && (err = db_step(row)) == DB_ROW)
        out->frames = db_column_int(row, 0) != 0;
    db_finalize(row);
    return err < 0 ? err : db_prepare(db, &out->facts, facts_sql);
}

void category_library_clear(struct category_library *library)
{
    db_finalize(library->facts);
    library->facts = NULL;
}

/* *odd: a size that tensors hardly have. */
static bool has_size(const struct category_library *library, int64_t size, int64_t slack, bool *odd)
{
    bool found = false;
    *odd = false;
    for (size_t i = 0; i < library->size_count; i++) {
        int64_t bytes = library->sizes[i];
        if (bytes < LEAST || size < bytes || size - bytes > slack)
            continue;
        found = true;
        *odd = *odd || bytes % (INT64_C(1) << 20) != 0;
    }
    return found;
}

static enum library_proof judge(const struct category_library *library, struct db_stmt *row,
                                int64_t size, const struct library_birth *birth)
{
    bool asked = db_column_type(row, 0) != DB_NULL, odd;
    bool no_site = db_column_int(row, 1) != 0, multiplies = db_column_int(row, 3) != 0;
    if (db_column_int(row, 2))
        return LIBRARY_FRAME;
    if (!has_size(library, asked ? db_column_int(row, 0) : size, asked ? 0 : SLACK, &odd))
        return LIBRARY_NONE;
    if (multiplies && (odd || birth->proves))
        return LIBRARY_MULTIPLY;
    if (db_column_int(row, 4) && (odd || (birth->proves && birth->backward && no_site)))
        return LIBRARY_NO_TAG;
    return LIBRARY_NONE;
}

int category_library_decide(struct category_library *library, int64_t seq, int64_t size,
                            const struct library_birth *birth, enum library_proof *out)
{
    bool odd;
    *out = LIBRARY_NONE;
    if (size < LEAST || (!library->frames && !has_size(library, size, SLACK, &odd)))
        return 0;
    db_bind_int(library->facts, 0, seq);
    int err = db_step(library->facts);
    if (err == DB_ROW)
        *out = judge(library, library->facts, size, birth);
    db_reset(library->facts);
    return err < 0 ? err : 0;
}
