/* levers_facts.c - see levers_facts.h. */
#include "levers_facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "query.h"

static const char facts_sql[] =
    "SELECT key, value FROM setting WHERE process = ?1 AND device IS NULL"
    "   AND key IN ('loss_compares', 'loss_logits', 'attention') ORDER BY key, value";

enum { SIZE_MOST = 1 << 28, SIDE_MOST = 1 << 19 };

static bool is_size(int64_t size, int64_t most)
{
    return size > 0 && size <= most;
}

static bool are_sizes(const struct levers_attention *one)
{
    return is_size(one->heads, SIDE_MOST) && is_size(one->queries, SIDE_MOST) &&
           is_size(one->keys, SIDE_MOST) && is_size(one->width, SIDE_MOST);
}

/* "64x64", "64x64 sums" */
static void take_compared(struct levers_facts *out, const char *value)
{
    int64_t size, *largest = strstr(value, " sums") ? &out->sums : &out->compared;
    if (sscanf(value, "%" SCNd64, &size) == 1 && is_size(size, SIDE_MOST) && size > *largest)
        *largest = size;
}

/* "head 8192x50257", "other" */
static void take_logits(struct levers_facts *out, const char *value)
{
    struct levers_logits logits;
    char kind[8] = "";
    int read = sscanf(value, "%7s %" SCNd64 "x%" SCNd64, kind, &logits.rows, &logits.classes);
    logits.head = strcmp(kind, "head") == 0;
    out->head = out->head || (read == 1 && logits.head);
    out->other = out->other || (read == 1 && !logits.head);
    if (read == 3 && out->logits_count < LEVERS_FACTS && is_size(logits.rows, SIZE_MOST) &&
        is_size(logits.classes, SIZE_MOST))
        out->logits[out->logits_count++] = logits;
}

/* "192x576x576x64 dropout mask" */
static void take_attention(struct levers_facts *out, const char *value)
{
    struct levers_attention *one = &out->attention[out->attention_count];
    if (out->attention_count < LEVERS_FACTS &&
        sscanf(value, "%" SCNd64 "x%" SCNd64 "x%" SCNd64 "x%" SCNd64, &one->heads, &one->queries,
               &one->keys, &one->width) == 4 &&
        are_sizes(one)) {
        one->drops = strstr(value, " dropout") != NULL;
        one->masks = strstr(value, " mask") != NULL;
        one->scaled = strstr(value, " scaled") != NULL;
        out->attention_count++;
    }
}

int levers_facts_read(struct db *db, int64_t process, struct levers_facts *out)
{
    const char *key, *value;
    *out = (struct levers_facts){0};
    struct query query = query_ask(db, facts_sql, Q_IN(process), Q_OUT(Q_TEXT(key), Q_TEXT(value)));
    while (query_next(&query)) {
        if (strcmp(key, "loss_compares") == 0)
            take_compared(out, value);
        else if (strcmp(key, "loss_logits") == 0)
            take_logits(out, value);
        else
            take_attention(out, value);
    }
    return query_end(&query);
}

bool levers_facts_is_valid(const struct levers_facts *facts)
{
    bool valid = facts->logits_count <= LEVERS_FACTS && facts->attention_count <= LEVERS_FACTS &&
                 facts->compared >= 0 && facts->sums >= 0;
    for (size_t i = 0; i < facts->logits_count && valid; i++)
        valid = is_size(facts->logits[i].rows, SIZE_MOST) &&
                is_size(facts->logits[i].classes, SIZE_MOST);
    for (size_t i = 0; i < facts->attention_count && valid; i++)
        valid = are_sizes(&facts->attention[i]);
    return valid;
}
