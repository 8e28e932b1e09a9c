/*
 * levers_window.h - which steps a change is tried on.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_WINDOW_H
#define TIDEMARK_ANALYSIS_LEVERS_WINDOW_H

#include "levers_step.h"

/* Steps, events and `whole` of the window. ERR_NOTFOUND: the step of the peak is not there. */
int levers_window_find(struct db *db, const struct peak *peak, struct levers_step *out);
/* The whole run. ERR_LIMIT: it has too many events; ERR_NOTFOUND: nothing is known of it. */
int levers_window_run(struct db *db, const struct peak *peak, struct levers_step *out);

#endif
