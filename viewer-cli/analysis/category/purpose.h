/*
 * purpose.h - what memory is for: one list, and one table of what people and programs read.
 */
#ifndef TIDEMARK_ANALYSIS_PURPOSE_H
#define TIDEMARK_ANALYSIS_PURPOSE_H

/* In the order of a stack that is drawn, the lowest first; of equals, reports show the first one
 * first. */
enum purpose {
    PURPOSE_PARAMETER,
    PURPOSE_COPY,     /* of parameters */
    PURPOSE_GATHERED, /* parameters, from all ranks */
    PURPOSE_GRADIENT,
    PURPOSE_OPTIMIZER_STATE,
    PURPOSE_BUCKET,
    PURPOSE_COMMUNICATION, /* what collectives send and receive in */
    PURPOSE_HELD,          /* an activation that the program holds */
    PURPOSE_ACTIVATION,
    PURPOSE_INPUT,
    PURPOSE_WORKSPACE,
    PURPOSE_LIBRARY, /* a library's workspace */
    PURPOSE_OTHER,
    PURPOSES
};

/* As view allocation_category has it. */
const char *purpose_name(enum purpose purpose);
/* Without a comma of its own. */
const char *purpose_name_in_list(enum purpose purpose);

#endif
