#include "purpose.h"

const char *purpose_name(enum purpose purpose)
{
    static const char *const names[PURPOSES] = {
        [PURPOSE_PARAMETER] = "parameter",
        [PURPOSE_COPY] = "copy of parameters (EMA or frozen)",
        [PURPOSE_GRADIENT] = "gradient",
        [PURPOSE_OPTIMIZER_STATE] = "optimizer state",
        [PURPOSE_GATHERED] = "gathered parameters",
        [PURPOSE_COMMUNICATION] = "communication buffer",
        [PURPOSE_BUCKET] = "bucket",
        [PURPOSE_HELD] = "activation, held by the program",
        [PURPOSE_ACTIVATION] = "activation",
        [PURPOSE_INPUT] = "input",
        [PURPOSE_WORKSPACE] = "workspace",
        [PURPOSE_LIBRARY] = "library workspace",
        [PURPOSE_OTHER] = "other",
    };
    return names[purpose];
}

const char *purpose_name_in_list(enum purpose purpose)
{
    return purpose == PURPOSE_HELD ? "activation held by the program" : purpose_name(purpose);
}
