#include "phase_kind.h"

#include <string.h>

static const char *const kinds[PHASE_KINDS] = {
    [PHASE_KIND_NONE] = "no phase",
    [PHASE_KIND_OTHER] = "other",
    [PHASE_KIND_USER] = "user",
    [PHASE_KIND_ZERO_GRAD] = "zero_grad",
    [PHASE_KIND_FORWARD] = "forward",
    [PHASE_KIND_LOSS] = "loss",
    [PHASE_KIND_BACKWARD] = "backward",
    [PHASE_KIND_AFTER_BACKWARD] = "after_backward",
    [PHASE_KIND_OPTIMIZER] = "optimizer",
    [PHASE_KIND_EVAL] = "eval",
    [PHASE_KIND_FORWARD_NO_GRAD] = "forward_no_grad",
    [PHASE_KIND_RECOMPUTE] = "recompute",
};

static const char *const ends[PHASE_ENDS] = {
    [PHASE_END_USUAL] = "end",
    [PHASE_END_EXCEPTION] = "exception",
    [PHASE_END_UNBALANCED] = "unbalanced",
    [PHASE_END_PROCESS] = "process end",
};

enum phase_kind phase_kind_from(const char *text)
{
    enum phase_kind kind = PHASE_KIND_OTHER;
    if (!text)
        return PHASE_KIND_NONE;
    while (kind < PHASE_KIND_UNKNOWN && strcmp(kinds[kind], text) != 0)
        kind++;
    return kind;
}

enum phase_end phase_end_from(const char *text)
{
    for (enum phase_end end = PHASE_END_USUAL; text && end < PHASE_ENDS; end++)
        if (strcmp(ends[end], text) == 0)
            return end;
    return PHASE_END_NONE;
}

const char *phase_kind_name(enum phase_kind kind)
{
    return kinds[kind];
}
