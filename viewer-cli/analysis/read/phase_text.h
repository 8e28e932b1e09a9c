/*
 * phase_text.h - what people read for the time between phases, which is the kind 'other' of table
 * phase: that word in a table of phases, and with the remark behind it in a sentence and where
 * kinds of memory stand beside it.
 */
#ifndef TIDEMARK_ANALYSIS_PHASE_TEXT_H
#define TIDEMARK_ANALYSIS_PHASE_TEXT_H

#define PHASE_OTHER "other"
#define PHASE_BETWEEN_REMARK " (between phases)"
#define PHASE_BETWEEN PHASE_OTHER PHASE_BETWEEN_REMARK

#endif
