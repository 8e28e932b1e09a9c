/* line.c - see line.h. */
#include "line.h"

void line_add(struct line *line, int64_t x, int64_t y)
{
    if (line->n++ == 0) {
        line->first_x = x;
        line->first_y = y;
    }
    line->last_x = x;
    line->last_y = y;
    double from_x = (double)(x - line->first_x), from_y = (double)(y - line->first_y);
    line->x += from_x;
    line->y += from_y;
    line->xx += from_x * from_x;
    line->xy += from_x * from_y;
}

double line_slope(const struct line *line)
{
    double n = (double)line->n, spread = n * line->xx - line->x * line->x;
    return spread > 0 ? (n * line->xy - line->x * line->y) / spread : 0;
}
