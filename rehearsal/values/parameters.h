/*
 * parameters.h - what a kernel may write that nothing is known of but its name: all that its
 * arguments lead to, except what they declare constant.
 */
#ifndef TIDEMARK_REHEARSAL_PARAMETERS_H
#define TIDEMARK_REHEARSAL_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PARAMETERS_MOST 64

enum parameter_kind {
    PARAMETER_PLAIN,   /* a number, or the address of something constant */
    PARAMETER_ADDRESS, /* of what it may write */
    PARAMETER_STRUCT   /* may have such addresses inside */
};

/* As declared; a count of -1: the name does not say. */
struct parameters {
    int32_t count;
    uint8_t kinds[PARAMETERS_MOST];
    uint16_t bytes[PARAMETERS_MOST]; /* of a structure that says it, or 0 */
    bool whole[PARAMETERS_MOST]; /* leads to whole numbers or truth values, and may write them */
    bool any_whole;
};

/* `name` as it was registered. */
void parameters_of_name(const char *name, struct parameters *parameters);
/* The same of a name that is readable. */
void parameters_read(const char *readable, struct parameters *parameters);

/* Forgets what these arguments lead to; everything, if it is not known what they are. */
void parameters_forget(const struct parameters *parameters, void **arguments);
/* Only what the first argument begins with, where a kernel writes that and nothing else. */
void parameters_forget_first(const struct parameters *parameters, void **arguments);

/* How many bytes of an argument can be read: up to the end of this thread's stack, and no more than
 * `most`. */
size_t parameters_readable(const void *at, size_t most);

#endif
