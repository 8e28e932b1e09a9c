/*
 * merge_types.h - what the files behind merge.h share.
 */
#ifndef TIDEMARK_MERGE_TYPES_H
#define TIDEMARK_MERGE_TYPES_H

#include "buf.h"
#include "clock.h"
#include "db.h"
#include "map.h"
#include "merge.h"
#include "names.h"
#include "turns.h"
#include "spool.h"
#include "tables.h"

/* Ids of an input that are larger are none that a recorder gave. */
#define MERGE_MOST_ID ((int64_t)1 << 40)

enum merge_type { MERGE_NULL, MERGE_NUMBER, MERGE_TEXT };

struct merge_cell {
    enum merge_type type;
    int64_t number;
    const char *text; /* `number` bytes */
};

/* Rows of one table of one input, ids already numbered anew, times and seqs still its own. A row is
 * a type of two bits for each column, then numbers as differences to the row before, and texts. */
struct merge_rows {
    struct spool_stream stream;
    uint64_t count;
    int64_t before[MERGE_COLUMNS]; /* numbers of the row that was written last */
};

struct merge_rows_reader {
    struct spool_reader reader;
    int64_t before[MERGE_COLUMNS];
    struct merge_cell cells[MERGE_COLUMNS]; /* texts are in `texts` */
    char *texts;
    size_t text_cap;
};

struct merge_names { /* of all inputs, each once, by what the database has of it */
    struct intern strings, frames, sites, tags, modules;
};

struct merge_input {
    const char *path;
    /* What it says of itself, to be held against the others. */
    char *host, *argv; /* NULL: not known; argv is of the lowest rank, else of the first process */
    char *inode;       /* and its device */
    int64_t recorder_pid, world_size; /* 0: not known */
    int64_t *ranks;                   /* of processes with events, by number */
    size_t rank_count, rank_cap;
    bool finished, damaged, is_merged;
    int64_t version;
    /* Ids: what is added to one, and the largest. */
    int64_t base[MERGE_KINDS], most[MERGE_KINDS];
    int64_t loose;                 /* phases whose id is beyond DB_LOOSE_PHASE */
    struct map names[MERGE_KINDS]; /* of the kinds that have names, while it is read */
    int64_t last_seq, last_ns, boot_ns;
    struct merge_rows rows[MERGE_TABLES];
    struct spool_stream events;
    int64_t event_seq, event_ns; /* the last one that was written */
    struct clock_side side;
    struct turns_map order;
};

struct merge_fact {   /* a row of table meta */
    char *key, *text; /* text NULL: the number */
    int64_t number;
    size_t inputs; /* that have it with this value; 0: they do not agree */
};

struct merge {
    const struct merge_options *options;
    struct merge_result *result;
    struct spool spool;
    struct db *out;
    unsigned rows; /* written since the last commit */
    struct merge_names names;
    struct merge_input *inputs; /* options->count */
    struct merge_fact *facts;
    size_t fact_count, fact_cap;
    int64_t next[MERGE_KINDS]; /* what the next input's ids begin behind */
};

/* Sets the message, and returns err. */
int merge_say(struct merge *merge, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int merge_input_failed(struct merge *merge, const struct merge_input *input, struct db *db,
                       int err);
int merge_out_failed(struct merge *merge, int err);
int merge_damaged(struct merge *merge, const struct merge_input *input, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* merge_rows.c */
int merge_rows_put(struct merge *merge, struct merge_rows *rows, const struct merge_cell *cells,
                   size_t count);
void merge_rows_read(struct merge_rows_reader *reader, const struct spool *spool,
                     const struct merge_rows *rows);
/* 1, 0 behind the last one, or an error. */
int merge_rows_next(struct merge_rows_reader *reader, size_t count);
void merge_rows_clear(struct merge_rows_reader *reader);

/* merge_out.c: rows of the output, in transactions of many. */
int merge_out_begin(struct merge *merge);
int merge_out_prepare(struct merge *merge, const struct merge_table *table, struct db_stmt **out);
int merge_out_row(struct merge *merge, struct db_stmt *stmt, const struct merge_cell *cells,
                  size_t count);
int merge_out_end(struct merge *merge);

/* merge_names.c: writes what is new, and fills input->names. */
int merge_read_names(struct merge *merge, struct merge_input *input, struct db *db);

/* merge_facts.c: what the input is: clock, host, ranks, ids. */
int merge_read_facts(struct merge *merge, struct merge_input *input, struct db *db);
int merge_write_facts(struct merge *merge);
void merge_clear_facts(struct merge *merge);

/* merge_read.c */
int merge_read(struct merge *merge, struct merge_input *input);
/* merge_events.c: table allocation, and a line for each event. */
int merge_read_events(struct merge *merge, struct merge_input *input, struct db *db);
/* One row of a query over a table's columns, into cells: ids are new then. */
int merge_take_row(struct merge *merge, struct merge_input *input, const struct merge_table *table,
                   struct db_stmt *stmt, struct merge_cell *cells);

/* merge_meet.c */
int merge_read_meetings(struct merge *merge, struct merge_input *input, struct db *db);

/* merge_same.c: do they belong together? */
int merge_check(struct merge *merge);
/* Gives each input the number of its job (clock.h), if they are of several. */
int merge_find_jobs(struct merge *merge);
/* merge_words.c: the first words, quoted, by which two commands are not of one job; empty: none. */
int merge_other_word(const struct merge_input *a, const struct merge_input *b, struct buf *a_word,
                     struct buf *b_word);

/* merge_write.c */
int merge_write(struct merge *merge);

#endif
