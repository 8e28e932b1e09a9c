/*
 * marks.h - a small notation for what a framework does, and for what it was found to be.
 *
 * Marks: a letter, modifiers, '(' ... ')', exit modifiers. Spaces mean nothing.
 *   F forward  B backward  Z zero_grad  O optimizer  S scaler  U a phase of the program's own
 *   0..9 the identity (of F and O: 1 unless it is given), then for F
 *   e evaluation mode  n no gradients  l of a loss class  p without parameters
 *   after ')': 1 returned one element  ! left by an exception
 *   z f l b o: short for Z() F() Fl() B() O()
 *   N{ ... }: what is inside, N times (not nested)
 *
 * Labels: z f c l b o e n r a, '.' other; one letter for what is the same without a gap. "N:"
 * begins what belongs to step N, "-:" what belongs to none; '!' follows what an exception ended.
 * Unless the dots are asked for they are left out.
 */
#ifndef TIDEMARK_TESTS_MARKS_H
#define TIDEMARK_TESTS_MARKS_H

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"
#include "label.h"

struct marks_sink { /* who gets the marks; `text` is for them to remember where they are */
    void *context;
    void (*enter)(void *context, char letter, const struct label_mark *mark);
    void (*leave)(void *context, char letter, const struct label_mark *mark);
    void (*between)(void *context); /* after each */
    char open[256];
    struct label_mark open_marks[256];
    size_t open_count;
};

/* Reads the notation; marks that the text leaves open stay open in the sink. */
void marks_read(struct marks_sink *sink, const char *text);

struct marks_at { /* where a run of labels is */
    struct labels *labels;
    struct buf *out; /* gets what is settled, if it is not NULL */
    bool dots;
    int64_t seq, ns;
    uint64_t users[64];
    size_t user_count;
    struct marks_sink sink;
};

void marks_begin(struct marks_at *at, struct labels *labels, struct buf *out, bool dots);
void marks_feed(struct marks_at *at, const char *text);
void marks_take(struct marks_at *at);
/* The whole run: its labels, valid until the next call. */
const char *marks_labels(const char *text, bool dots);
/* What label_guess says of the whole window. */
const char *marks_guess(struct labels *labels);
char marks_letter(unsigned label);

#endif
