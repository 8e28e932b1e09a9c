/*
 * scan.h - a reader of the two text forms that knows nothing of how they are written: it holds each
 * rule of the formats that a scraper would stumble over, and finds samples.
 *
 * Held: names and labels are of their alphabets, label values are escaped and UTF-8, no sample
 * stands twice, samples of a family stand together behind its TYPE (and HELP, and UNIT with its
 * suffix), counters end in _total, values are numbers, and OpenMetrics ends with # EOF and nothing
 * behind.
 */
#ifndef TIDEMARK_TESTS_SCAN_H
#define TIDEMARK_TESTS_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/* NULL: it is well formed; else what is wrong, in a buffer of its own. */
const char *scan_check(const char *text, bool openmetrics);
/* The value of the one sample with that name and labels, as they are written:
 * scan_value(text, "tidemark_step", "{run=\"a\"}"). -1: it is not there. */
double scan_value(const char *text, const char *name, const char *labels);
/* How many samples have that name. */
size_t scan_count(const char *text, const char *name);

#endif
