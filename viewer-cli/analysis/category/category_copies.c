#include "category_copies.h"

#include "category.h"
#include "error.h"
#include "mem.h"
#include "query.h"

/* Where no parameter has a tag, nobody asks for the blocks. */
static const char any_sql[] = "SELECT EXISTS (SELECT 1 FROM tag WHERE category = 1) AS tags";

/* Those that are parameters or have no tag. Mostly all heaps are the process's, and then no row is
 * asked for its own. */
static const char blocks_sql[] =
    "SELECT a.seq, a.size, a.tag IS NOT NULL AS known FROM allocation a"
    " WHERE a.seq < ?2"
    "   AND a.seq >= coalesce((SELECT p.first_seq FROM process p WHERE p.id = ?1), 0)"
    "   AND (a.free_seq < 0 OR a.free_seq > ?3)"
    "   AND (a.tag IS NULL OR (SELECT t.category FROM tag t WHERE t.id = a.tag) = 1)"
    "   AND (NOT EXISTS (SELECT 1 FROM heap WHERE process <> ?1)"
    "        OR a.heap IN (SELECT id FROM heap WHERE process = ?1))";

/* Of one size. */
struct likes {
    int64_t parameters, untagged, first; /* first: of the parameters, if there are any */
    uint64_t size;
};

/* By size; each size has one element. */
struct counts {
    struct map places;
    struct likes *likes;
    size_t count, cap;
};

static struct likes *likes_of(struct counts *counts, uint64_t size)
{
    uint64_t place = map_get(&counts->places, size);
    if (place != MAP_NONE)
        return &counts->likes[place];
    if (!MEM_GROW(counts->likes, counts->cap, counts->count + 1) ||
        !map_put(&counts->places, size, counts->count, NULL))
        return NULL;
    counts->likes[counts->count] = (struct likes){.size = size};
    return &counts->likes[counts->count++];
}

static int count_blocks(struct db *db, int64_t process, int64_t first_seq, int64_t last_seq,
                        struct counts *counts)
{
    int64_t seq, size;
    bool known;
    struct query query = query_ask(db, blocks_sql, Q_IN(process, first_seq, query_opt(last_seq)),
                                   Q_OUT(Q_INT(seq), Q_INT(size), Q_INT(known)));
    while (query_next(&query)) {
        struct likes *likes = likes_of(counts, (uint64_t)size);
        if (!likes) {
            query_fail(&query, ERR_NOMEM);
            continue;
        }
        if (known && (!likes->parameters || seq < likes->first))
            likes->first = seq;
        *(known ? &likes->parameters : &likes->untagged) += 1;
    }
    return query_end(&query);
}

static int take_counts(const struct counts *counts, struct category_copies *out)
{
    int64_t parameters = 0, matched = 0;
    for (size_t i = 0; i < counts->count; i++) {
        const struct likes *likes = &counts->likes[i];
        if (!likes->parameters)
            continue;
        parameters += likes->parameters;
        matched += likes->untagged < likes->parameters ? likes->untagged : likes->parameters;
        if (likes->first >= 0 && /* else it is damage */
            !map_put(&out->sizes, likes->size, (uint64_t)likes->first, NULL))
            return ERR_NOMEM;
    }
    out->copied = matched > parameters / 2;
    return 0;
}

int category_copies_read(struct db *db, int64_t process, int64_t first_seq, int64_t last_seq,
                         struct category_copies *out)
{
    struct counts counts = {0};
    int64_t tags = 0;
    int err = query_once(db, any_sql, Q_OUT(Q_INT(tags)));
    if (err < 0 || !tags)
        return err;
    err = count_blocks(db, process, first_seq, last_seq, &counts);
    if (err == 0)
        err = take_counts(&counts, out);
    map_clear(&counts.places);
    mem_free(counts.likes);
    return err;
}

void category_copies_clear(struct category_copies *copies)
{
    map_clear(&copies->sizes);
}

enum copies_verdict category_copies_decide(const struct category_copies *copies, int64_t seq,
                                           int64_t size, bool tagged)
{
    if (!copies->sizes.count)
        return COPIES_NO_TAGS;
    uint64_t first = map_get(&copies->sizes, (uint64_t)size);
    bool copy = copies->copied && !tagged && first != MAP_NONE && seq > (int64_t)first;
    return copy ? COPIES_COPY : COPIES_NONE;
}
