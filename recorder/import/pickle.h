/*
 * pickle.h - reads a pickle of protocol 2 to 5 into a snapshot, and executes nothing.
 *
 * Of pickle's little machine only what moves data is here: numbers, texts, lists, dictionaries,
 * tuples, the stack and the memo. Every opcode that could import, call or fetch something is
 * refused by its name, wherever it stands. What the stack, the memo and the containers take is
 * bounded by the snapshot's budget; nothing is allocated on the word of a length in the file.
 */
#ifndef TIDEMARK_IMPORT_PICKLE_H
#define TIDEMARK_IMPORT_PICKLE_H

#include "pickle_input.h"
#include "snapshot.h"

#define PICKLE_MESSAGE_BYTES 200

struct pickle_trouble {
    uint64_t offset;
    char text[PICKLE_MESSAGE_BYTES]; /* a sentence, without the file's name */
};

/* ERR_CORRUPT: damaged or refused; ERR_NOTOURS: no pickle, or not of a snapshot; ERR_NEWER: a
 * protocol that is not known; ERR_LIMIT: more than its bytes can be worth; ERR_IO, ERR_NOMEM. The
 * snapshot must be empty before and is to be cleared after, whatever happened. */
int pickle_read(struct pickle_input *input, struct snapshot *snapshot,
                struct pickle_trouble *trouble);

/* "GLOBAL"; NULL for a byte that is no opcode. */
const char *pickle_opcode_name(unsigned opcode);

#endif
