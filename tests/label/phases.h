/*
 * phases.h - marks fed into a state as events, and the phases of its rows as text: the letters of
 * marks.h, U for the program's own; what is inside a phase follows it in parentheses; '!' left by
 * an exception, '*' not ended. "N:" and "-:" as there, of the outermost ones.
 */
#ifndef TIDEMARK_TESTS_PHASES_H
#define TIDEMARK_TESTS_PHASES_H

#include "feed.h"
#include "marks.h"

struct phases_feed {
    struct feed feed;
    struct rows rows;
    struct marks_sink sink;
    uint32_t heap, name;
    uint64_t address; /* of the last block */
    int64_t bytes;    /* a block of that many after each mark; 0 = none */
    bool flushes;     /* a commit after each mark */
};

void phases_begin(struct phases_feed *feed);
void phases_marks(struct phases_feed *feed, const char *text);
/* Ends the process; then its phases. */
void phases_end(struct phases_feed *feed);
void phases_clear(struct phases_feed *feed);
/* Valid until the next call. */
const char *phases_text(const struct rows *rows, int64_t process);
/* Only those of scope 'thread' of one thread, or (0) those of scope 'process'. What is apart and in
 * a phase of the process is found by phases_inside. */
const char *phases_of_thread(const struct rows *rows, int64_t process, int64_t thread);
const char *phases_inside(const struct rows *rows, int64_t thread, int64_t parent);

#endif
