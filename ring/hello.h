/*
 * hello.h - what a recorded process says to its recorder, and what it gets back.
 *
 * One SOCK_SEQPACKET connection to an abstract Unix socket for each sentence, closed at once: a
 * program that closes every descriptor, or that counts them, sees nothing of us.
 *
 *   HELLO  (constructor, or the first event after a fork): no answer.
 *   FETCH  (first event): the answer is one byte with the ring's memfd as SCM_RIGHTS; or the byte
 *          HELLO_NO and no descriptor, and the process stays unrecorded.
 *
 * A forked child's FETCH names the ring that its process image had before the fork, and how many
 * definitions it had. The new ring's header answers how many of these numbers keep their meaning by
 * reference: all, or none, and then the child copies them (arena.h).
 *
 * The recorder takes the pid from SO_PEERCRED and not from the message: it must be right in the
 * recorder's own pid namespace. The socket's name comes in the environment, HELLO_ENV, without the
 * leading NUL; and in HELLO_DOOR_ENV the path of another one with a file, which ended in that name.
 * A process tries the path first (its recorder serves that first), and says FETCH there only if it
 * said HELLO there.
 *
 * With HELLO_ARMED_ENV in the environment nobody may listen under that name yet, and recorders come
 * and go. Such a process says nothing at its start; with its events it tries the name a few times a
 * second, and says HELLO and FETCH when somebody listens. When that recorder is gone it goes on
 * trying.
 */
#ifndef TIDEMARK_RING_HELLO_H
#define TIDEMARK_RING_HELLO_H

#include <assert.h>
#include <stdint.h>

#define HELLO_MAGIC 0x314b524d45444954ull /* "TIDEMRK1" */
#define HELLO_ENV "TIDEMARK_SOCKET"
#define HELLO_DOOR_ENV "TIDEMARK_DOOR"
/* Not for the guest: by this word in /proc/PID/environ the recorder knows as its own who has become
 * another user, and has no parent left. Other users cannot read it, as they can the socket's name.
 */
#define HELLO_KEY_ENV "TIDEMARK_KEY"
#define HELLO_ARMED_ENV "TIDEMARK_ARMED"
#define HELLO_TEXT_BYTES 3800
#define HELLO_UNKNOWN (-1)

enum hello_what { HELLO_HELLO = 1, HELLO_FETCH = 2 };
enum hello_how { HELLO_BY_EXEC = 1, HELLO_BY_FORK = 2 };
enum hello_answer { HELLO_YES = 'Y', HELLO_NO = 'N' };

struct hello {
    uint64_t magic;
    uint32_t format; /* EVENT_FORMAT of the guest */
    uint16_t what;   /* enum hello_what */
    uint16_t how;    /* enum hello_how: how this process image came to be */
    int32_t pid;     /* as the process itself sees them: informative */
    int32_t ppid;
    int32_t rank; /* RANK, LOCAL_RANK, WORLD_SIZE; HELLO_UNKNOWN if not set or not a number */
    int32_t local_rank;
    int32_t world_size;
    uint32_t argv_bytes; /* bytes of text used: arguments, each ended by NUL */
    uint64_t argv_total; /* bytes that the whole argv would have needed */
    uint64_t from_key;   /* FETCH: ring_shared.key of the ring before the fork, 0 = none */
    uint32_t from_count; /* and its definitions */
    uint32_t unused;
    char text[HELLO_TEXT_BYTES]; /* cut at its end if argv_total is larger */
};

static_assert(sizeof(struct hello) <= 4096, "one small packet");

#endif
