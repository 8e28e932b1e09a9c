/*
 * query.h - a question to the database: its text, what it is asked with, and where its columns go,
 * each by its name.
 *
 *     struct heap heap;
 *     struct query query = query_ask(db, "SELECT id, stream, name FROM heap WHERE process = ?1",
 *                                    Q_IN(process),
 *                                    Q_OUT(Q_INT(heap.id), Q_ANY(heap.stream), Q_TEXT(heap.name)));
 *     while (query_next(&query))
 *         query_fail(&query, take(&heap));
 *     return query_end(&query);
 *
 * A place to write to is a variable or a member: the last part of what it is called in C is what
 * the column is called in SQL. Whoever asks finds the columns by that, in any order; a place
 * without a column, or a column without a place, is ERR_INTERNAL, and so is a question with more or
 * fewer parameters than values.
 *
 * An error ends the rows, and is what query_end returns, once. Between query_ask and query_end the
 * places have to stay where they are: Q_OUT is a list of pointers, as old as the block it stands
 * in.
 */
#ifndef TIDEMARK_SCHEMA_QUERY_H
#define TIDEMARK_SCHEMA_QUERY_H

#include "db.h"

#define QUERY_NONE INT64_MIN /* a number that is NULL, where it may be */

enum query_type {
    QUERY_INT,
    QUERY_BOOL,
    QUERY_OPT,
    QUERY_ANY,
    QUERY_SIZE,
    QUERY_REAL,
    QUERY_TEXT,
    QUERY_NTEXT,
    QUERY_COPY,
    QUERY_CHARS,
    QUERY_REST, /* from here on no place */
    QUERY_END
};

struct query_place {
    const char *place; /* as it is written in C */
    enum query_type type;
    void *at;
    size_t room;
};

#define Q_TO(x, name, type) ((struct query_place){name, type, &(x), sizeof(x)})
/* Numbers, from NULL: 0. Q_OPT: QUERY_NONE. Q_ANY and Q_SIZE as db_column_any and _size. */
#define Q_INT(x)                                                                                   \
    Q_TO(x, #x, _Generic(&(x), int64_t * : QUERY_INT, uint64_t * : QUERY_INT, bool * : QUERY_BOOL))
#define Q_OPT(x) Q_TO(x, #x, _Generic(&(x), int64_t * : QUERY_OPT))
#define Q_ANY(x) Q_TO(x, #x, _Generic(&(x), int64_t * : QUERY_ANY, uint64_t * : QUERY_ANY))
#define Q_SIZE(x) Q_TO(x, #x, _Generic(&(x), int64_t * : QUERY_SIZE, uint64_t * : QUERY_SIZE))
#define Q_REAL(x) Q_TO(x, #x, _Generic(&(x), double * : QUERY_REAL))
/* A text until the next row, from NULL: "". Q_NTEXT: NULL. */
#define Q_TEXT(x) Q_TO(x, #x, _Generic(&(x), const char ** : QUERY_TEXT))
#define Q_NTEXT(x) Q_TO(x, #x, _Generic(&(x), const char ** : QUERY_NTEXT))
/* One that is the caller's to free, from NULL: NULL. What was there is not looked at; after an
 * error there is none. */
#define Q_COPY(x) Q_TO(x, #x, _Generic(&(x), char ** : QUERY_COPY))
/* As much of it as an array of char holds, from NULL: "". */
#define Q_CHARS(x) Q_TO(x, #x, _Generic(&(x), char(*)[sizeof(x)] : QUERY_CHARS))
/* At the end: there are other columns. */
#define Q_REST ((struct query_place){.type = QUERY_REST})
#define QUERY_MOST 24 /* places */
#define Q_OUT(...) ((const struct query_place[]){__VA_ARGS__, {.type = QUERY_END}})

struct query_value {
    enum query_type type; /* QUERY_INT, QUERY_TEXT, QUERY_OPT: NULL */
    int64_t number;
    const char *text;
    int bytes; /* -1: up to the NUL */
};

static inline struct query_value query_number(int64_t number)
{
    return (struct query_value){QUERY_INT, number, NULL, 0};
}

static inline struct query_value query_text(const char *text)
{
    return (struct query_value){QUERY_TEXT, 0, text, -1};
}

static inline struct query_value query_part(const char *text, size_t bytes)
{
    return (struct query_value){QUERY_TEXT, 0, text, (int)bytes};
}

static inline struct query_value query_same(struct query_value value)
{
    return value;
}

/* QUERY_NONE: NULL. */
static inline struct query_value query_opt(int64_t number)
{
    return (struct query_value){number == QUERY_NONE ? QUERY_OPT : QUERY_INT, number, NULL, 0};
}

/* NULL where it is not known. */
static inline struct query_value query_if(bool known, int64_t number)
{
    return known ? query_number(number) : query_opt(QUERY_NONE);
}

/* Up to eight values for ?1, ?2, ...: numbers, texts, and what query_opt() makes. */
#define Q_VALUE(x)                                                                                 \
    _Generic((x), char *                                                                           \
             : query_text, const char *                                                            \
             : query_text, struct query_value                                                      \
             : query_same, default                                                                 \
             : query_number)(x)
#define Q_IN1(a) Q_VALUE(a)
#define Q_IN2(a, ...) Q_VALUE(a), Q_IN1(__VA_ARGS__)
#define Q_IN3(a, ...) Q_VALUE(a), Q_IN2(__VA_ARGS__)
#define Q_IN4(a, ...) Q_VALUE(a), Q_IN3(__VA_ARGS__)
#define Q_IN5(a, ...) Q_VALUE(a), Q_IN4(__VA_ARGS__)
#define Q_IN6(a, ...) Q_VALUE(a), Q_IN5(__VA_ARGS__)
#define Q_IN7(a, ...) Q_VALUE(a), Q_IN6(__VA_ARGS__)
#define Q_IN8(a, ...) Q_VALUE(a), Q_IN7(__VA_ARGS__)
#define Q_PICK(a, b, c, d, e, f, g, h, name, ...) name
#define Q_IN(...)                                                                                  \
    ((const struct query_value[]){Q_PICK(__VA_ARGS__, Q_IN8, Q_IN7, Q_IN6, Q_IN5, Q_IN4, Q_IN3,    \
                                         Q_IN2, Q_IN1, 0)(__VA_ARGS__),                            \
                                  {.type = QUERY_END}})
#define Q_NOTHING NULL /* asked with, or taken */

struct query {
    struct db_stmt *stmt;
    bool kept; /* the statement is its owner's */
    const struct query_place *out;
    unsigned char at[QUERY_MOST]; /* columns of the places */
    int err;                      /* DB_ROW on a row, DB_DONE; the first error */
};

struct query query_ask(struct db *db, const char *sql, const struct query_value *in,
                       const struct query_place *out);
/* With a statement that its owner keeps: query_end resets it. */
struct query query_kept(struct db_stmt *stmt, const struct query_value *in,
                        const struct query_place *out);
/* The same once more, with other values. */
void query_again(struct query *query, const struct query_value *in);
bool query_next(struct query *query);
/* What came of a row, if it is an error. */
void query_fail(struct query *query, int err);
int query_end(struct query *query); /* 0, or the error */

/* The first row, if there is one: DB_ROW; DB_DONE, and the places are as they were; or an error. It
 * takes no Q_TEXT, which would be gone. */
int query_first(struct db *db, const char *sql, const struct query_value *in,
                const struct query_place *out);
/* The same for who need not know: 0 or an error. */
int query_read(struct db *db, const char *sql, const struct query_value *in,
               const struct query_place *out);
/* The same of a question without parameters that a report asks for each process: numbers of one
 * row, which a reader's transaction remembers. */
int query_once(struct db *db, const char *sql, const struct query_place *out);
/* Runs what gives no rows. */
int query_run(struct db *db, const char *sql, const struct query_value *in);

#endif
