/*
 * import.h - what another tool recorded becomes a recording.
 *
 * The formats are those of formats.def (format.h). Of a snapshot of PyTorch's, the pickle is
 * read into compact records (pickle.h, snapshot.h), the heap before its trace is rebuilt and every
 * block gets its size (rebuild.h), and all of it goes through the heap state into a new database,
 * as if it had been recorded (feed.h).
 *
 * Memory: what the records take is bounded by IMPORT_BUDGET_FACTOR times the file (snapshot.h);
 * what follows works device by device and adds to each event no more than its record has.
 */
#ifndef TIDEMARK_IMPORT_H
#define TIDEMARK_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMPORT_MESSAGE_BYTES 512

/* What a file has in place of blocks, as its format says it; count 0: it has blocks, or nothing. */
struct import_instead {
    uint64_t count;
    const char *one, *many; /* "allocation by CUDA's driver", of one of them and of several */
    uint64_t peak;          /* bytes, the most on one device */
    const char *peak_of;    /* "driver memory" */
};

/* What a format cannot take, in its own words. */
struct import_left_out {
    uint64_t count;
    const char *one, *many; /* "executable was", "executables were" */
    const char *why;        /* "left out: the profile does not know how large" */
};

struct import_result {
    char message[IMPORT_MESSAGE_BYTES]; /* what went wrong; "" if nothing did */
    bool wrote;                         /* and it was the writing */
    const char *format;                 /* what the file is, in words */
    const char *lacks;                  /* what files of this format do not tell, or NULL */
    bool is_snapshot;                   /* with segments, and a history only if it was on */
    uint64_t bytes_read;
    uint64_t devices;                          /* with segments or events */
    uint64_t events, blocks, segments;         /* of the traces */
    uint64_t blocks_before, segments_before;   /* what was there when they began */
    uint64_t annotations, annotations_skipped; /* halves; those without the other one */
    uint64_t ooms;
    uint64_t peak_allocated;
    struct import_instead instead;
    struct import_left_out left_out;
    uint64_t throughout; /* bytes that were live all through, of which only the sum is known */
    uint64_t groups;     /* blocks that stand for several: their own sizes are not known */
    /* What does not fit together. */
    uint64_t sizes_checked, sizes_differ, misplaced;
    uint64_t frees_lost, frees_unmatched, segments_unmatched;
    uint64_t misfits; /* facts that the recorder stored of events that do not fit to others */
    uint64_t unknown_actions, odd_blocks, odd_values, unknown_keys, cut_strings;
    bool overflowed;        /* the history was full: older events are not in it */
    uint64_t max_entries;   /* of that history, 0 = not known */
    bool left_host;         /* some pinned memory of the host was left out */
    bool is_xpu;            /* a snapshot of an XPU's allocator */
    uint64_t cut_lines;     /* at the end: the writer was stopped */
    uint64_t records_bytes; /* the most memory that records took at once */
};

struct import_options {
    const char *output; /* the database to make, which must not exist */
    const char *source; /* the name that is stored */
    bool all_frames;    /* keep the C++ frames of stacks that have Python's, too */
};

/* Reads the file and makes the database. A base_err: of the input ERR_CORRUPT, ERR_NOTOURS,
 * ERR_NEWER, ERR_LIMIT, ERR_IO and so on; with result->wrote, of the database. After an error what
 * there is of the output is to be removed. */
int import_file(const char *path, const struct import_options *options,
                struct import_result *result);
/* The same from memory. */
int import_bytes(const void *bytes, size_t count, const struct import_options *options,
                 struct import_result *result);

#endif
