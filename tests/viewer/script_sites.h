/*
 * script_sites.h - what a script's blocks are made by, and tagged as.
 */
#ifndef TIDEMARK_TESTS_SCRIPT_SITES_H
#define TIDEMARK_TESTS_SCRIPT_SITES_H

enum script_site { /* in the order of script.c's names */
                   BUILD = 1,
                   ENCODE,
                   DECODE,
                   BACKWARD_40,
                   BACKWARD_41,
                   ADAM,
                   RNN,
                   OTHER,
                   WARM_UP
};
enum script_tag { /* categories of table tag */
                  TAG_PARAMETER = 1,
                  TAG_GRADIENT,
                  TAG_STATE,
                  TAG_BUCKET = 6,
                  TAG_WORKSPACE
};

#endif
