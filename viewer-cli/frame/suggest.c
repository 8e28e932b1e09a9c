/*
 * The distance is the one of optimal string alignment: three rows of the usual table are enough,
 * because a swap of neighbours looks two rows back.
 */
#include "suggest.h"

#include <stdbool.h>
#include <string.h>

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    unsigned low = a < b ? a : b;
    return low < c ? low : c;
}

unsigned suggest_distance(const char *a, const char *b)
{
    unsigned rows[3][SUGGEST_LONGEST + 1];
    unsigned *before = rows[0], *last = rows[1], *now = rows[2];
    size_t na = strnlen(a, SUGGEST_LONGEST), nb = strnlen(b, SUGGEST_LONGEST);

    for (unsigned j = 0; j <= nb; j++)
        last[j] = j;
    for (unsigned i = 1; i <= na; i++) {
        now[0] = i;
        for (unsigned j = 1; j <= nb; j++) {
            bool same = a[i - 1] == b[j - 1];
            now[j] = least(last[j] + 1, now[j - 1] + 1, last[j - 1] + !same);
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
        unsigned *oldest = before;
        before = last;
        last = now;
        now = oldest;
    }
    return last[nb];
}

void suggest_offer(struct suggest *suggest, const char *known)
{
    size_t typed = strnlen(suggest->word, SUGGEST_LONGEST);
    unsigned distance = suggest_distance(suggest->word, known);
    /* A third of the letters wrong is still the same word; so is its beginning alone. */
    bool beginning = typed >= 2 && strncmp(suggest->word, known, typed) == 0;
    if (beginning)
        distance = 1;
    if (!beginning && distance > (typed + 2) / 3)
        return;
    if (suggest->best && distance >= suggest->distance)
        return;
    suggest->best = known;
    suggest->distance = distance;
}
