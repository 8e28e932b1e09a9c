/*
 * bench.h - what the benchmarks share. Every figure is a ratio to a floor that is measured in turns
 * with it, in the same run: rounds of floor and subject alternate, and the median of the rounds'
 * ratios is reported, so that a neighbour on the machine disturbs both alike.
 */
#ifndef TIDEMARK_TESTS_BENCH_H
#define TIDEMARK_TESTS_BENCH_H

#include <stddef.h>
#include <stdint.h>

#define BENCH_ROUNDS 25

struct bench_series {
    double floor[BENCH_ROUNDS]; /* any unit, the same in both */
    double subject[BENCH_ROUNDS];
    size_t count;
};

void bench_add(struct bench_series *series, double floor, double subject);
double bench_median(const double *values, size_t count);
double bench_ratio(const struct bench_series *series); /* median of subject / floor */
/* "| what | subject | floor | ratio | goal |", for docs/benchmarks.md. */
void bench_row(const char *what, const struct bench_series *series, const char *unit,
               const char *goal);

#endif
