/*
 * cupti_live_inner.h - what cupti_live.c and cupti_vmm.c share: the table with its lock, and the
 * list of events that is made under it.
 */
#ifndef TIDEMARK_PROFILER_CUPTI_LIVE_INNER_H
#define TIDEMARK_PROFILER_CUPTI_LIVE_INNER_H

#include "cupti_live.h"
#include "event.h"

#define LIVE_LIST 16

struct live_list {
    struct event events[LIVE_LIST];
    uint32_t count;
};

extern struct live_table live_table;

/* Under the lock, cupti_graph.c: captures in this context are forgotten; 0: all. */
void live_captures_gone(uint64_t context);

/* False: the lock could not be had in time. */
bool live_hold(void);
/* The same; counted, for what is to be noted is lost. */
bool live_hold_to_note(void);
void live_let_go(void);

/* Under the lock, if callbacks are watched. */
void live_note_told(enum live_space space, uint64_t key);
/* Under the lock: cupti_vmm.c. */
void live_mapping_vanished(struct live_entry *mapping, uint32_t name, struct live_list *list);

/* What does not fit is left out: whoever goes on with a full list sends it first. */
void live_add(struct live_list *list, struct event event);
/* Without the lock. */
void live_send(struct live_list *list);

/* Takes out all memory that `goes` with `of`, and tells of it what is not leaving already. */
typedef bool live_goes(const struct live_entry *entry, uint64_t of);
void live_take_all(live_goes *goes, uint64_t of, uint32_t name);

/* EVENT_F_LATE, or 0. */
uint8_t live_flags(void);
struct event live_alloc_event(const struct live_entry *entry);
struct event live_free_event(const struct live_entry *entry, uint32_t name);

#endif
