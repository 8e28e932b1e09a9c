/*
 * greeting.h - the guest's two sentences to the recorder (ring/hello.h): hello, and give me my
 * ring. Each uses a connection of its own and keeps nothing open. Waits are bounded by a second.
 *
 * The name outlives the recorder in the environment, and anybody may listen under a name that is
 * free. So nothing is said before the kernel has told who listens (greeting_peer.h).
 */
#ifndef TIDEMARK_PROFILER_GREETING_H
#define TIDEMARK_PROFILER_GREETING_H

#include <stdbool.h>
#include <stdint.h>

#define GREETING_NO_ANSWER (-2) /* the recorder is there, but has no time */

/* Reads HELLO_ENV and what hello tells; false: nobody records. Before the others. */
bool greeting_prepare(int argc, char **argv);
/* The same of a program that is armed now (guest_arm): who records it will listen under `name`. */
bool greeting_prepare_armed(const char *name);
const char *greeting_name(void); /* under which the recorder listens */
bool greeting_is_armed(void);    /* nobody listens yet: see hello.h */
void greeting_hello(void);
/* Who was greeted is gone: who comes next is greeted anew. */
void greeting_forget(void);
/* The ring's descriptor; -1 if there is none for us; GREETING_NO_ANSWER. A process that has not
 * said hello, a forked child or an armed one, does so first. It names the ring from before the
 * fork, of which `count` definitions shall keep their numbers; key 0: none. */
int greeting_fetch(uint64_t from_key, uint32_t count);

#endif
