/*
 * room.h - the ledger, the account and the names that a room of the recorder stands on, without the
 * rooms beside it and above: for tests that link one room alone.
 */
#ifndef TIDEMARK_TESTS_ROOM_H
#define TIDEMARK_TESTS_ROOM_H

#include <string.h>

#include "ledger.h"
#include "names.h"
#include "test.h"

struct room {
    struct ledger ledger;
    struct account account;
    struct names names;
    struct names_defs *defs;
    uint32_t definitions;
};

static inline void room_begin(struct room *room)
{
    *room = (struct room){.ledger = {.batch = batch_new(false), .serial = 1, .start_ns = 1000}};
    REQUIRE(room->ledger.batch && names_start(&room->names, &room->ledger));
    room->account = (struct account){.ledger = &room->ledger, .id = 1};
    room->defs = names_new_defs(&room->names, &room->account);
    REQUIRE(room->defs != NULL);
}

static inline void room_end(struct room *room)
{
    names_let_go(room->defs);
    names_clear(&room->names);
    batch_free(room->ledger.batch);
}

/* True: a heap, which names_heap_made must follow. */
static inline bool room_define(struct room *room, uint32_t kind, const void *payload, size_t bytes,
                               struct names_heap *heap)
{
    struct arena_record record = {.bytes = (uint32_t)bytes, .kind = kind};
    room->definitions++;
    return names_define(room->defs, &record, payload, heap);
}

static inline uint32_t room_string(struct room *room, const char *text)
{
    struct names_heap none;
    CHECK(!room_define(room, ARENA_STRING, text, strlen(text), &none));
    return room->definitions;
}

static inline size_t room_rows(const struct room *room, enum sch_statement statement)
{
    size_t count = 0;
    for (size_t i = 0; i < room->ledger.batch->fact_count; i++)
        count += room->ledger.batch->facts[i].statement == (uint32_t)statement;
    return count;
}

#endif
