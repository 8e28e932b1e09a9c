/*
 * format.h - one kind of file that can be imported.
 *
 * import.c has the table of formats and asks each, by the first bytes of a file and never by its
 * name, whether the file is of its kind. Who says yes reads it, all the way into the database
 * (writing.h); of the rest each format has its own records, and no other knows of them.
 */
#ifndef TIDEMARK_IMPORT_FORMAT_H
#define TIDEMARK_IMPORT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "import.h"
#include "pickle_input.h"

#define FORMAT_LOOK_BYTES ((size_t)4096) /* of a shorter file, all of it */

struct import_format {
    const char *name;  /* in messages: "a log of RMM" */
    const char *lacks; /* what its files do not tell, for a message; NULL: nothing to say */
    bool (*is)(const unsigned char *first, size_t count); /* of a file that may be hostile */
    /* A base_err, with result->message; the output has been made, and is whole, if it is BASE_OK.
     */
    int (*read)(struct pickle_input *input, const struct import_options *options,
                struct import_result *result);
};

extern const struct import_format format_torch;  /* torch_file.c: snapshots of PyTorch */
extern const struct import_format format_kineto; /* kineto_file.c: traces of torch.profiler */
extern const struct import_format format_rmm;    /* rmm_file.c: logs of RMM */
extern const struct import_format
    format_pprof;                              /* pprof_file.c: profiles of live memory, as JAX's */
extern const struct import_format format_nsys; /* nsys_file.c: exports of Nsight Systems */

/* What is said of it; returns err. */
int import_say(struct import_result *result, int err, const char *text);

#endif
