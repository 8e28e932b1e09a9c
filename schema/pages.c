#include "pages.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "mem.h"

enum {
    OUR_PAGE_BYTES = 4096,
    HEADER_BYTES = 100,
    AT_PAGE_BYTES = 16, /* two bytes; 1 means 65536 */
    AT_VERSION = 18,    /* 2: it has a log */
    AT_RESERVED = 20,   /* bytes at the end of each page that are not used */
    AT_PAGE_COUNT = 28,
    LEAST_USABLE = 480,

    LOG_HEADER_BYTES = 32,
    LOG_FRAME_BYTES = 24,
    LOG_FORMAT = 3007000
};
#define LOG_MAGIC 0x377f0682u /* its last bit: checksums are of big-endian words */

/* All of it, or ERR_CORRUPT where the file ends before. */
static int read_at(int file, int64_t offset, unsigned char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t n = pread(file, bytes, count, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? ERR_IO : ERR_CORRUPT;
        bytes += n;
        offset += n;
        count -= (size_t)n;
    }
    return 0;
}

static uint32_t page_bytes_of(uint32_t told)
{
    uint32_t bytes = told == 1 ? 65536 : told;
    return bytes >= 512 && bytes <= 65536 && !(bytes & (bytes - 1)) ? bytes : 0;
}

/* ---- the log ---- */

struct log_sum {
    uint32_t one, two;
};

static struct log_sum add_words(struct log_sum sum, const unsigned char *bytes, size_t count,
                                bool big)
{
    for (size_t i = 0; i + 8 <= count; i += 8) {
        uint32_t a = pages_four(bytes + i), b = pages_four(bytes + i + 4);
        sum.one += (big ? a : __builtin_bswap32(a)) + sum.two;
        sum.two += (big ? b : __builtin_bswap32(b)) + sum.one;
    }
    return sum;
}

static bool sum_is(struct log_sum sum, const unsigned char *at)
{
    return sum.one == pages_four(at) && sum.two == pages_four(at + 4);
}

struct log_frame { /* of the transaction that is being read */
    uint32_t page;
    int64_t offset;
};

struct log_reading {
    struct log_frame *frames;
    size_t count, cap;
    unsigned char head[LOG_HEADER_BYTES];
    struct log_sum sum;
    bool big;
};

static bool commit_frames(struct pages *pages, struct log_reading *log, uint32_t count)
{
    for (size_t i = 0; i < log->count; i++)
        if (!map_put(&pages->log, log->frames[i].page, (uint64_t)log->frames[i].offset, NULL))
            return false;
    pages->log_frames += (uint32_t)log->count;
    /* A log can make the file longer, but not by more than it has. */
    uint32_t most = pages->whole + pages->log_frames;
    pages->told = count;
    pages->count = count < most ? count : most;
    log->count = 0;
    return true;
}

/* One frame. ERR_CORRUPT: the log is over. */
static int read_frame(struct pages *pages, struct log_reading *log, int64_t offset,
                      unsigned char *bytes)
{
    int err = read_at(pages->log_file, offset, bytes, LOG_FRAME_BYTES + pages->page_bytes);
    if (err < 0)
        return err;
    uint32_t page = pages_four(bytes), commit = pages_four(bytes + 4);
    struct log_sum sum = add_words(log->sum, bytes, 8, log->big);
    sum = add_words(sum, bytes + LOG_FRAME_BYTES, pages->page_bytes, log->big);
    if (page == 0 || memcmp(bytes + 8, log->head + 16, 8) != 0 || !sum_is(sum, bytes + 16))
        return ERR_CORRUPT;
    log->sum = sum;
    if (!MEM_GROW(log->frames, log->cap, log->count + 1))
        return ERR_NOMEM;
    log->frames[log->count++] = (struct log_frame){page, offset + LOG_FRAME_BYTES};
    return commit && !commit_frames(pages, log, commit) ? ERR_NOMEM : 0;
}

/* Frames of this round of the log that end a transaction, from here on: they cannot be used, since
 * something before them is damaged. */
static bool more_commits(struct pages *pages, const struct log_reading *log, int64_t at)
{
    unsigned char head[LOG_FRAME_BYTES];
    int64_t step = LOG_FRAME_BYTES + (int64_t)pages->page_bytes;
    for (; at + step <= pages->log_bytes; at += step) {
        if (read_at(pages->log_file, at, head, sizeof head) < 0)
            return true;
        if (memcmp(head + 8, log->head + 16, 8) == 0 && pages_four(head) && pages_four(head + 4))
            return true;
    }
    return false;
}

static int read_frames(struct pages *pages, struct log_reading *log)
{
    unsigned char *bytes = mem_alloc(1, LOG_FRAME_BYTES + pages->page_bytes);
    int64_t at = LOG_HEADER_BYTES, step = LOG_FRAME_BYTES + (int64_t)pages->page_bytes;
    int err = bytes ? 0 : ERR_NOMEM;
    while (err == 0 && at < pages->log_bytes) {
        err = read_frame(pages, log, at, bytes);
        at += err == 0 ? step : 0;
    }
    mem_free(bytes);
    if (err == ERR_CORRUPT) {
        pages->log_cut = more_commits(pages, log, at);
        err = 0;
    }
    return err;
}

static int read_log(struct pages *pages)
{
    struct log_reading log = {0};
    struct stat info;
    if (fstat(pages->log_file, &info) < 0)
        return ERR_IO;
    pages->log_bytes = info.st_size;
    if (info.st_size == 0)
        return 0;
    int err = read_at(pages->log_file, 0, log.head, LOG_HEADER_BYTES);
    uint32_t magic = pages_four(log.head), told = pages_four(log.head + 8);
    log.big = magic & 1;
    log.sum = add_words(log.sum, log.head, 24, log.big);
    if (err == ERR_CORRUPT ||
        (err == 0 && ((magic & ~1u) != LOG_MAGIC || pages_four(log.head + 4) != LOG_FORMAT ||
                      told != pages->page_bytes || !sum_is(log.sum, log.head + 24)))) {
        pages->log_cut = true; /* as if there were none */
        return 0;
    }
    if (err == 0)
        err = read_frames(pages, &log);
    mem_free(log.frames);
    return err;
}

/* ---- the file ---- */

static void read_header(struct pages *pages, const unsigned char *head)
{
    uint32_t bytes = page_bytes_of(pages_two(head + AT_PAGE_BYTES));
    pages->header = memcmp(head, "SQLite format 3", 16) == 0 && bytes &&
                    bytes - head[AT_RESERVED] >= LEAST_USABLE;
    pages->page_bytes = pages->header ? bytes : OUR_PAGE_BYTES;
    pages->usable = pages->page_bytes - (pages->header ? head[AT_RESERVED] : 0);
    int64_t whole = (pages->file_bytes + pages->page_bytes - 1) / pages->page_bytes;
    pages->count = whole > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)whole;
    pages->whole = pages->count;
    pages->told = pages->header ? pages_four(head + AT_PAGE_COUNT) : pages->count;
}

static void count_present(struct pages *pages)
{
    const struct map_entry *entry;
    size_t at = 0;
    int64_t whole = pages->file_bytes / pages->page_bytes;
    pages->present = whole > pages->count ? pages->count : (uint32_t)whole;
    while ((entry = map_next(&pages->log, &at)))
        pages->present += entry->key > (uint64_t)whole && entry->key <= pages->count;
}

static int open_file(const char *path, int *file)
{
    *file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait for its writer */
    return *file < 0 ? base_err_from_errno(errno) : 0;
}

void pages_log_name(const char *path, struct buf *out)
{
    char real[PATH_MAX];
    struct stat info;
    bool link = lstat(path, &info) == 0 && S_ISLNK(info.st_mode) && realpath(path, real);
    buf_print(out, "%s-wal", link ? real : path);
}

/* A log that is not there, or not ours to read, is none. */
static int open_log(struct pages *pages, const char *path)
{
    struct buf name = {0};
    pages_log_name(path, &name);
    int err = name.broken ? ERR_NOMEM : open_file(buf_string(&name), &pages->log_file);
    buf_clear(&name);
    if (err == ERR_NOTFOUND)
        return 0;
    return err < 0 ? err : read_log(pages);
}

int pages_open(struct pages *pages, const char *path)
{
    unsigned char head[HEADER_BYTES] = {0};
    struct stat info;
    *pages = (struct pages){.file = -1, .log_file = -1};
    int err = open_file(path, &pages->file);
    if (err == 0 && fstat(pages->file, &info) < 0)
        err = ERR_IO;
    if (err == 0 && !S_ISREG(info.st_mode))
        err = ERR_ARG;
    if (err == 0) {
        pages->file_bytes = info.st_size;
        err = read_at(pages->file, 0, head, sizeof head);
    }
    if (err == 0) {
        read_header(pages, head);
        /* Where the header says that there is no log, one that lies there is not of this file. */
        pages->logged = pages->header && head[AT_VERSION] == 2;
        if (!pages->header || pages->logged)
            err = open_log(pages, path);
    }
    if (err == 0)
        count_present(pages);
    if (err < 0)
        pages_close(pages);
    return err;
}

void pages_close(struct pages *pages)
{
    if (pages->file >= 0)
        close(pages->file);
    if (pages->log_file >= 0)
        close(pages->log_file);
    map_clear(&pages->log);
    pages->file = pages->log_file = -1;
}

int pages_read(const struct pages *pages, uint32_t number, unsigned char *page)
{
    if (number == 0 || number > pages->count)
        return ERR_CORRUPT;
    uint64_t in_log = pages->log.count ? map_get(&pages->log, number) : MAP_NONE;
    if (in_log != MAP_NONE)
        return read_at(pages->log_file, (int64_t)in_log, page, pages->page_bytes);
    return read_at(pages->file, (int64_t)(number - 1) * pages->page_bytes, page, pages->page_bytes);
}

bool pages_is_valid(const struct pages *pages)
{
    const struct map_entry *entry;
    size_t at = 0;
    while ((entry = map_next(&pages->log, &at)))
        if (entry->key == 0 || entry->value + pages->page_bytes > (uint64_t)pages->log_bytes)
            return false;
    return page_bytes_of(pages->page_bytes) == pages->page_bytes &&
           pages->usable <= pages->page_bytes && pages->usable >= LEAST_USABLE &&
           pages->present <= pages->count && map_is_valid(&pages->log);
}
