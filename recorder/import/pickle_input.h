/*
 * pickle_input.h - the bytes of what is imported, from a file that is read once from its beginning
 * to its end, or from memory. A file is never mapped: its pages would count as memory of the
 * process. What is packed by gzip can be read as if it were not (input_unpack); offsets are those
 * of the unpacked bytes then.
 *
 * Invariant: at <= end; base + at is the offset of the next byte.
 */
#ifndef TIDEMARK_IMPORT_PICKLE_INPUT_H
#define TIDEMARK_IMPORT_PICKLE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PICKLE_INPUT_BYTES ((size_t)256 << 10)

struct gunzip;

struct pickle_input {
    const unsigned char *bytes;
    unsigned char *own; /* PICKLE_INPUT_BYTES of room; NULL: all is in memory */
    size_t at, end;
    uint64_t base;
    int fd;                /* -1: none */
    struct gunzip *packed; /* the bytes are what it unpacks; else NULL */
    const char *path;      /* as it was opened, the caller's; NULL: memory */
    int error;             /* errno of a failed read; EBADMSG: it could not be unpacked */
};

int input_open(struct pickle_input *input, const char *path); /* a base_err; errno says more */
void input_memory(struct pickle_input *input, const void *bytes, size_t count);
void input_close(struct pickle_input *input);
/* If the next bytes are those of a gzip file, they are unpacked from here on. A base_err. */
int input_unpack(struct pickle_input *input);
/* After `error`: a sentence, and the base_err that it is. */
const char *input_trouble(const struct pickle_input *input);
int input_failure(const struct pickle_input *input);

/* The next n bytes, n <= PICKLE_INPUT_BYTES, valid until the next call; NULL: there are fewer. */
const unsigned char *input_take_slow(struct pickle_input *input, size_t n);
static inline const unsigned char *input_take(struct pickle_input *input, size_t n)
{
    if (n > input->end - input->at)
        return input_take_slow(input, n);
    const unsigned char *bytes = input->bytes + input->at;
    input->at += n;
    return bytes;
}
/* The next bytes as far as there are any, at most n <= PICKLE_INPUT_BYTES; they stay the next. */
const unsigned char *input_look(struct pickle_input *input, size_t n, size_t *count);
bool input_skip(struct pickle_input *input, uint64_t n); /* false: there are fewer */
static inline uint64_t input_offset(const struct pickle_input *input)
{
    return input->base + input->at;
}

#endif
