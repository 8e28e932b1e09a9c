/*
 * fake_recorder.h - a recorder that listens, gives out rings and remembers who said what; for tests
 * of the guest alone. It runs in a thread of the test.
 */
#ifndef TIDEMARK_TESTS_FAKE_RECORDER_H
#define TIDEMARK_TESTS_FAKE_RECORDER_H

#include <pthread.h>

#include "hello.h"
#include "ring.h"

#define FAKE_MAX 32

struct fake_said {
    struct hello hello;
    int peer;                 /* pid by SO_PEERCRED */
    struct ring_shared *ring; /* of a FETCH that was answered */
    struct ring_reader reader;
};

struct fake_recorder {
    int fd;
    int bell[2];        /* closing it ends the thread */
    bool refuse;        /* answer FETCH with HELLO_NO */
    int deaf;           /* so many FETCHes get no answer in time */
    int slow_ms;        /* before each answer */
    unsigned slot_bits; /* of the rings given out; 0: small ones */
    uint64_t arena_bytes;
    bool refer;        /* children refer to their parents' definitions, if they ask for it */
    uint32_t too_many; /* and to so many more than they have */
    pthread_t thread;
    _Atomic int count;
    struct fake_said said[FAKE_MAX];
};

/* Listens and puts HELLO_ENV into the environment. */
void fake_start(struct fake_recorder *fake, const char *name);
void fake_stop(struct fake_recorder *fake);
/* Waits until `count` sentences were heard. */
void fake_wait(struct fake_recorder *fake, int count);

#endif
