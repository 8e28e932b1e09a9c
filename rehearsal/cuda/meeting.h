/*
 * meeting.h - where ranks of one machine wait for each other. As with NCCL, work that ranks do
 * together is put into a stream, and the host goes on; who waits for that stream waits until every
 * rank has put its part in. Programs rely on it: one rank writes a file, all meet at a barrier, the
 * others read it.
 *
 * A meeting is memory that its ranks share, with how many works each of them has put in. Invariant:
 * the number of a rank only grows, and only that rank writes it; a work is done when all numbers
 * have reached its own. For a rank that has left, or whose process is gone, nobody waits, nor for
 * one that did not join for a minute in which no other did; a line says who was waited for. Where
 * the memory cannot be shared there is no meeting, which is number 0, and everything is done at
 * once.
 *
 * To a work each rank may bring bytes, for the others to read: as long as they are held
 * (channel.h). Nobody waits to put them in but who is ahead by all that a channel has room for.
 */
#ifndef TIDEMARK_REHEARSAL_MEETING_H
#define TIDEMARK_REHEARSAL_MEETING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel.h"

#define MEETING_RANKS_MAX CHANNEL_RANKS_MAX

/* Where a meeting is, as one rank tells the others: a descriptor of that process. */
struct meeting_place {
    int32_t pid, descriptor;
    uint64_t key; /* 0: nowhere */
};

/* Works of one stream that may not be done: the last of each meeting. */
#define WORKS_MAX 8
struct works {
    struct {
        uint32_t meeting; /* 0: none */
        uint32_t from;    /* 0: works of all; else messages of the rank before this number */
        uint64_t number;
    } list[WORKS_MAX];
};

/* A new one; its maker joins it, too. Nowhere: it could not be made. */
struct meeting_place meeting_make(void);
/* The maker's descriptor, where nobody waits for all to join. */
void meeting_close(const struct meeting_place *place);
/* Returns its number, when all have joined if `waits`. */
uint32_t meeting_join(const struct meeting_place *place, int size, int rank, bool waits);
/* All ranks of `meeting` call it: those of one color have one of their own from then on, in which
 * their ranks are ordered by key. False: no meeting, or nobody can say who goes together. */
bool meeting_split(uint32_t meeting, int color, int key, uint32_t *made, int *size, int *rank);
void meeting_leave(uint32_t meeting);

/* Puts the next work of this rank in, into `works` as well, with what it brings; NULL: that is not
 * known. `holds`: how often what the others bring is released before it may go. Returns its number;
 * 0: there is no meeting. */
uint64_t meeting_put(uint32_t meeting, const void *bytes, size_t count, unsigned holds,
                     struct works *works);
enum channel_state meeting_read(uint32_t meeting, uint64_t work, int rank, void *bytes,
                                size_t count);
void meeting_release(uint32_t meeting, uint64_t work);

/* From one rank to another. The sender does not wait; the receiver's `works` do. */
void meeting_send(uint32_t meeting, int to, const void *bytes, size_t count);
/* The number of the message that this rank receives next; `holds` as above. */
uint64_t meeting_receive(uint32_t meeting, int from, unsigned holds, struct works *works);
enum channel_state meeting_read_sent(uint32_t meeting, uint64_t message, int from, void *bytes,
                                     size_t count);
void meeting_release_sent(uint32_t meeting, uint64_t message, int from);

/* All that this process has put into any meeting. */
void meeting_wait_all(void);

/* Whether anybody ever put a work in: a program of one process never asks for more. */
bool works_exist(void);
void works_add(struct works *works, const struct works *more);
void works_copy(struct works *works, const struct works *from);
bool works_are_done(struct works *works);
void works_wait(struct works *works);

#endif
