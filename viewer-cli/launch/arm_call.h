/*
 * arm_call.h - what `arm` and `attach` share: a recorder of a program that runs already.
 */
#ifndef TIDEMARK_VIEWER_ARM_CALL_H
#define TIDEMARK_VIEWER_ARM_CALL_H

#include "armed.h"
#include "record_call.h"

#define ARM_ARGUMENTS 64

struct arm_call {
    struct record_call call;
    int64_t seconds;
    struct armed armed;
    char text[4096]; /* the program's arguments, each ended by NUL */
    const char *argv[ARM_ARGUMENTS + 1];
};

extern const struct option arm_call_options[];

/* How it comes to be armed: armed_find, or what makes it so. */
typedef bool arm_call_find(struct armed *out, pid_t pid, struct buf *why);
int arm_call_run(const struct command_call *call, arm_call_find *find);

#endif
