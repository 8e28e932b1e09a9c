/*
 * settings.h - what `tidemark rehearse` tells the stand-ins in the program: one variable of the
 * environment, read once by each process.
 *
 *     TIDEMARK_REHEARSAL="gpu=a100-80gb;devices=2;context=500MiB;cuda=12"
 */
#ifndef TIDEMARK_REHEARSAL_SETTINGS_H
#define TIDEMARK_REHEARSAL_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile.h"

#define SETTINGS_ENV "TIDEMARK_REHEARSAL"
#define SETTINGS_TEXT_MAX 256

struct settings {
    struct profile gpu; /* its memory is what --memory says, where that is given */
    int32_t devices;
    uint64_t context;  /* bytes that a context takes of its device */
    bool context_said; /* false: they are the GPU's, and settings_write leaves them out */
    int32_t cuda; /* major version that the program was built against; 0: seen in the program */
};

/* On ERR_ARG `why` has what is wrong. */
int settings_read(const char *text, struct settings *settings, char *why, size_t room);
/* What settings_read takes; false: no room. */
bool settings_write(const struct settings *settings, char *text, size_t room);

#endif
