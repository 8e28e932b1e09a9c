/* Names of modules with their instances folded. */
#include "module_fold.h"

#include <string.h>

#include "error.h"
#include "mem.h"
#include "test.h"

enum { MOST = 64 };

static const struct module_name llama[] = {
    {"", "Llama"},
    {"model", "Model"},
    {"model.layers", "ModuleList"},
    {"model.layers.0", "Layer"},
    {"model.layers.0.mlp", "Mlp"},
    {"model.layers.1", "Layer"},
    {"model.layers.1.mlp", "Mlp"},
    {"model.layers.2", "Layer"},
    {"model.layers.2.mlp", "Mlp"},
    {"head", "Linear"},
};

/* All folded paths, one after the other. */
static const char *folded(const struct module_name *names, size_t count)
{
    static char text[4096];
    char *out[MOST];
    text[0] = '\0';
    REQUIRE(count <= MOST && module_fold(names, count, out) == 0);
    for (size_t i = 0; i < count; i++) {
        strncat(text, i ? " " : "", sizeof text - strlen(text) - 1);
        strncat(text, out[i], sizeof text - strlen(text) - 1);
        mem_free(out[i]);
    }
    return text;
}
#define FOLDED(names) folded(names, sizeof(names) / sizeof *(names))

TEST(instances_share_a_name)
{
    CHECK_STR(FOLDED(llama), " model model.layers model.layers[0-2] model.layers[0-2].mlp"
                             " model.layers[0-2] model.layers[0-2].mlp model.layers[0-2]"
                             " model.layers[0-2].mlp head");
}

TEST(another_class_stands_apart)
{
    static const struct module_name names[] = {
        {"h.0", "Block"}, {"h.1", "Block"}, {"h.2", "Other"},  {"h.3", "Block"},
        {"h.4", "Block"}, {"h.5", "Block"}, {"h.10", "Block"}, {"h.11", "Block"},
    };
    CHECK_STR(FOLDED(names), "h[0-1] h[0-1] h.2 h[3-5] h[3-5] h[3-5] h[10-11] h[10-11]");
}

TEST(parts_of_a_sequence_are_no_instances)
{
    static const struct module_name names[] = {
        {"mlp.0", "Linear"}, {"mlp.1", "ReLU"}, {"mlp.2", "Linear"}, {"mlp.3", "ReLU"}};
    CHECK_STR(FOLDED(names), "mlp.0 mlp.1 mlp.2 mlp.3");
}

TEST(instances_of_instances)
{
    static const struct module_name names[] = {
        {"0", "Stage"},  {"0.0", "Conv"}, {"0.1", "Conv"},   {"1", "Stage"},
        {"1.0", "Conv"}, {"1.1", "Conv"}, {"1.2", "Conv"},   {"2", "Stage"},
        {"2.0", "Conv"}, {"2.1", "Conv"}, {"2.0.a", "Norm"}, {"2.1.a", "Norm"},
    };
    CHECK_STR(FOLDED(names), "[0-2] [0-2][0-1] [0-2][0-1] [0-2] [0-2][0-1] [0-2][0-1] 1.2"
                             " [0-2] [0-2][0-1] [0-2][0-1] 2[0-1].a 2[0-1].a");
}

TEST(two_classes_never_share_a_name)
{
    static const struct module_name names[] = {
        {"stages.0", "Stage"},         {"stages.0.skip", "Conv2d"}, {"stages.1", "Stage"},
        {"stages.1.skip", "Identity"}, {"stages.2", "Stage"},       {"stages.2.skip", "Conv2d"},
        {"stages.2.skip.a", "Norm"},   {"stages.3", "Stage"},       {"stages.3.skip", "Conv2d"},
        {"stages.3.skip.a", "Norm"},
    };
    CHECK_STR(FOLDED(names), "stages[0-3] stages.0.skip stages[0-3] stages.1.skip stages[0-3]"
                             " stages[2-3].skip stages[2-3].skip.a stages[0-3] stages[2-3].skip"
                             " stages[2-3].skip.a");
}

/* As the parts of ResNets: some stages have more of them. */
TEST(a_name_stands_for_all_that_it_reads_as)
{
    static const struct module_name names[] = {
        {"l.0.0", "B"}, {"l.0.1", "B"}, {"l.1.0", "B"}, {"l.1.1", "B"},   {"l.1.2", "B"},
        {"l.1.3", "B"}, {"l.0", "S"},   {"l.1", "S"},   {"l.1.2.c", "C"}, {"l.1.3.c", "C"},
    };
    CHECK_STR(FOLDED(names), "l[0-1][0-1] l[0-1][0-1] l[0-1][0-1] l[0-1][0-1] l.1[2-3] l.1[2-3]"
                             " l[0-1] l[0-1] l.1[2-3].c l.1[2-3].c");
}

/* One module after the other stood in one place. */
TEST(two_classes_of_one_path)
{
    static const struct module_name names[] = {
        {"a.0", "ReLU"}, {"a.0", "GELU"}, {"a.1", "GELU"}, {"a.2", "ReLU"}};
    CHECK_STR(FOLDED(names), "a.0 a[0-1] a[0-1] a.2");
}

TEST(what_is_no_number)
{
    static const struct module_name names[] = {{"a.00", "X"}, {"a.01", "X"},         {"a.1x", "X"},
                                               {"a.2x", "X"}, {"a.9999999999", "X"}, {"", "Y"}};
    CHECK_STR(FOLDED(names), "a.00 a.01 a.1x a.2x a.9999999999 ");
    CHECK_STR(folded(NULL, 0), "");
}

TEST(without_memory)
{
    enum { COUNT = sizeof llama / sizeof *llama };
    char *out[COUNT];
    int err = ERR_NOMEM;
    for (long n = 1; err == ERR_NOMEM && n < 1000; n++) {
        mem_fail_after(n);
        err = module_fold(llama, COUNT, out);
        mem_fail_after(0);
    }
    REQUIRE(err == 0);
    for (size_t i = 0; i < COUNT; i++)
        mem_free(out[i]);
}

TEST_MAIN(TEST_CASE(instances_share_a_name), TEST_CASE(another_class_stands_apart),
          TEST_CASE(parts_of_a_sequence_are_no_instances), TEST_CASE(instances_of_instances),
          TEST_CASE(two_classes_never_share_a_name),
          TEST_CASE(a_name_stands_for_all_that_it_reads_as), TEST_CASE(two_classes_of_one_path),
          TEST_CASE(what_is_no_number), TEST_CASE(without_memory))
