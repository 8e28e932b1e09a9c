/*
 * range_name.h - what people call the parts of a training step where they name them themselves, as
 * ranges of NVTX: a table of names. Pure.
 */
#ifndef TIDEMARK_RECORDER_RANGE_NAME_H
#define TIDEMARK_RECORDER_RANGE_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "label.h"

/* LABEL_OTHER: it says nothing. Case does not matter, nor which of " _-./:" stands between words,
 * nor "()" at the end. */
enum label range_name_label(const char *name);
/* Whether a name that goes on with a number counts steps: "iteration ", "step_", "batch", ... */
bool range_name_is_step(const char *stem);
/* Bytes of a stem without what stood between it and its number. */
size_t range_name_bytes(const char *stem);

#endif
