/* bench.c - see bench.h. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bench_add(struct bench_series *series, double floor, double subject)
{
    if (series->count == BENCH_ROUNDS)
        return;
    series->floor[series->count] = floor;
    series->subject[series->count] = subject;
    series->count++;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double bench_median(const double *values, size_t count)
{
    double sorted[BENCH_ROUNDS];
    if (count == 0)
        return 0;
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_value);
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

double bench_ratio(const struct bench_series *series)
{
    double ratios[BENCH_ROUNDS];
    for (size_t i = 0; i < series->count; i++)
        ratios[i] = series->subject[i] / series->floor[i];
    return bench_median(ratios, series->count);
}

void bench_row(const char *what, const struct bench_series *series, const char *unit,
               const char *goal)
{
    printf("| %s | %.4g %s | %.4g %s | %.2f | %s |\n", what,
           bench_median(series->subject, series->count), unit,
           bench_median(series->floor, series->count), unit, bench_ratio(series), goal);
    fflush(stdout);
}
