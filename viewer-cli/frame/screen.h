/*
 * screen.h - what the terminal on stdout can show.
 */
#ifndef TIDEMARK_VIEWER_SCREEN_H
#define TIDEMARK_VIEWER_SCREEN_H

#include <stdbool.h>

struct screen {
    bool terminal; /* stdout is one, and it can move its cursor: not TERM=dumb */
    bool dumb;     /* stdout is one, and it is TERM=dumb: lines are all it can show */
    bool utf8;     /* the locale says so, and it is not TERM=dumb */
    unsigned width, height;
};

/* COLUMNS and LINES win over the terminal's own word; 80 x 24 is what is left. */
struct screen screen_look(void);
bool screen_says_utf8(void); /* what the locale in the environment says */

#endif
