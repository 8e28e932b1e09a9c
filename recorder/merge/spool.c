#include "spool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "mem.h"

#define NUMBER_BYTES 10 /* of a number, at most */

/* ---- the file ---- */

int spool_open(struct spool *spool, const char *beside)
{
    char name[PATH_MAX];
    const char *slash = strrchr(beside, '/');
    int folder = slash ? (int)(slash - beside) + 1 : 0;
    *spool = (struct spool){.file = -1};
    if (snprintf(name, sizeof name, "%.*s.tidemark-merge.XXXXXX", folder, beside) >=
        (int)sizeof name)
        return ERR_ARG;
    spool->file = mkostemp(name, O_CLOEXEC);
    if (spool->file < 0)
        return base_err_from_errno(errno);
    unlink(name);
    return 0;
}

void spool_close(struct spool *spool)
{
    if (spool->file >= 0)
        close(spool->file);
    spool->file = -1;
}

static int write_all(int file, const unsigned char *bytes, size_t count, uint64_t place)
{
    while (count) {
        ssize_t n = pwrite(file, bytes, count, (off_t)place);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? base_err_from_errno(errno) : ERR_FULL;
        bytes += n;
        count -= (size_t)n;
        place += (uint64_t)n;
    }
    return 0;
}

static int read_all(int file, unsigned char *bytes, size_t count, uint64_t place)
{
    while (count) {
        ssize_t n = pread(file, bytes, count, (off_t)place);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? base_err_from_errno(errno) : ERR_IO;
        bytes += n;
        count -= (size_t)n;
        place += (uint64_t)n;
    }
    return 0;
}

/* ---- writing ---- */

static int flush(struct spool *spool, struct spool_stream *stream)
{
    assert(spool->file >= 0 && stream->used <= SPOOL_CHUNK);
    if (!stream->used)
        return 0;
    if (!MEM_GROW(stream->chunks, stream->cap, stream->count + 1))
        return ERR_NOMEM;
    int err = write_all(spool->file, stream->buffer, stream->used, spool->end);
    if (err < 0)
        return err;
    stream->chunks[stream->count++] = spool->end;
    spool->end += stream->used;
    stream->used = 0;
    return 0;
}

int spool_put(struct spool *spool, struct spool_stream *stream, const void *bytes, size_t count)
{
    const unsigned char *from = bytes;
    assert(stream->used < SPOOL_CHUNK);
    if (!stream->buffer && !(stream->buffer = mem_alloc(1, SPOOL_CHUNK)))
        return ERR_NOMEM;
    while (count) {
        size_t room = SPOOL_CHUNK - stream->used, n = count < room ? count : room;
        memcpy(stream->buffer + stream->used, from, n);
        stream->used += n;
        stream->bytes += n;
        from += n;
        count -= n;
        int err = stream->used == SPOOL_CHUNK ? flush(spool, stream) : 0;
        if (err < 0)
            return err;
    }
    return 0;
}

/* Seven bits a byte, the lowest first; the eighth says that more follow. */
int spool_put_number(struct spool *spool, struct spool_stream *stream, uint64_t number)
{
    unsigned char bytes[NUMBER_BYTES], *to = bytes;
    bool near = stream->buffer && SPOOL_CHUNK - stream->used > NUMBER_BYTES;
    if (near)
        to = stream->buffer + stream->used;
    size_t count = 0;
    for (; number >= 0x80; number >>= 7)
        to[count++] = (unsigned char)(number | 0x80);
    to[count++] = (unsigned char)number;
    if (!near)
        return spool_put(spool, stream, bytes, count);
    stream->used += count;
    stream->bytes += count;
    return 0;
}

/* Small numbers of either sign are short. */
int spool_put_signed(struct spool *spool, struct spool_stream *stream, int64_t number)
{
    return spool_put_number(spool, stream, (uint64_t)number << 1 ^ (uint64_t)(number >> 63));
}

uint64_t spool_place(const struct spool_stream *stream)
{
    return stream->bytes;
}

int spool_seal(struct spool *spool, struct spool_stream *stream)
{
    int err = flush(spool, stream);
    mem_free(stream->buffer);
    stream->buffer = NULL;
    return err;
}

void spool_stream_clear(struct spool_stream *stream)
{
    mem_free(stream->chunks);
    mem_free(stream->buffer);
    *stream = (struct spool_stream){0};
}

/* ---- reading ---- */

int spool_read(struct spool_reader *reader, const struct spool *spool,
               const struct spool_stream *stream)
{
    assert(!stream->buffer);
    *reader = (struct spool_reader){.spool = spool, .stream = stream};
    return 0;
}

int spool_seek(struct spool_reader *reader, uint64_t place)
{
    reader->place = place;
    reader->at = reader->have = 0;
    return place <= reader->stream->bytes ? 0 : ERR_INTERNAL;
}

void spool_reader_clear(struct spool_reader *reader)
{
    mem_free(reader->buffer);
    *reader = (struct spool_reader){0};
}

/* The rest of the chunk that `place` is in. */
static int fill(struct spool_reader *reader)
{
    const struct spool_stream *stream = reader->stream;
    size_t chunk = (size_t)(reader->place / SPOOL_CHUNK), skip = reader->place % SPOOL_CHUNK;
    uint64_t left = stream->bytes - reader->place;
    size_t count = SPOOL_CHUNK - skip;
    assert(reader->place < stream->bytes && chunk < stream->count);
    if (!reader->buffer && !(reader->buffer = mem_alloc(1, SPOOL_CHUNK)))
        return ERR_NOMEM;
    if (count > left)
        count = (size_t)left;
    int err = read_all(reader->spool->file, reader->buffer, count, stream->chunks[chunk] + skip);
    reader->at = 0;
    reader->have = err < 0 ? 0 : count;
    reader->place += reader->have;
    return err;
}

int spool_get(struct spool_reader *reader, void *bytes, size_t count)
{
    unsigned char *to = bytes;
    for (size_t got = 0; got < count;) {
        if (reader->at == reader->have && reader->place == reader->stream->bytes)
            return got ? ERR_INTERNAL : 0;
        int err = reader->at == reader->have ? fill(reader) : 0;
        if (err < 0)
            return err;
        size_t n = reader->have - reader->at;
        n = n < count - got ? n : count - got;
        memcpy(to + got, reader->buffer + reader->at, n);
        reader->at += n;
        got += n;
    }
    return 1;
}

/* A number that is whole in the buffer, which is nearly each. */
static int get_near(struct spool_reader *reader, uint64_t *number)
{
    const unsigned char *at = reader->buffer + reader->at;
    uint64_t value = *at & 0x7f;
    for (unsigned shift = 7; *at & 0x80; shift += 7) {
        if (shift >= 64)
            return ERR_INTERNAL;
        value |= (uint64_t)(*++at & 0x7f) << shift;
    }
    reader->at = (size_t)(at + 1 - reader->buffer);
    *number = value;
    return 1;
}

int spool_get_number(struct spool_reader *reader, uint64_t *number)
{
    uint64_t value = 0;
    unsigned char byte = 0x80;
    if (reader->have - reader->at >= NUMBER_BYTES)
        return get_near(reader, number);
    for (unsigned shift = 0; shift < 64 && byte & 0x80; shift += 7) {
        int got = spool_get(reader, &byte, 1);
        if (got <= 0)
            return got < 0 ? got : shift ? ERR_INTERNAL : 0;
        value |= (uint64_t)(byte & 0x7f) << shift;
    }
    *number = value;
    return 1;
}

int spool_get_signed(struct spool_reader *reader, int64_t *number)
{
    uint64_t value = 0;
    int got = spool_get_number(reader, &value);
    if (got == 1)
        *number = (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
    return got;
}
