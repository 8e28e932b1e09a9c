/*
 * retention_types.h - the insides of retention, shared by the files that make it up.
 */
#ifndef TIDEMARK_RECORDER_RETENTION_TYPES_H
#define TIDEMARK_RECORDER_RETENTION_TYPES_H

#include "map.h"
#include "query.h"
#include "retention.h"

#define RETENTION_NONE INT64_MIN

struct retention_unit {              /* ends where the next one begins */
    int64_t step;                    /* RETENTION_NONE: a stretch of events */
    int64_t begin;                   /* seq */
    int64_t first_phase, last_phase; /* phase.id, RETENTION_NONE: none */
};

struct retention_kept { /* a unit that stays, [begin, end) */
    int64_t begin, end, first_phase, last_phase;
    bool for_good; /* not only because of a peak that may be outdone */
};

struct retention_peak { /* a new highest of a device, and where it was reached */
    int64_t device, seq;
};

/* A block that outlived the unit of its birth. */
struct retention_block {
    int64_t free_seq, seq;
};

struct retention_blocks {
    struct retention_block *at;
    size_t count, cap;
};

struct retention_left { /* a unit that went, but for blocks born in it */
    int64_t begin, end, first_phase, last_phase;
    int64_t blocks; /* > 0 */
};

enum retention_what { RETENTION_ROWS, RETENTION_PHASES, RETENTION_WHATS };

struct retention_thin { /* the row of `thinned` that grows */
    int64_t rowid;      /* 0: none */
    int64_t first, last, count;
    bool changed;
};

struct retention_process {
    int64_t id;
    bool ended;    /* no event of it is to come: it is forgotten once what is due is decided */
    bool again;    /* read again: see retention_ended.c */
    int64_t spare; /* then: so many units at its end stay */
    bool has_steps;
    bool marked;                  /* the unit decided last has a peak or ran out of memory */
    struct retention_unit *units; /* from `head` on: not decided yet */
    size_t head, count, cap;
    int64_t decided; /* all before this seq is; RETENTION_NONE: nothing */
    int firsts;      /* of RETENTION_FIRST, so far */
    struct retention_kept *kept;
    size_t kept_count, kept_cap;
    struct retention_peak *peaks; /* oldest first; with a limit, the newest of each device */
    size_t peak_count, peak_cap;
    int64_t *ooms; /* seq */
    size_t oom_count, oom_cap;
    struct retention_blocks late;   /* a binary heap by free_seq, the lowest first */
    struct retention_blocks spared; /* stay because they meet a unit that is kept */
    struct retention_left *left;    /* in order of begin; kept with a limit only */
    size_t left_count, left_cap;
    int64_t *over; /* phase.id: began in a unit that went, and ended behind it */
    size_t over_count, over_cap;
    struct retention_thin thin[RETENTION_WHATS];
    int64_t *heaps; /* heap.id */
    size_t heap_count, heap_cap;
};

struct retention_sum { /* of blocks of a heap and a site that went */
    int64_t heap, site, blocks, bytes, largest, first_seq, last_seq;
};

#define RETENTION_ENDED_READ 64  /* at once */
#define RETENTION_ENDED_ROWS 500 /* of work: what it costs to read one again */
#define RETENTION_ENDED_WAIT 64  /* processes that ended, of which all is still remembered */

struct retention_ended { /* a process that ended, as its row says */
    int64_t id, end_ns, first_seq, last_seq;
};

/* Processes that ended have two turns when room gets short, in the order of their ends. */
enum retention_turn {
    RETENTION_SHORTEN, /* all but the first units, the last ones and those with a peak goes */
    RETENTION_GIVE_UP, /* the first and the last ones, too */
    RETENTION_TURNS
};

struct retention_queue {
    struct retention_ended list[RETENTION_ENDED_READ]; /* from `at` on: their turn comes */
    size_t at, count;
    int64_t end_ns, id; /* the last one that had its turn; -1: none */
};

enum retention_statement {
    RETENTION_PAGES,
    RETENTION_FREE_PAGES,
    RETENTION_ROW,
    RETENTION_ROWS_OF,
    RETENTION_DROP_ROWS,
    RETENTION_DROP_IDLE,
    RETENTION_DROP_THEIR_PHASE,
    RETENTION_DROP_FRAMES,
    RETENTION_DROP_MARKS,
    RETENTION_DROP_ACTIVITIES,
    RETENTION_DROP_DRIVER,
    RETENTION_DROP_SAMPLES,
    RETENTION_SUM_SITE,
    RETENTION_STRETCHES,
    RETENTION_OWN_PHASES,
    RETENTION_HAS_BIRTH,
    RETENTION_PHASES_OF,
    RETENTION_SUM_PHASE,
    RETENTION_DROP_PARTS,
    RETENTION_DROP_PHASE,
    RETENTION_DROP_STRETCHES,
    RETENTION_NEW_THIN,
    RETENTION_LAST_ROW,
    RETENTION_GROW_THIN,
    RETENTION_ENDED_PROCESSES,
    RETENTION_HEAPS_OF,
    RETENTION_PHASE_SPAN,
    RETENTION_STEPS_OF,
    RETENTION_PEAKS_OF,
    RETENTION_PROCESS_OF_PHASE,
    RETENTION_OOMS_OF,
    RETENTION_DROP_CURVE,
    RETENTION_STATEMENTS
};

struct retention {
    struct db *db;
    struct retention_options options;
    int64_t window; /* units at the end that stay */
    bool blind;     /* memory ran out: what has to stay is not known any more, so nothing goes */
    int64_t page_bytes;
    int64_t used;        /* bytes of pages with something in them, as of the last look */
    int64_t file_bytes;  /* and of all pages and the log */
    int64_t most_bytes;  /* the most that this ever was */
    struct queue *queue; /* to tick; may be NULL */
    struct retention_process *processes;
    size_t process_count, process_cap;
    struct map places;          /* process.id to its place in `processes` */
    struct map heaps;           /* heap.id to process.id */
    int64_t phase, of_process;  /* the last phase that was seen, and its process.id */
    struct retention_sum *sums; /* of this round */
    size_t sum_count, sum_cap;
    struct map sum_of;    /* heap << 32 | site + 1 to its place */
    bool pressed;         /* room was getting short when it was last looked at */
    size_t ended_waiting; /* of `processes`: they have ended, and not all is decided */
    int64_t forgotten_ns; /* the last end of one that was forgotten before; -1: none was */
    struct retention_queue turns[RETENTION_TURNS];
    struct db_stmt *statements[RETENTION_STATEMENTS];
};

static inline bool retention_has_limit(const struct retention *retention)
{
    return retention->options.max_bytes > 0;
}

/* retention_statements.c */
/* Questions of query.h, with statements that are made once. */
struct query retention_query(struct retention *retention, enum retention_statement which,
                             const struct query_value *in, const struct query_place *out);
/* As query_first, query_run. */
int retention_first(struct retention *retention, enum retention_statement which,
                    const struct query_value *in, const struct query_place *out);
int retention_run(struct retention *retention, enum retention_statement which,
                  const struct query_value *in);

/* retention_decide.c */
/* How many units of the process can be decided now; not above 0: none. */
int64_t retention_units_due(const struct retention *retention,
                            const struct retention_process *process);
/* What is due, as long as *rows lasts. A process that has ended is forgotten with its last unit. */
int retention_decide_all(struct retention *retention, int64_t *rows);
/* Does one of a whole life, first <= last, meet a unit that is kept? */
bool retention_meets(const struct retention_process *process, int64_t first, int64_t last);

/* retention_units.c */
/* The one of this id, made if it is not there; NULL without memory. */
struct retention_process *retention_process_of(struct retention *retention, int64_t id);
/* NULL if it is not there: it has ended, or nothing was seen of it. */
struct retention_process *retention_process_find(const struct retention *retention, int64_t id);
/* Frees all that is held of the process in this place; the last one moves there. */
void retention_process_forget(struct retention *retention, size_t place);
bool retention_late_push(struct retention_process *process, int64_t seq, int64_t free_seq);
/* The one that died first, if that was before `end`. */
bool retention_late_pop(struct retention_process *process, int64_t end,
                        struct retention_block *out);

/* False without memory. */
bool retention_add_heap(struct retention *retention, struct retention_process *process,
                        int64_t heap);
bool retention_add_unit(struct retention_process *process, int64_t step, int64_t begin);

/* retention_ended.c: the process that ended first, of those that had no turn of this kind yet, is
 * read and is to be decided. *any: there was one. */
int retention_ended_next(struct retention *retention, enum retention_turn turn, int64_t *rows,
                         bool *any);

/* retention_drop.c: 0 or an error; *rows is what may still be looked at in this round. */
int retention_drop(struct retention *retention, struct retention_process *process,
                   const struct retention_kept *stretch, int64_t *rows);
/* The stretch is kept: its blocks that outlived it will say in which phase they died. */
int retention_spare(struct retention *retention, struct retention_process *process,
                    const struct retention_kept *stretch, int64_t *rows);
/* After a stretch is not kept any more. */
int retention_drop_spared(struct retention *retention, struct retention_process *process,
                          int64_t *rows);
int retention_put_sums(struct retention *retention);
void retention_drop_sums(struct retention *retention);
void retention_count(struct retention_process *process, enum retention_what what, int64_t first,
                     int64_t last, int64_t count);

/* retention_phases.c */
/* All phases of the stretch but those in which a block was born (`births`) or died that stays. */
int retention_drop_phases(struct retention *retention, struct retention_process *process,
                          const struct retention_kept *stretch,
                          const struct retention_blocks *births,
                          const struct retention_blocks *deaths);
/* A block has gone that was born in a unit that had gone before it: with the last one go the phases
 * that were left for their sake. */
int retention_drop_phases_left(struct retention *retention, struct retention_process *process,
                               int64_t seq);

#endif
