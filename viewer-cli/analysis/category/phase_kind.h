/*
 * phase_kind.h - the words of table phase: what a phase was, and how it ended.
 *
 * Whoever reads a row asks once, and goes by the number from there on. The words are the recorder's
 * (recorder/label/label.h); one that is not here is PHASE_KIND_UNKNOWN, and has no name but its
 * own.
 */
#ifndef TIDEMARK_ANALYSIS_PHASE_KIND_H
#define TIDEMARK_ANALYSIS_PHASE_KIND_H

enum phase_kind {
    PHASE_KIND_NONE,  /* no phase, or one whose surroundings are not known */
    PHASE_KIND_OTHER, /* between phases */
    PHASE_KIND_USER,
    PHASE_KIND_ZERO_GRAD,
    PHASE_KIND_FORWARD,
    PHASE_KIND_LOSS,
    PHASE_KIND_BACKWARD,
    PHASE_KIND_AFTER_BACKWARD,
    PHASE_KIND_OPTIMIZER,
    PHASE_KIND_EVAL,
    PHASE_KIND_FORWARD_NO_GRAD,
    PHASE_KIND_RECOMPUTE,
    PHASE_KIND_UNKNOWN,
    PHASE_KINDS
};

enum phase_end {
    PHASE_END_NONE, /* it has not ended, or by another word */
    PHASE_END_USUAL,
    PHASE_END_EXCEPTION,
    PHASE_END_UNBALANCED,
    PHASE_END_PROCESS,
    PHASE_ENDS
};

/* Of a column; NULL is none. */
enum phase_kind phase_kind_from(const char *text);
enum phase_end phase_end_from(const char *text);
/* "no phase", "forward"; NULL: PHASE_KIND_UNKNOWN. */
const char *phase_kind_name(enum phase_kind kind);

#endif
