/*
 * format.h - one kind of file that can be imported.
 *
 * formats.def has the list of formats, and import.c asks each, by the first bytes of a file and
 * never by its name, whether the file is of its kind. Who says yes reads it, all the way into the
 * database (writing.h); of the rest each format has its own records, and no other knows of them.
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
    const char *begins; /* how its files begin, if they are text: "an RMM log has the first line x";
                         * NULL: they are not */
    /* Of a file that is not of its kind, but nearly: what keeps it from that, and what to do; NULL:
     * it is not near. May be NULL. */
    const char *(*near)(const unsigned char *first, size_t count);
};

/* NAME_file.c has format_NAME. */
#define FORMAT(name, plain, about, example, note) extern const struct import_format format_##name;
#include "formats.def"
#undef FORMAT

/* What is said of it; returns err. */
int import_say(struct import_result *result, int err, const char *text);

#endif
