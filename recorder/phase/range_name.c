/* range_name.c - see range_name.h. Names are compared as words in lower case, one space between. */
#include "range_name.h"

#include <string.h>

#define PLAIN_MAX 40u /* longer than any name in the tables */

static const struct {
    enum label label;
    const char *name;
} labels[] = {
    {LABEL_ZERO_GRAD, "zero grad"},
    {LABEL_ZERO_GRAD, "zerograd"},
    {LABEL_ZERO_GRAD, "zero grads"},
    {LABEL_ZERO_GRAD, "zero gradients"},
    {LABEL_ZERO_GRAD, "optimizer zero grad"},
    {LABEL_ZERO_GRAD, "optim zero grad"},
    {LABEL_ZERO_GRAD, "opt zero grad"},
    {LABEL_FORWARD, "forward"},
    {LABEL_FORWARD, "forward pass"},
    {LABEL_FORWARD, "forward step"},
    {LABEL_FORWARD, "fwd"},
    {LABEL_FORWARD, "fwd pass"},
    {LABEL_FORWARD, "fprop"},
    {LABEL_FORWARD, "model forward"},
    {LABEL_FORWARD, "deepspeedengine forward"},
    {LABEL_LOSS, "loss"},
    {LABEL_LOSS, "criterion"},
    {LABEL_LOSS, "compute loss"},
    {LABEL_LOSS, "calc loss"},
    {LABEL_LOSS, "loss computation"},
    {LABEL_LOSS, "loss fn"},
    {LABEL_BACKWARD, "backward"},
    {LABEL_BACKWARD, "backward pass"},
    {LABEL_BACKWARD, "backward step"},
    {LABEL_BACKWARD, "bwd"},
    {LABEL_BACKWARD, "bwd pass"},
    {LABEL_BACKWARD, "bprop"},
    {LABEL_BACKWARD, "backprop"},
    {LABEL_BACKWARD, "backpropagation"},
    {LABEL_BACKWARD, "loss backward"},
    {LABEL_BACKWARD, "deepspeedengine backward"},
    {LABEL_OPTIMIZER, "optimizer"},
    {LABEL_OPTIMIZER, "optimizer step"},
    {LABEL_OPTIMIZER, "optim"},
    {LABEL_OPTIMIZER, "optim step"},
    {LABEL_OPTIMIZER, "opt"},
    {LABEL_OPTIMIZER, "opt step"},
    {LABEL_OPTIMIZER, "weight update"},
    {LABEL_OPTIMIZER, "parameter update"},
    {LABEL_OPTIMIZER, "deepspeedengine step"},
    {LABEL_EVAL, "eval"},
    {LABEL_EVAL, "evaluate"},
    {LABEL_EVAL, "evaluation"},
    {LABEL_EVAL, "val"},
    {LABEL_EVAL, "validate"},
    {LABEL_EVAL, "validation"},
};

static const char *const steps[] = {
    "iteration",
    "iter",
    "it",
    "step",
    "batch",
    "train step",
    "train iter",
    "training step",
    "train batch",
    "training batch",
    "global step",
    "train iteration",
    "training iter",
    "training iteration",
};

static bool is_between(char c)
{
    return c && strchr(" _-./:#=[(\t", c) != NULL;
}

size_t range_name_bytes(const char *stem)
{
    size_t bytes = strlen(stem);
    while (bytes && is_between(stem[bytes - 1]))
        bytes--;
    return bytes;
}

/* False: it is too long to be known. */
static bool make_plain(const char *name, char plain[PLAIN_MAX])
{
    size_t count = 0, bytes = strlen(name);
    if (bytes >= 2 && strcmp(name + bytes - 2, "()") == 0)
        bytes -= 2;
    while (bytes && is_between(name[bytes - 1]))
        bytes--;
    for (size_t i = 0; i < bytes; i++) {
        char c = name[i];
        if (is_between(c) && (!count || plain[count - 1] == ' '))
            continue;
        if (count + 1 == PLAIN_MAX)
            return false;
        plain[count++] = is_between(c) ? ' ' : c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
    }
    plain[count] = '\0';
    return true;
}

enum label range_name_label(const char *name)
{
    char plain[PLAIN_MAX];
    if (!make_plain(name, plain))
        return LABEL_OTHER;
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (strcmp(plain, labels[i].name) == 0)
            return labels[i].label;
    return LABEL_OTHER;
}

bool range_name_is_step(const char *stem)
{
    char plain[PLAIN_MAX];
    if (!make_plain(stem, plain))
        return false;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (strcmp(plain, steps[i]) == 0)
            return true;
    return false;
}
