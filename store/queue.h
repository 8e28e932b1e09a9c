/*
 * queue.h - batches on their way from the drain to the writer: first in, first out, bounded by the
 * memory that they hold. One producer, one consumer.
 *
 * Invariant: bytes == sum of batch_bytes of what is queued; a push waits while bytes > limit,
 * unless the queue is empty (one batch may be larger than the limit) or closed.
 */
#ifndef TIDEMARK_STORE_QUEUE_H
#define TIDEMARK_STORE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batch.h"

struct queue;

int queue_new(struct queue **out, size_t limit_bytes);
void queue_free(struct queue *queue); /* frees what is still in it */
/* Takes the batch over in any case. False: closed, the batch was freed. */
bool queue_push(struct queue *queue, struct batch *batch);
bool queue_has_room(struct queue *queue); /* a push would not wait */
/* Waits at most timeout_ms; NULL: nothing came, or closed and empty (*closed says which). */
struct batch *queue_pop(struct queue *queue, unsigned timeout_ms, bool *closed);
void queue_close(struct queue *queue); /* pushes fail from now on; pops drain it */
size_t queue_bytes(struct queue *queue);

/* The consumer's sign of life while it works on what it popped: a number that grows. A producer
 * that finds no room can tell a writer that is busy from one that hangs. */
void queue_tick(struct queue *queue);
uint64_t queue_ticks(struct queue *queue);
bool queue_is_valid(struct queue *queue); /* the invariant above */

#endif
