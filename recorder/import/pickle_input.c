#include "pickle_input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "gunzip.h"
#include "mem.h"

int input_open(struct pickle_input *input, const char *path)
{
    struct stat about;
    *input = (struct pickle_input){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), .path = path};
    if (input->fd < 0)
        return base_err_from_errno(errno);
    if (fstat(input->fd, &about) == 0 && S_ISDIR(about.st_mode)) {
        close(input->fd);
        input->fd = -1;
        errno = EISDIR;
        return ERR_IO;
    }
    input->own = mem_resize(NULL, PICKLE_INPUT_BYTES, 1);
    if (!input->own) {
        close(input->fd);
        input->fd = -1;
        errno = ENOMEM;
        return ERR_NOMEM;
    }
    input->bytes = input->own;
    return BASE_OK;
}

void input_memory(struct pickle_input *input, const void *bytes, size_t count)
{
    *input = (struct pickle_input){.bytes = bytes, .end = count, .fd = -1};
}

void input_close(struct pickle_input *input)
{
    if (input->fd >= 0)
        close(input->fd);
    if (input->packed)
        gunzip_clear(input->packed);
    mem_free(input->packed);
    mem_free(input->own);
    *input = (struct pickle_input){.fd = -1};
}

int input_unpack(struct pickle_input *input)
{
    size_t count;
    const unsigned char *first = input_look(input, 3, &count);
    if (!gunzip_is(first, count))
        return BASE_OK;
    struct gunzip *gunzip = mem_resize(NULL, 1, sizeof *gunzip);
    unsigned char *own = mem_resize(NULL, PICKLE_INPUT_BYTES, 1);
    if (!gunzip || !own) {
        mem_free(gunzip);
        mem_free(own);
        return ERR_NOMEM;
    }
    gunzip_start(gunzip, input);
    *input = (struct pickle_input){.bytes = own, .own = own, .fd = -1, .packed = gunzip};
    return BASE_OK;
}

const char *input_trouble(const struct pickle_input *input)
{
    return input->error == EBADMSG && input->packed ? input->packed->trouble
                                                    : strerror(input->error);
}

int input_failure(const struct pickle_input *input)
{
    return input->error == EBADMSG && input->packed ? ERR_CORRUPT : ERR_IO;
}

/* 0: there are no more. */
static size_t read_more(struct pickle_input *input, unsigned char *out, size_t count)
{
    if (input->packed) {
        size_t got = gunzip_read(input->packed, out, count);
        if (input->packed->state == GUNZIP_WRONG)
            input->error = input->packed->error ? input->packed->error : EBADMSG;
        return got;
    }
    for (;;) {
        ssize_t n = read(input->fd, out, count);
        if (n >= 0)
            return (size_t)n;
        if (errno != EINTR) {
            input->error = errno;
            return 0;
        }
    }
}

/* Moves what is left to the front and fills the room behind it. */
static void refill(struct pickle_input *input)
{
    size_t left = input->end - input->at;
    if (left)
        memmove(input->own, input->own + input->at, left);
    input->base += input->at;
    input->at = 0;
    input->end = left;
    while (input->end < PICKLE_INPUT_BYTES) {
        size_t n = read_more(input, input->own + input->end, PICKLE_INPUT_BYTES - input->end);
        if (!n)
            return;
        input->end += n;
    }
}

const unsigned char *input_take_slow(struct pickle_input *input, size_t n)
{
    if (!input->own || n > PICKLE_INPUT_BYTES)
        return NULL;
    refill(input);
    return n <= input->end - input->at ? input_take(input, n) : NULL;
}

const unsigned char *input_look(struct pickle_input *input, size_t n, size_t *count)
{
    if (n > input->end - input->at && input->own)
        refill(input);
    *count = n < input->end - input->at ? n : input->end - input->at;
    return input->bytes + input->at;
}

bool input_skip(struct pickle_input *input, uint64_t n)
{
    while (n > input->end - input->at) {
        n -= input->end - input->at;
        input->at = input->end;
        if (!input->own)
            return false;
        refill(input);
        if (input->at == input->end)
            return false;
    }
    input->at += (size_t)n;
    return true;
}
