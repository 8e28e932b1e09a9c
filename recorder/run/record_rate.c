#include "record_rate.h"

#include "human.h"

#define DAY_S 86400.0

bool record_rate_due(const struct record_rate *rate, uint64_t run_ns)
{
    return !rate->said && run_ns >= rate->since_ns && run_ns - rate->since_ns >= RECORD_RATE_NS;
}

int64_t record_rate_day(int64_t bytes, uint64_t run_ns)
{
    double day = run_ns && bytes > 0 ? (double)bytes * (DAY_S * 1e9 / (double)run_ns) : 0;
    return day < 9e18 ? (int64_t)day : INT64_MAX;
}

bool record_rate_text(struct record_rate *rate, int64_t bytes, uint64_t run_ns, struct buf *out)
{
    char text[HUMAN_MAX];
    if (!record_rate_due(rate, run_ns))
        return false;
    int64_t day = record_rate_day(bytes - rate->bytes, run_ns - rate->since_ns);
    rate->since_ns = run_ns;
    rate->bytes = bytes;
    rate->said = day >= RECORD_RATE_LEAST;
    if (rate->said)
        buf_print(out,
                  "at the rate of the last minute a day of this run takes %s on disk; --max-size "
                  "keeps it below what you say",
                  human_bytes(text, day));
    return rate->said;
}
