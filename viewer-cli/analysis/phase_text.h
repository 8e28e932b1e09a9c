/*
 * phase_text.h - what people read for the time between phases, which is the kind 'other' of table
 * phase. Every report says it so: `phases` and `timeline`, which have little room, the first word.
 */
#ifndef TIDEMARK_ANALYSIS_PHASE_TEXT_H
#define TIDEMARK_ANALYSIS_PHASE_TEXT_H

#define PHASE_OTHER "other"
#define PHASE_BETWEEN_REMARK " (between phases)"
#define PHASE_BETWEEN PHASE_OTHER PHASE_BETWEEN_REMARK
#define PHASE_OUTSIDE PHASE_OTHER " (outside of any step)"

#endif
