/*
 * levers_facts.h - what the helper saw in the graphs of the first backwards
 * (python/tidemark/_graph.py): no block says what it was made of.
 *
 * Invariants (levers_facts_is_valid): all sizes are above zero, and their products are numbers.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_FACTS_H
#define TIDEMARK_ANALYSIS_LEVERS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"

enum { LEVERS_FACTS = 16 }; /* of each sort, at most */

struct levers_logits { /* that a softmax of the loss takes */
    bool head;         /* a layer makes them, for a cross entropy that is a mean or a sum */
    int64_t rows, classes;
};

/* Softmax between two products. */
struct levers_attention {
    int64_t heads; /* of all samples */
    int64_t queries, keys;
    int64_t width; /* of a query */
    bool drops, masks;
    bool scaled; /* both queries and keys are multiplied by something */
};

struct levers_facts { /* all zero: nothing is known */
    int64_t compared; /* the loss has a table of so many by so many: each sample with each other
                       * one; 0: none was seen */
    int64_t sums;     /* likewise, of sums over samples */
    bool head, other; /* logits of these sorts, of sizes that are not known */
    struct levers_logits logits[LEVERS_FACTS];
    size_t logits_count;
    struct levers_attention attention[LEVERS_FACTS];
    size_t attention_count;
};

/* 0 or an error. */
int levers_facts_read(struct db *db, int64_t process, struct levers_facts *out);
bool levers_facts_is_valid(const struct levers_facts *facts);

#endif
