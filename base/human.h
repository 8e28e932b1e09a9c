/*
 * human.h - numbers as people read them. Tables and messages use these; csv and json never do.
 *
 * Bytes: below 1 KiB as "n B", below 1 MiB in KiB, below 10 GiB in MiB, below 10 TiB in GiB, above
 * in TiB; one decimal below 100, none above, so three digits count at least. A table of a training
 * run is then in MiB from top to bottom, narrow, and shows 4329 MiB as such. Durations: three
 * digits that count, in ns, us, ms or s; from one minute on "m s", "h m".
 */
#ifndef TIDEMARK_BASE_HUMAN_H
#define TIDEMARK_BASE_HUMAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HUMAN_MAX 48 /* enough for every text made here */

/* Each fills text and returns it. */
const char *human_bytes(char text[HUMAN_MAX], int64_t bytes);
const char *human_delta(char text[HUMAN_MAX], int64_t bytes); /* with its sign */
const char *human_ns(char text[HUMAN_MAX], int64_t ns);
const char *human_count(char text[HUMAN_MAX], int64_t n);      /* 12,345 */
const char *human_percent(char text[HUMAN_MAX], double ratio); /* 0.125 is 12.5 % */
const char *human_calendar(char text[HUMAN_MAX], int64_t real_ns, bool utc);

#endif
