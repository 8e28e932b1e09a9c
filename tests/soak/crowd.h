/*
 * crowd.h - a run of any number of small processes that come and go, as the recorder's state would
 * see it: for tests of what is kept of each, and of reports that go through all of them.
 *
 * CROWD_BESIDE live at a time, beside the first process, which stays to the end. Each trains a few
 * steps on a device of its own kind, with names, call sites, tags, a segment and a sample, leaves
 * its parameters behind, and another one takes its place.
 */
#ifndef TIDEMARK_TESTS_CROWD_H
#define TIDEMARK_TESTS_CROWD_H

#include "batch.h"
#include "state.h"

#define CROWD_BESIDE 8

struct crowd_options {
    uint64_t processes;
    unsigned steps; /* of each; the first one has one for each process that ended */
    unsigned sites; /* call sites that there are, all processes together */
};

/* Runs it; `sink` takes each batch over. False from it ends the run. */
void crowd_run(const struct crowd_options *options, bool (*sink)(void *self, struct batch *batch),
               void *self);

#endif
