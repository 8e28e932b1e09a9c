/* ranks.h - for tests: ranks that are processes, each with the stand-in of its own. */
#ifndef TIDEMARK_TESTS_REHEARSAL_RANKS_H
#define TIDEMARK_TESTS_REHEARSAL_RANKS_H

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stand_in.h"

/* In a rank, too, what is not so ends the process, and its parent sees that. */
#define SAME(got, want) REQUIRE((int64_t)(got) == (int64_t)(want))

#define RANKS 3
#define NOT_READY 600

struct unique_id {
    char bytes[128];
};

/* What a rank is told by the parent, byte by byte: it goes on when it has read one. */
struct rank {
    pid_t pid;
    int tell, hear; /* the parent's ends */
    int told, say;  /* the rank's */
};

typedef void rank_function(struct rank *self, int number, struct unique_id id);

static inline void open_library(void)
{
    REQUIRE(setenv("TIDEMARK_REHEARSAL", "gpu=a100-40gb;devices=3", 1) == 0);
    library = dlopen(getenv("TIDEMARK_STANDIN"), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != NULL);
}

static inline void say(int to, char what)
{
    REQUIRE(write(to, &what, 1) == 1);
}

static inline char hear(int from)
{
    char what = 0;
    ssize_t n;
    do
        n = read(from, &what, 1);
    while (n < 0 && errno == EINTR);
    return n == 1 ? what : 0;
}

static inline void start(struct rank *ranks, int count, rank_function *function)
{
    struct unique_id id;
    open_library();
    SAME(CALL(int, ncclGetUniqueId, (struct unique_id *), (&id)), 0);
    for (int i = 0; i < count; i++) {
        int down[2], up[2];
        REQUIRE(pipe(down) == 0 && pipe(up) == 0);
        ranks[i] = (struct rank){.tell = down[1], .hear = up[0], .told = down[0], .say = up[1]};
        ranks[i].pid = fork();
        REQUIRE(ranks[i].pid >= 0);
        if (ranks[i].pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* a case that failed leaves nobody waiting */
            function(&ranks[i], i, id);
            _exit(0);
        }
        close(down[0]);
        close(up[1]);
    }
}

static inline void end(struct rank *ranks, int count)
{
    for (int i = 0; i < count; i++) {
        int status = -1;
        REQUIRE(waitpid(ranks[i].pid, &status, 0) == ranks[i].pid);
        SAME(status, 0);
    }
}

static inline void *join(int size, struct unique_id id, int rank)
{
    void *communicator;
    SAME(CALL(int, ncclCommInitRank, (void **, int, struct unique_id, int),
              (&communicator, size, id, rank)),
         0);
    return communicator;
}

static inline void *new_stream(void)
{
    void *stream;
    REQUIRE(CALL(int, cudaStreamCreate, (void **), (&stream)) == 0);
    return stream;
}

#endif
