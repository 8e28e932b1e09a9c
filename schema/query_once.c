/*
 * Answers that a reader keeps for its transaction, in which no row changes. There are a handful, so
 * a list is searched. A question is known by where its text stands, and by what is read of it.
 */
#include <string.h>

#include "db_internal.h"
#include "error.h"
#include "mem.h"
#include "query.h"

enum { ANSWERS = 16, NUMBERS = 4 };

struct answer {
    const char *sql;
    int found; /* DB_ROW or DB_DONE */
    size_t count;
    struct query_place places[NUMBERS]; /* without an `at` */
    int64_t numbers[NUMBERS];
};

struct answers {
    struct answer answers[ANSWERS];
    size_t count;
};

static void drop(void *thing)
{
    mem_free(thing);
}

static bool is_number(const struct query_place *place)
{
    return place->type == QUERY_INT || place->type == QUERY_BOOL || place->type == QUERY_OPT;
}

/* 0: there is something that is not kept. */
static size_t numbers_of(const struct query_place *out)
{
    size_t count = 0;
    while (out[count].type < QUERY_REST && is_number(&out[count]))
        count++;
    return out[count].type == QUERY_END && count <= NUMBERS ? count : 0;
}

static int64_t get(const struct query_place *place)
{
    return place->type == QUERY_BOOL ? *(bool *)place->at : *(int64_t *)place->at;
}

static void put(const struct query_place *place, int64_t number)
{
    if (place->type == QUERY_BOOL)
        *(bool *)place->at = number != 0;
    else
        *(int64_t *)place->at = number;
}

static bool answers_it(const struct answer *answer, const char *sql, const struct query_place *out,
                       size_t count)
{
    if (answer->sql != sql || answer->count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (answer->places[i].type != out[i].type ||
            strcmp(answer->places[i].place, out[i].place) != 0)
            return false;
    return true;
}

static const struct answer *find(const struct answers *answers, const char *sql,
                                 const struct query_place *out, size_t count)
{
    for (size_t i = 0; answers && i < answers->count; i++)
        if (answers_it(&answers->answers[i], sql, out, count))
            return &answers->answers[i];
    return NULL;
}

/* NULL: there is no room for it. */
static struct answer *add(struct db *db, struct answers *answers)
{
    if (!answers) {
        answers = mem_alloc(1, sizeof *answers);
        if (answers && !db_keep(db, answers, drop)) {
            drop(answers);
            answers = NULL;
        }
    }
    return answers && answers->count < ANSWERS ? &answers->answers[answers->count++] : NULL;
}

static void keep(struct answer *answer, const char *sql, int found, const struct query_place *out,
                 size_t count)
{
    *answer = (struct answer){.sql = sql, .found = found, .count = count};
    for (size_t i = 0; i < count; i++) {
        answer->places[i] = out[i];
        answer->places[i].at = NULL;
        answer->numbers[i] = found == DB_ROW ? get(&out[i]) : 0;
    }
}

int query_once(struct db *db, const char *sql, const struct query_place *out)
{
    struct answers *answers = db_kept(db, drop);
    size_t count = numbers_of(out);
    const struct answer *known = count ? find(answers, sql, out, count) : NULL;
    if (known) {
        for (size_t i = 0; known->found == DB_ROW && i < count; i++)
            put(&out[i], known->numbers[i]);
        return 0;
    }
    int found = query_first(db, sql, Q_NOTHING, out);
    struct answer *fresh = found >= 0 && count ? add(db, answers) : NULL;
    if (fresh)
        keep(fresh, sql, found, out, count);
    return found < 0 ? found : 0;
}
