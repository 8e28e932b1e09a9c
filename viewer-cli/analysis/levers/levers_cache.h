/*
 * levers_cache.h - keys and values that a model of transformers caches while it is trained.
 *
 * The cache copies what attention computed, attention saves the copies for backward, and the
 * model's answer holds them beyond it. Without the cache there are as many bytes for backward, and
 * none behind it: they end with what that attention saved next. Checkpointing by the library's own
 * switch turns the cache off, too.
 *
 * Invariants (levers_cache_is_valid): blocks by place, each once; none ends before its birth, nor
 * behind its recorded end.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_CACHE_H
#define TIDEMARK_ANALYSIS_LEVERS_CACHE_H

#include "levers_step.h"
#include "map.h"

struct levers_cached {
    size_t block;
    int64_t end; /* without the cache */
};

struct levers_cache { /* all zero is empty */
    struct levers_cached *blocks;
    size_t count, cap;
    struct map sites; /* of it */
    bool swapped;
};

/* Its sites alone. 0 or an error; levers_cache_clear in both cases. */
int levers_cache_sites(struct db *db, struct levers_cache *out);
void levers_cache_clear(struct levers_cache *cache);
bool levers_cache_is_valid(const struct levers_step *step, const struct levers_cache *cache);

/* What it holds beyond backward goes. */
int levers_cache_cut(const struct levers_cache *cache, struct levers_edit *edit);
/* The blocks as they would be without it; once more: as they were. */
void levers_cache_swap(struct levers_step *step, struct levers_cache *cache);

#endif
