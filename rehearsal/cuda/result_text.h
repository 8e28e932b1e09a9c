/*
 * result_text.h - CUDA's numbers for what went wrong, as text.
 */
#ifndef TIDEMARK_REHEARSAL_RESULT_TEXT_H
#define TIDEMARK_REHEARSAL_RESULT_TEXT_H

#include <stdbool.h>

/* What the stand-in says that its driver is: new enough for every program. */
#define DRIVER_VERSION 13020

/* Never NULL. */
const char *result_name(int result, bool of_runtime);
const char *result_text(int result);

#endif
