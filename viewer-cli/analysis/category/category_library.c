#include "category_library.h"

#include "error.h"
#include "query.h"

/* The smallest block that is looked at, and what the allocator may add to what was asked for. */
#define LEAST (INT64_C(1) << 20)
#define SLACK (INT64_C(1) << 20)

/* As the recording says, or else what PyTorch takes below capability 9.0, and from there on. */
static const char sizes_sql[] =
    "SELECT CAST(value AS INTEGER) AS size FROM setting WHERE process = ?1 AND key = "
    "'cublas_workspace'"
    " UNION SELECT bytes FROM (SELECT 8519680 AS bytes UNION ALL SELECT 33554432)"
    "        WHERE NOT EXISTS (SELECT 1 FROM setting WHERE process = ?1"
    "                             AND key = 'cublas_workspace') LIMIT 8";

#define IS_WRAPPER                                                                                 \
    "(n.text LIKE '%cuda::getNewWorkspace%' OR n.text LIKE '%cuda::getCurrentCUDABlas%'"           \
    " OR n.text LIKE '%cuda::getCUDABlasLtWorkspace%')"

/* Frames of C++ come from other tools' files alone, and to look at all names is to read their whole
 * table. The first comparison says no to nearly all, and in none of the others more than it does.
 */
static const char frames_sql[] =
    "SELECT CASE WHEN EXISTS (SELECT 1 FROM setting WHERE process = ?1 AND key = 'imported_from')"
    " THEN EXISTS (SELECT 1 FROM string n WHERE n.text LIKE '%cuda::get%' AND " IS_WRAPPER ")"
    " ELSE 0 END AS frames";

static const char facts_sql[] =
    "SELECT a.requested,"
    "       a.site IS NULL OR EXISTS (SELECT 1 FROM site s JOIN frame f ON f.id = s.frame"
    "                                   JOIN string n ON n.id = f.function"
    "                                  WHERE s.site = a.site AND s.depth = 0"
    "                                    AND n.text = 'autograd' AND f.file IS NULL) AS no_site,"
    "       EXISTS (SELECT 1 FROM site s JOIN frame f ON f.id = s.frame"
    "                 JOIN string n ON n.id = f.function"
    "                WHERE s.site = a.site AND " IS_WRAPPER ") AS wrapped,"
    "       EXISTS (SELECT 1 FROM site s JOIN frame f ON f.id = s.frame"
    "                 JOIN string n ON n.id = f.function LEFT JOIN string l ON l.id = f.file"
    "                WHERE s.site = a.site AND s.depth = 0"
    "                  AND (n.text IN ('linear', 'matmul', 'mm', 'bmm', 'addmm', 'baddbmm',"
    "                                  'einsum', 'multi_head_attention_forward',"
    "                                  '_in_projection', '_in_projection_packed',"
    "                                  'Conv1D.forward',"
    "                                  'SpectralNorm.compute_weight')"
    "                       OR n.text LIKE '%RotaryEmbedding.forward'"
    "                       OR (n.text LIKE '%forward' AND l.text LIKE '%nn/modules/linear.py'))) "
    "AS multiplies,"
    "       EXISTS (SELECT 1 FROM tag WHERE category <= 3) AS tags"
    "  FROM allocation a JOIN heap h ON h.id = a.heap JOIN device d ON d.id = h.device"
    " WHERE a.seq = ?1 AND d.kind = 'cuda'";

int category_library_read(struct db *db, int64_t process, struct category_library *out)
{
    int64_t size;
    struct query query = query_ask(db, sizes_sql, Q_IN(process), Q_OUT(Q_INT(size)));
    while (query_next(&query))
        if (out->size_count < CATEGORY_SIZES)
            out->sizes[out->size_count++] = size;
    int err = query_end(&query);
    return err < 0 ? err : query_read(db, frames_sql, Q_IN(process), Q_OUT(Q_INT(out->frames)));
}

/* *odd: a size that tensors hardly have, to the byte: rounded up, it may be a tensor's. */
static bool has_size(const struct category_library *library, int64_t size, int64_t slack, bool *odd)
{
    bool found = false;
    *odd = false;
    for (size_t i = 0; i < library->size_count; i++) {
        int64_t bytes = library->sizes[i];
        if (bytes < LEAST || size < bytes || size - bytes > slack)
            continue;
        found = true;
        *odd = *odd || (size == bytes && bytes % (INT64_C(1) << 20) != 0);
    }
    return found;
}

struct facts { /* about one block */
    int64_t requested;
    bool no_site, wrapped, multiplies, tags;
};

static enum library_proof judge(const struct category_library *library, const struct facts *facts,
                                int64_t size, const struct library_birth *birth)
{
    bool asked = facts->requested != QUERY_NONE, odd;
    if (facts->wrapped)
        return LIBRARY_FRAME;
    if (!has_size(library, asked ? facts->requested : size, asked ? 0 : SLACK, &odd))
        return LIBRARY_NONE;
    if (facts->multiplies && (odd || birth->proves))
        return LIBRARY_MULTIPLY;
    if (facts->tags && (odd || (birth->proves && birth->backward && facts->no_site)))
        return LIBRARY_NO_TAG;
    return LIBRARY_NONE;
}

int category_library_decide(struct db *db, const struct category_library *library, int64_t seq,
                            int64_t size, const struct library_birth *birth,
                            enum library_proof *out)
{
    struct facts facts;
    bool odd;
    *out = LIBRARY_NONE;
    if (size < LEAST || (!library->frames && !has_size(library, size, SLACK, &odd)))
        return 0;
    int err = query_first(db, facts_sql, Q_IN(seq),
                          Q_OUT(Q_OPT(facts.requested), Q_INT(facts.no_site), Q_INT(facts.wrapped),
                                Q_INT(facts.multiplies), Q_INT(facts.tags)));
    if (err == DB_ROW)
        *out = judge(library, &facts, size, birth);
    return err < 0 ? err : 0;
}
