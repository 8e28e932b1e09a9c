/*
 * emit.h - one way out for every report: a table for people, csv or json for programs.
 *
 * A report opens sections, each with its columns described once, and pushes the cells of its rows
 * in the order of the columns; the format decides what becomes of them.
 *
 * table  Numbers as people read them, columns aligned. "-" is a value that is not known, with one
 * line below that says so. On a terminal, texts go on below themselves so that lines fit; never
 * when piped. csv
 * Quoted as RFC 4180 says, lines end in LF, bytes and times are integers, an unknown value is empty
 * and an empty text is "". With more than one section each begins with "# KEY" after an empty line.
 * Warnings that change what the numbers mean come last, as "# ..." lines. A file and a pipe get the
 * bytes of a text as they are; on a terminal control characters are escaped, as in tables. json
 * {"command", "database", "tables": {KEY: [{column: value, ...}, ...]}, "notes": [...]}. An unknown
 * value is null; control characters, U+0080 to U+009F among them, are escapes; bytes that are not
 * UTF-8 become U+FFFD.
 *
 * Everything is collected in memory and leaves by emit_finish, so that no report waits for a slow
 * reader of its output with the database open; emit_stream lifts that for results of any length.
 *
 * Invariants: cells are pushed only inside a section; a row has as many cells as the section has
 * columns; in json, a section's key appears once.
 */
#ifndef TIDEMARK_VIEWER_EMIT_H
#define TIDEMARK_VIEWER_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "buf.h"

enum emit_format { EMIT_TABLE, EMIT_CSV, EMIT_JSON };

enum emit_colour {
    EMIT_COLOUR_AUTO, /* on a terminal, unless NO_COLOR or TERM=dumb says no */
    EMIT_COLOUR_NEVER,
    EMIT_COLOUR_ALWAYS
};

enum emit_kind {
    EMIT_TEXT,
    EMIT_BYTES,
    EMIT_SHORT, /* bytes; tables: 78.0M, where there are many columns of them */
    EMIT_DELTA, /* bytes, with their sign */
    EMIT_COUNT, /* people: 12,345 */
    EMIT_PLAIN, /* a number that is a name: seq, pid, step */
    EMIT_NS,    /* a duration, or a time since the run began */
    EMIT_RATIO, /* people: percent */
    EMIT_ANY    /* whatever SQL gives, as it is */
};

enum emit_column_flag {
    EMIT_PROGRAMS = 1 << 0, /* csv and json only */
    EMIT_PEOPLE = 1 << 1,   /* tables only */
    EMIT_IF_KNOWN = 1 << 2, /* tables: left out when no row knows it */
    EMIT_WRAP = 1 << 3,     /* tables: takes as many lines as it needs, others EMIT_MOST_LINES */
    EMIT_NAME = 1 << 4,    /* tables: says where: a call site "A (a.py:1) > B (b.py:2)", a module, a
                              path; wrapped at the breaks of such names */
    EMIT_NONE = 1 << 5,    /* tables: NULL says that there is none, so the cell stays empty */
    EMIT_SPARE = 1 << 6,   /* tables: left out, and that is said, before texts are stumps */
    EMIT_PAIR = 1 << 7,    /* tables: a spare column that goes when the next one goes */
    EMIT_ROOMY = 1 << 8,   /* tables: of this text more has to be on a line than of others */
    EMIT_COMMAND = 1 << 9, /* tables: of any length, so cut in its middle to one line */
    EMIT_ABOVE = 1 << 10,  /* tables: without room it stands above the next name */
    EMIT_MIDDLE = EMIT_NAME /* its name in peak_page.c */
};

enum { EMIT_MOST_LINES = 12 /* of a cell; a longer text is cut in its middle */ };

struct emit_column {
    const char *key;    /* csv and json: the column of the view; NULL with EMIT_PEOPLE */
    const char *header; /* tables; NULL = the key */
    enum emit_kind kind;
    unsigned flags;
};

enum emit_style {
    EMIT_ROWS,  /* one line for each row under a line of headers */
    EMIT_RECORD /* tables: one line for each column: header, value */
};

struct emit_cell {
    size_t text; /* offset into emit.text */
    uint32_t bytes;
    uint32_t width; /* on a screen */
    bool null;
    bool number;
};

/* A column of a table. least <= width <= whole once the widths are settled, unless the terminal is
 * too narrow for that. */
struct emit_layout {
    unsigned width;
    unsigned cells; /* of the widest cell; with the header: */
    unsigned whole;
    unsigned least; /* of the longest piece that is not broken, in cells and header */
    bool shown;
    bool known;   /* some row has a value */
    bool numbers; /* no row has a text */
    bool wraps;   /* commands that are alike when they are cut */
    bool brief;   /* bytes as "78.0M" */
    bool several; /* cells have lines, see EMIT_ABOVE */
    bool above;   /* not shown: its cells are the first lines of those of column `into` */
    size_t into;
    char header[80]; /* of several in one */
    /* While a row is written: what is left of the cell, which begins after so many lines. */
    const char *rest;
    size_t left;
    unsigned after;
};

struct emit {
    enum emit_format format;
    bool colour;
    bool safe;      /* csv: it goes to a terminal, so that texts are as safe as in tables */
    unsigned width; /* of a terminal; 0 = lines may have any length */
    FILE *stream;   /* emit_stream: where to, while rows are still coming */
    const char *command;
    const char *database;
    struct buf out;
    /* The open section. */
    const struct emit_column *columns; /* NULL = none is open */
    size_t column_count;
    enum emit_style style;
    size_t at; /* next column */
    size_t rows;
    bool fixed;                 /* tables: widths are settled, rows go out as they come */
    struct emit_layout *layout; /* tables: one for each column */
    size_t layout_cap;
    struct emit_cell *cells;
    size_t cell_count, cell_cap;
    struct buf text;
    struct buf keys; /* of sections so far, each with a line feed around it */
    size_t sections;
    struct buf spared; /* headers of columns that were left out, each with a line feed around it */
    bool unknown;      /* a "-" was printed for NULL */
    bool more;         /* tables: something stands above, so an empty line comes first */
    bool headed;       /* tables: what stands above belongs to what comes */
    struct buf notes;  /* one a line, led by 'w' (warning) or 'n' */
    unsigned most_lines; /* tables: the notes are kept, and of what stands above so much; 0 = all */
};

/* A place in a report, to which it can be taken back. */
struct emit_mark {
    size_t bytes, keys, spared, sections;
    bool unknown, more, headed;
};

/* `database` may be NULL; both texts outlive the emitter. Finds out about the terminal itself. */
void emit_begin(struct emit *emit, enum emit_format format, enum emit_colour colour,
                const char *command, const char *database);
void emit_stream(struct emit *emit, FILE *stream);
/* What is there so far goes out; rows that come later have the columns as they are now. */
void emit_flush(struct emit *emit, FILE *file);
bool emit_is_valid(const struct emit *emit);

/* The columns must stay until the next section. Going on with the key of the section that is open
 * continues it in csv and json. `title` is for people and may be NULL. */
void emit_section(struct emit *emit, const char *key, const char *title, enum emit_style style,
                  const struct emit_column *columns, size_t count);
void emit_close(struct emit *emit); /* the open section, so that its columns may go */
/* Tables: where the report is, with no section open; how many lines that are; and back to it. */
struct emit_mark emit_here(struct emit *emit);
unsigned emit_lines(struct emit *emit);
void emit_back(struct emit *emit, const struct emit_mark *mark);
#define EMIT_SECTION(emit, key, title, style, columns)                                             \
    emit_section((emit), (key), (title), (style), (columns), sizeof(columns) / sizeof *(columns))

void emit_text(struct emit *emit, const char *text); /* NULL = not known */
void emit_text_n(struct emit *emit, const char *text, size_t bytes);
void emit_int(struct emit *emit, int64_t value);
void emit_real(struct emit *emit, double value);
void emit_blob(struct emit *emit, const void *bytes, size_t count); /* x'00ff' */
void emit_null(struct emit *emit);
/* Null if it is INT64_MIN, which is what analysis has for "not known" and "none". */
void emit_known(struct emit *emit, int64_t value);

/* Tables only: a line on its own, wrapped on a terminal. A heading stands out and has an empty line
 * above it. */
void emit_heading(struct emit *emit, const char *format, ...) __attribute__((format(printf, 2, 3)));
void emit_line(struct emit *emit, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Tables only: lines that are made already, with their line feeds. */
void emit_picture(struct emit *emit, const struct buf *lines);

/* Text for one line of at most `width` columns, cut in its middle; 0 = any width. */
void emit_put_cut(struct buf *out, const char *text, unsigned width);
/* Text that takes at most so many lines when it is wrapped, cut at its end; 0 = any width. */
void emit_put_cut_lines(struct buf *out, const char *text, unsigned width, unsigned lines);

/* Notes come last: in tables as lines, in json in "notes". A warning, which says that the numbers
 * are not the whole truth, also comes last in csv. */
void emit_note(struct emit *emit, const char *format, ...) __attribute__((format(printf, 2, 3)));
void emit_warning(struct emit *emit, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends the report and writes it. 0, or ERR_NOMEM if it could not be made; what went wrong with the
 * file itself, the file says. Frees everything. */
int emit_finish(struct emit *emit, FILE *file);
void emit_drop(struct emit *emit); /* instead: nothing is written */

#endif
