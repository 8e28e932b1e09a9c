/*
 * span.h - between which events a process lived, for statements whose parameter ?1 is the process.
 *
 * Table allocation, and others with an event's number as their key, have no index on the process:
 * among thousands of processes the rows of one are found by its first and last event. Where these
 * are not known, or it has not ended, the bounds hold all there is.
 */
#ifndef TIDEMARK_ANALYSIS_SPAN_H
#define TIDEMARK_ANALYSIS_SPAN_H

#define SPAN_FIRST "coalesce((SELECT first_seq FROM process WHERE id = ?1), 0)"
#define SPAN_LAST                                                                                  \
    "coalesce((SELECT last_seq FROM process WHERE id = ?1 AND end_ns IS NOT NULL),"                \
    " 9223372036854775807)"
#define SPAN_HAS(seq) " " seq " BETWEEN " SPAN_FIRST " AND " SPAN_LAST

#endif
