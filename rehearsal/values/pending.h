/*
 * pending.h - pieces of device memory that somebody else brings: they are known once he has.
 * Whoever asks for one waits; whoever writes there first, or forgets it, calls it off.
 *
 * Invariant: no two pieces of the list share a byte. All functions may be called from any thread,
 * and none holds a lock while it waits.
 */
#ifndef TIDEMARK_REHEARSAL_PENDING_H
#define TIDEMARK_REHEARSAL_PENDING_H

#include <stdbool.h>
#include <stdint.h>

enum pending_news { PENDING_NOT_YET, PENDING_HERE, PENDING_UNKNOWN };

struct pending_source {
    /* Looks whether the bytes are there, and waits for nobody; must not call back here. */
    enum pending_news (*look)(void *context, void *bytes);
    void (*end)(void *context); /* once, when the piece leaves the list */
    void *context;
};

/* From now on the bytes that lay there are gone. Without memory it ends at once, and is unknown. */
void pending_add(uint64_t at, uint64_t count, const struct pending_source *source);
/* One load where nothing is on its way. */
bool pending_any(void);
/* Takes in what has come. */
void pending_look(void);
/* Until nothing there is on its way; however long that takes. */
void pending_wait(uint64_t at, uint64_t count);
/* The same for a while, and then it is called off: true if so. */
bool pending_wait_some(uint64_t at, uint64_t count);
void pending_cancel(uint64_t at, uint64_t count);
void pending_cancel_all(void);

#endif
