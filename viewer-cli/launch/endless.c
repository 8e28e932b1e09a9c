#include "endless.h"

#include "clock.h"
#include "human.h"

#define SAME_NS (300 * NS_PER_S)

bool endless_is_due(struct endless *endless, const struct record_progress *now)
{
    if (now->totals.peak_allocated != endless->peak) {
        endless->peak = now->totals.peak_allocated;
        endless->since_ns = now->run_ns;
    }
    bool due = !endless->said && endless->peak && now->run_ns - endless->since_ns >= SAME_NS;
    endless->said = endless->said || due;
    return due;
}

/* Only a program that has steps ends after some of them. */
void endless_line(const struct endless *endless, const struct record_progress *now,
                  struct buf *line)
{
    char peak[HUMAN_MAX], same[HUMAN_MAX];
    int64_t second = (int64_t)NS_PER_S;
    int64_t same_ns = (int64_t)(now->run_ns - endless->since_ns) / second * second;
    buf_print(line,
              "no new peak for %s (%s): a rehearsal computes no token and no loss, so a loop that "
              "waits for one never ends; Ctrl-C ends it here and keeps the recording, %s does next "
              "time",
              human_ns(same, same_ns), human_bytes(peak, (int64_t)endless->peak),
              now->totals.steps ? "--steps 3" : "a limit such as max_new_tokens");
}
