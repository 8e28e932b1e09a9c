/*
 * guest_program.h - a test of the guest as a recorded program. The guest is linked here, so its
 * constructor has found no recorder: each case starts one, and then executes itself by its name.
 */
#ifndef TIDEMARK_TESTS_GUEST_PROGRAM_H
#define TIDEMARK_TESTS_GUEST_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "event.h"
#include "fake_recorder.h"

/* This is the recorded program, not the case that has started it. */
bool in_the_program(void);
_Noreturn void exec_self(const char *name);
/* Runs `name` of this program as a recorded program; its exit status. */
int run_program(const char *name);

/* What the ring has that was given out; how many. */
size_t events_of(struct fake_said *said, struct event *out, size_t max);

#endif
