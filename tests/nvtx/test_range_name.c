/* Names that mean a part of a step, names that count steps, and those that mean nothing. */
#include "range_name.h"

#include <string.h>

#include "test.h"

TEST(what_people_call_the_parts_of_a_step)
{
    static const struct {
        enum label label;
        const char *names[8];
    } cases[] = {
        {LABEL_ZERO_GRAD,
         {"zero_grad", "Zero Grad", "optimizer.zero_grad", "opt.zero_grad()", "ZERO-GRAD"}},
        {LABEL_FORWARD,
         {"forward", "Forward", "FWD", "forward pass", "DeepSpeedEngine.forward", "fprop"}},
        {LABEL_LOSS, {"loss", "Loss", "criterion", "compute_loss", "Loss Computation"}},
        {LABEL_BACKWARD,
         {"backward", "bwd", "loss.backward()", "Backward_Pass", "bprop", "backward:"}},
        {LABEL_OPTIMIZER,
         {"optimizer", "optimizer.step", "optimizer.step()", "opt_step", "Optimizer Step",
          "opt/step", "DeepSpeedEngine.step"}},
        {LABEL_EVAL, {"eval", "Validation", "validate", "evaluate", "val", "evaluation"}},
        {LABEL_OTHER,
         {"", "step", "forward_hook", "layer forward", "backwards", "loss scale", "_", "testing"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < 8 && cases[i].names[k]; k++)
            CHECK_INT(range_name_label(cases[i].names[k]), cases[i].label);
}

TEST(what_counts_steps)
{
    static const char *const yes[] = {
        "iteration ", "iteration", "Iteration_",  "iter:",          "step ",       "step#",
        "STEP",       "batch-",    "train_step ", "Training Step ", "global_step="};
    static const char *const no[] = {"",        "epoch ",      "layer ", "forward ", "step of ",
                                     "stepper", "microbatch ", "steps ", "rank "};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        CHECK(range_name_is_step(yes[i]));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        CHECK(!range_name_is_step(no[i]));
}

TEST(long_names_are_none)
{
    char text[300];
    memset(text, 'x', sizeof text);
    text[299] = '\0';
    CHECK_INT(range_name_label(text), LABEL_OTHER);
    CHECK(!range_name_is_step(text));
    memset(text, ' ', 250); /* what is between words takes no room */
    memcpy(text + 250, "forward", 8);
    CHECK_INT(range_name_label(text), LABEL_FORWARD);
    memset(text, '_', 299);
    CHECK_INT(range_name_label(text), LABEL_OTHER);
}

TEST_MAIN(TEST_CASE(what_people_call_the_parts_of_a_step), TEST_CASE(what_counts_steps),
          TEST_CASE(long_names_are_none))
