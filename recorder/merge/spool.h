/*
 * spool.h - one temporary file that holds many streams of bytes at once: each grows by chunks, and
 * is read from its begin to its end, or from a place on, any number of times.
 *
 * The file has no name, so nothing of it is left whatever happens; it lies where the output will
 * lie, where the room is. Memory: a chunk for each stream that is being written, one for each
 * reader, and eight bytes for each chunk that there is.
 *
 * Invariants: all chunks of a stream but the last are full; `bytes` is what was put; a stream is
 * read only after it was sealed.
 */
#ifndef TIDEMARK_MERGE_SPOOL_H
#define TIDEMARK_MERGE_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#define SPOOL_CHUNK 16384u

struct spool {
    int file; /* -1: none */
    uint64_t end;
};

struct spool_stream { /* all zero is an empty one */
    uint64_t *chunks; /* where they begin in the file */
    size_t count, cap;
    uint64_t bytes;
    unsigned char *buffer; /* the chunk that is being filled; NULL */
    size_t used;
};

struct spool_reader {
    const struct spool *spool;
    const struct spool_stream *stream;
    uint64_t place; /* of the next byte that is not in the buffer */
    unsigned char *buffer;
    size_t at, have;
};

/* In the folder of `beside`, a name of a file. */
int spool_open(struct spool *spool, const char *beside);
void spool_close(struct spool *spool);

int spool_put(struct spool *spool, struct spool_stream *stream, const void *bytes, size_t count);
int spool_put_number(struct spool *spool, struct spool_stream *stream, uint64_t number);
int spool_put_signed(struct spool *spool, struct spool_stream *stream, int64_t number);
uint64_t spool_place(const struct spool_stream *stream); /* of the next byte */
int spool_seal(struct spool *spool, struct spool_stream *stream);
void spool_stream_clear(struct spool_stream *stream);

int spool_read(struct spool_reader *reader, const struct spool *spool,
               const struct spool_stream *stream);
int spool_seek(struct spool_reader *reader, uint64_t place);
void spool_reader_clear(struct spool_reader *reader);
/* 1: there it is; 0: the stream ended before it; or an error. What ends inside is ERR_INTERNAL. */
int spool_get(struct spool_reader *reader, void *bytes, size_t count);
int spool_get_number(struct spool_reader *reader, uint64_t *number);
int spool_get_signed(struct spool_reader *reader, int64_t *number);

#endif
