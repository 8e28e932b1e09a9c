/*
 * pages.h - the pages of a database file, read without SQLite: as they are in the file, or as the
 * last whole transaction in its log left them. For files that SQLite refuses.
 *
 * Both formats are public (sqlite.org/fileformat2.html). Nothing is believed: a page that is not
 * there in full cannot be read; a log counts up to the last commit before the first frame whose
 * checksum, salt or place is wrong, which is what SQLite would take of it; without a header that
 * makes sense, pages have 4,096 bytes, as db_create makes them.
 *
 * Invariants (pages_is_valid): page_bytes is a power of two, 512 to 65,536; usable <= page_bytes,
 * >= 480; each page in `log` is numbered 1 to count.
 */
#ifndef TIDEMARK_SCHEMA_PAGES_H
#define TIDEMARK_SCHEMA_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "map.h"

struct pages {
    int file, log_file; /* -1 = no log */
    uint32_t page_bytes;
    uint32_t usable;  /* of a page */
    uint32_t count;   /* pages that can be there, by the length of file and log; 1 = the first */
    uint32_t present; /* of them, in the file in full or in the log */
    uint32_t told;    /* pages that should be there, by the header or the log */
    uint32_t whole;   /* in the file alone, the last one perhaps cut */
    bool header;      /* the first page begins as a database */
    bool logged;      /* and says that what was written last is in a log */
    int64_t file_bytes, log_bytes;
    uint32_t log_frames; /* in the whole transactions of the log */
    bool log_cut;        /* the log is damaged: transactions in it are lost */
    struct map log;      /* page -> offset of its last version in the log */
};

/* ERR_NOTFOUND, ERR_DENIED, ERR_IO, ERR_NOMEM, or ERR_CORRUPT for a file without a whole page. The
 * file and its log are opened for reading only. */
int pages_open(struct pages *pages, const char *path);
/* Where SQLite looks for the file's log: beside the file itself, if `path` is a link. out->broken
 * without memory. */
void pages_log_name(const char *path, struct buf *out);
void pages_close(struct pages *pages);
bool pages_is_valid(const struct pages *pages);
/* page_bytes bytes; ERR_CORRUPT if it is not there in full, ERR_IO. */
int pages_read(const struct pages *pages, uint32_t number, unsigned char *page);

static inline uint32_t pages_two(const unsigned char *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static inline uint32_t pages_four(const unsigned char *at)
{
    return pages_two(at) << 16 | pages_two(at + 2);
}

#endif
