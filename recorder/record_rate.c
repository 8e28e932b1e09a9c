#include "record_rate.h"

#include "human.h"

#define DAY_S 86400.0

int64_t record_rate_day(int64_t bytes, uint64_t run_ns)
{
    double day = run_ns ? (double)bytes * (DAY_S * 1e9 / (double)run_ns) : 0;
    return day < 9e18 ? (int64_t)day : INT64_MAX;
}

bool record_rate_text(int64_t bytes, uint64_t run_ns, struct buf *out)
{
    char text[HUMAN_MAX];
    int64_t day = record_rate_day(bytes, run_ns);
    if (run_ns < RECORD_RATE_NS || day < RECORD_RATE_LEAST)
        return false;
    buf_print(out,
              "at the rate so far a day of this run takes %s on disk; --max-size keeps it below "
              "what you say",
              human_bytes(text, day));
    return true;
}
