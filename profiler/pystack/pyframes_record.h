/*
 * pyframes_record.h - the memory of pyframes_table: records of stacks, and for each code object a
 * chain through the records that are made of it. All functions with the table's lock.
 *
 * The chains are doubly linked, because a record that goes must leave the chains of all its code
 * objects. Memory comes from the system in chunks, is kept in lists by size when it is free, and is
 * never given back: a reader without the lock may still be in a record.
 */
#ifndef TIDEMARK_PROFILER_PYFRAMES_RECORD_H
#define TIDEMARK_PROFILER_PYFRAMES_RECORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pyframes_record {
    _Atomic uint32_t turn;  /* odd: free, or being filled */
    _Atomic uint32_t count; /* of words */
    _Atomic uint64_t hash;
    _Atomic uint64_t site; /* as intern_place gave it */
    _Atomic uint32_t way;  /* as pymodules_way gave it */
    uint32_t depth;        /* of links in use */
    uint32_t room;         /* for words, and for as many links behind them */
    struct pyframes_record *next_free;
    _Atomic uint64_t words[];
};

/* A record for that many words, its turn odd, in no chain; NULL without memory. */
struct pyframes_record *pyframes_record_new(uint32_t words);
/* Takes it out of all chains and makes its turn odd. */
void pyframes_record_free(struct pyframes_record *record);
/* Enters it into the chains of `depth` code objects; false: no memory, and it is in none. */
bool pyframes_record_chain(struct pyframes_record *record, const void *const *codes,
                           uint32_t depth);

/* The first record in a code object's chain, or NULL. */
struct pyframes_record *pyframes_record_of(const void *code);
/* Forgets a code object whose chain is empty. */
void pyframes_record_forget(const void *code);
/* Forgets all code objects; the caller frees the records first. */
void pyframes_record_forget_all(void);
/* Leaves all memory where it is and begins anew: what was there may be half changed. */
void pyframes_record_begin_anew(void);

/* For tests. */
bool pyframes_record_is_valid(const struct pyframes_record *record);
size_t pyframes_record_links(void); /* in all chains */

#endif
