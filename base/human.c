#include "human.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static uint64_t magnitude(int64_t n)
{
    return n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
}

static void put_bytes(char *text, const char *sign, uint64_t bytes)
{
    static const struct {
        uint64_t below; /* the unit is used for less than this, 0 = for all */
        unsigned shift;
        const char *name;
    } units[] = {
        {UINT64_C(1) << 20, 10, "KiB"},
        {UINT64_C(10) << 30, 20, "MiB"},
        {UINT64_C(10) << 40, 30, "GiB"},
        {0, 40, "TiB"},
    };
    size_t at = 0;
    if (bytes < 1024) {
        snprintf(text, HUMAN_MAX, "%s%" PRIu64 " B", sign, bytes);
        return;
    }
    while (units[at].below && bytes >= units[at].below)
        at++;
    double value = (double)bytes / (double)(UINT64_C(1) << units[at].shift);
    snprintf(text, HUMAN_MAX, "%s%.*f %s", sign, value < 99.95 ? 1 : 0, value, units[at].name);
}

const char *human_bytes(char text[HUMAN_MAX], int64_t bytes)
{
    put_bytes(text, bytes < 0 ? "-" : "", magnitude(bytes));
    return text;
}

const char *human_delta(char text[HUMAN_MAX], int64_t bytes)
{
    put_bytes(text, bytes < 0 ? "-" : bytes > 0 ? "+" : "", magnitude(bytes));
    return text;
}

/* Digits behind the point, so that three digits count. */
static int decimals(double value)
{
    return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

const char *human_ns(char text[HUMAN_MAX], int64_t ns)
{
    const char *sign = ns < 0 ? "-" : "";
    uint64_t n = magnitude(ns);
    double value = (double)n;
    if (n < 1000) {
        snprintf(text, HUMAN_MAX, "%s%" PRIu64 " ns", sign, n);
    } else if (value < 999.5e3) {
        snprintf(text, HUMAN_MAX, "%s%.*f us", sign, decimals(value / 1e3), value / 1e3);
    } else if (value < 999.5e6) {
        snprintf(text, HUMAN_MAX, "%s%.*f ms", sign, decimals(value / 1e6), value / 1e6);
    } else if (value < 59.95e9) {
        snprintf(text, HUMAN_MAX, "%s%.*f s", sign, decimals(value / 1e9), value / 1e9);
    } else {
        uint64_t s = (n + 500000000) / 1000000000;
        if (s < 3600)
            snprintf(text, HUMAN_MAX, "%s%" PRIu64 "m %02" PRIu64 "s", sign, s / 60, s % 60);
        else
            snprintf(text, HUMAN_MAX, "%s%" PRIu64 "h %02" PRIu64 "m", sign, s / 3600,
                     s % 3600 / 60);
    }
    return text;
}

const char *human_count(char text[HUMAN_MAX], int64_t n)
{
    char digits[HUMAN_MAX];
    int count = snprintf(digits, sizeof digits, "%" PRIu64, magnitude(n));
    char *out = text;
    if (n < 0)
        *out++ = '-';
    for (int i = 0; i < count; i++) {
        if (i && (count - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    return text;
}

const char *human_percent(char text[HUMAN_MAX], double ratio)
{
    if (!isfinite(ratio))
        snprintf(text, HUMAN_MAX, "-");
    else
        snprintf(text, HUMAN_MAX, "%.1f %%", ratio * 100);
    return text;
}

const char *human_calendar(char text[HUMAN_MAX], int64_t real_ns, bool utc)
{
    time_t seconds = (time_t)(real_ns / 1000000000);
    struct tm parts;
    size_t n = 0;
    if (utc && gmtime_r(&seconds, &parts))
        n = strftime(text, HUMAN_MAX, "%Y-%m-%dT%H:%M:%SZ", &parts);
    else if (!utc && localtime_r(&seconds, &parts))
        n = strftime(text, HUMAN_MAX, "%Y-%m-%d %H:%M:%S %Z", &parts);
    if (n == 0)
        snprintf(text, HUMAN_MAX, "%" PRId64 " s", (int64_t)seconds);
    return text;
}
