/*
 * retention.h - what is dropped on purpose, so that the file of a long run stays small.
 *
 * A run is cut into units: the steps of each process; of a process without steps, stretches of
 * RETENTION_UNIT_SEQS events. Kept in full are the first RETENTION_FIRST units of a process, the
 * last `keep_steps`, and those with a new peak or an out-of-memory event, with the unit before and
 * the unit behind each. Of the others go
 *
 *   - the blocks that lived and died without meeting a unit that is kept. A block that did meet one
 *     stays, wherever it was born: what lived at an instant of a kept unit is all there;
 *   - what the device did, and parts of stream-ordered pools that came and went in them;
 *   - with a limit of bytes, their phases too, but for those in which a block was born or died that
 *     is still there, and what tells what such a block is for: the step's backward and its last
 *     phase. What these did on each device goes all the same, and samples. Of all peaks only the
 * highest so far of each device stays.
 *
 * A process that has ended is forgotten: at once while there is room, or when many wait, else when
 * all is decided that is due. Where there is a limit it keeps but RETENTION_LEAST of its last
 * units, and when room is short those that ended first are read again and give up all units but
 * those of a peak or an out-of-memory event (retention_ended.c). So what is held is bounded by the
 * processes that live and RETENTION_ENDED_WAIT others.
 *
 * What goes is added to the tables site_sum and phase_sum before, and a row of `thinned` says from
 * where to where.
 *
 * It belongs to the writer thread: retention_see is told of each batch that was written, and
 * retention_work, inside the open transaction, does as much as is due. A unit is decided when the
 * window has passed it and its two neighbours are known; a block is decided with the unit in which
 * it died. Units are decided in order.
 *
 * Invariants (retention_is_valid), for each process:
 *   units stand in the order of their begin, each unit ends where the next begins; the one before
 *   the first step is empty where a process began with it;
 *   kept stretches stand in order, do not overlap, and end at or before `decided`;
 *   every block in `late` was born before `decided`, and died at or behind it;
 *   every block in `spared` was born before `decided` and meets a stretch that is kept.
 */
#ifndef TIDEMARK_RECORDER_RETENTION_H
#define TIDEMARK_RECORDER_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "batch.h"
#include "db.h"
#include "queue.h"
#include "retention_options.h"
#include "writer.h"

#define RETENTION_FIRST 10
#define RETENTION_WINDOW 64 /* units at the end that stay, where only max_bytes is given */
#define RETENTION_UNIT_SEQS 100000

struct retention;

/* *out is NULL if nothing is ever to be dropped: the other functions take that. */
int retention_new(struct retention **out, struct db *db, const struct retention_options *options);
void retention_free(struct retention *retention);
/* After the batch was written. Where memory runs out, here or below, nothing goes from then on:
 * what a peak or a unit that is kept needs might be among it. */
void retention_see(struct retention *retention, const struct batch *batch);
/* In a transaction; looks at about `rows` rows, more if the limit is near. ERR_LIMIT: what has to
 * stay does not fit max_bytes. Other errors are the database's. */
int retention_work(struct retention *retention, int64_t rows);
/* What is due may go later: so many bytes that wait to be written fit in before the limit is near,
 * and of `keep_steps` not too much is due already. */
bool retention_can_wait(const struct retention *retention, uint64_t bytes);
/* At the end, when nothing is to come: there is more that `keep_steps` does not keep. */
bool retention_is_behind(const struct retention *retention);
/* At the end: a quarter of the file or more is of pages without anything, and the others are soon
 * written, and have room beside it. */
bool retention_is_hollow(struct retention *retention);
/* The queue that is told that it goes on; NULL = nobody. */
void retention_tick(struct retention *retention, struct queue *queue);
/* After a rollback: what was dropped in that transaction is there still, and stays. */
void retention_rolled_back(struct retention *retention);
/* Bytes that the log may hold before it is moved: less than usual where the limit is close. */
uint64_t retention_log_bytes(const struct retention *retention, uint64_t usual);
uint64_t retention_most_bytes(const struct retention *retention); /* of the file and its log */
size_t retention_processes(const struct retention *retention);    /* that are remembered */
/* writer_start, with this for its keeper. */
int retention_start_writer(struct writer **out, struct db *db, struct queue *queue, bool private,
                           const struct retention_options *options);
bool retention_is_valid(const struct retention *retention);

#endif
