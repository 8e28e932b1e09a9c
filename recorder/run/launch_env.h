/*
 * launch_env.h - the environment of a recorded program: its own, and the few words by which the
 * guest library and the Python helper come in and learn what is wanted, and are let in.
 */
#ifndef TIDEMARK_RECORDER_LAUNCH_ENV_H
#define TIDEMARK_RECORDER_LAUNCH_ENV_H

#include "launch_wants.h"

struct launch_words {
    const char *guest;     /* put before what LD_PRELOAD has */
    const char *socket;    /* for HELLO_ENV */
    const char *door;      /* for HELLO_DOOR_ENV; NULL or "": none */
    const char *key;       /* for HELLO_KEY_ENV; NULL: none */
    const char *stand_in;  /* preloaded behind the guest; NULL: none */
    const char *stand_ins; /* folder put before what LD_LIBRARY_PATH has, with stand_in */
    const char *stand_in_name, *stand_in_value; /* what it finds in the environment */
    const char *recording; /* what is written, for the program to name; NULL: it is not told */
    const char *python;    /* folder put before what PYTHONPATH has; NULL: there is no helper */
    bool armed;            /* nobody listens at the socket yet: see hello.h */
    struct launch_wants wants;
};

/* The variable by which NVTX finds the one library that listens to it. */
#define LAUNCH_NVTX "NVTX_INJECTION64_PATH"
/* Where CUDA's driver looks for a library to load when it starts. */
#define LAUNCH_CUDA "CUDA_INJECTION64_PATH"

/* The library that a variable names, if it is there and not ours of whatever folder; or NULL. */
const char *launch_foreign(char *const *environment, const char *variable, const char *guest);

/* `environ` with the words in place of older ones of these names. One block for mem_free; NULL
 * without memory. The texts of the program's own entries are not copied. */
char **launch_env(char *const *environment, const struct launch_words *words);

#endif
