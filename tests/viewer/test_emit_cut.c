/* Texts and names that are longer than there is room for. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "emit_case.h"
#include "emit_parts.h"

static const char *cut_lines(const char *text, unsigned width, unsigned lines)
{
    static struct buf cut;
    cut.count = 0;
    emit_put_cut_lines(&cut, text, width, lines);
    return buf_string(&cut);
}

TEST(a_text_of_some_lines_is_cut_at_its_end)
{
    static const char text[] =
        "loss of an eighth of the rows at a time: sum(f(h, y) for h, y in z)";
    CHECK_STR(cut_lines(text, 0, 1), text);
    CHECK_STR(cut_lines(text, 40, 2), text);
    CHECK_STR(cut_lines(text, 30, 2),
              "loss of an eighth of the rows at a time: sum(f(h, y) for...");
    CHECK_STR(cut_lines(text, 30, 1), "loss of an eighth of the...");
    CHECK_STR(cut_lines("optim.ZeroRedundancyOptimizer(model)", 20, 1), "optim.ZeroRedunda...");
}

/* Rows of two commands, cut or not. */
static const char *put_commands(const char *one, const char *other, unsigned width)
{
    static const struct emit_column two[] = {
        {"program", NULL, EMIT_TEXT, EMIT_COMMAND},
        {"now", NULL, EMIT_COUNT, 0},
    };
    struct emit emit;
    int result;
    emit_begin(&emit, EMIT_TABLE, false, "test", NULL);
    emit.width = width;
    EMIT_SECTION(&emit, "x", NULL, EMIT_ROWS, two);
    for (int i = 0; i < 2; i++) {
        emit_text(&emit, i ? other : one);
        emit_int(&emit, 1);
    }
    return emit_case_finish(&emit, &result);
}

TEST(commands_are_cut_unless_they_are_alike_then)
{
    CHECK_STR(put_commands("python train.py --lr 1 --epochs 9", "python test.py --lr 1", 22),
              "program            now\n"
              "python...epochs 9    1\n"
              "python...y --lr 1    1\n");
    CHECK_STR(
        put_commands("python train.py --lr 1 --epochs 9", "python eval.py --lr 2 --epochs 9", 22),
        "program            now\n"
        "python train.py      1\n"
        "--lr 1 --epochs 9\n"
        "python eval.py       1\n"
        "--lr 2 --epochs 9\n");
}

static const char *put_spare(unsigned width, int sections)
{
    static const struct emit_column four[] = {
        {"name", NULL, EMIT_TEXT, EMIT_NAME},
        {"now", NULL, EMIT_COUNT, 0},
        {"most", NULL, EMIT_COUNT, EMIT_SPARE},
        {"worst", NULL, EMIT_COUNT, EMIT_SPARE},
    };
    struct emit emit;
    int result;
    emit_begin(&emit, EMIT_TABLE, false, "test", NULL);
    emit.width = width;
    for (int i = 0; i < sections; i++) {
        EMIT_SECTION(&emit, i ? "y" : "x", NULL, EMIT_ROWS, four);
        emit_text(&emit, "a name of thirty letters, about");
        for (int at = 1; at < 4; at++)
            emit_int(&emit, at);
    }
    return emit_case_finish(&emit, &result);
}

TEST(spare_columns_go_before_texts_are_stumps)
{
    CHECK_STR(put_spare(80, 1), "name                             now  most  worst\n"
                                "a name of thirty letters, about    1     2      3\n");
    CHECK_STR(put_spare(36, 1), "name              now  most\n"
                                "a name of thirty    1     2\n"
                                "letters, about\n"
                                "\n"
                                "columns left out: worst\n");
    CHECK_STR(put_spare(35, 2), "name              now  most\n"
                                "a name of thirty    1     2\n"
                                "letters, about\n"
                                "\n"
                                "name              now  most\n"
                                "a name of thirty    1     2\n"
                                "letters, about\n"
                                "\n"
                                "columns left out: worst\n");
    CHECK_STR(put_spare(20, 1), "name            now\n"
                                "a name of         1\n"
                                "thirty\n"
                                "letters, about\n"
                                "\n"
                                "columns left out: worst, most\n");
}

TEST(a_number_stays_with_its_unit)
{
    struct emit emit;
    int result;
    emit_begin(&emit, EMIT_TABLE, false, "test", NULL);
    emit.width = 20;
    emit_line(&emit, "it went up by +280 MiB, and 12345678 B more of 7 blocks");
    CHECK_STR(emit_case_finish(&emit, &result), "it went up by\n"
                                                "+280 MiB, and\n"
                                                "12345678 B more of 7\n"
                                                "blocks\n");
    emit_begin(&emit, EMIT_TABLE, false, "test", NULL);
    emit_line(&emit, "piped, a line is as long as it is: %s", "nobody cuts or wraps it anywhere");
    CHECK_STR(emit_case_finish(&emit, &result),
              "piped, a line is as long as it is: nobody cuts or wraps it anywhere\n");
}

/* A name as lines of so many columns, with a bar between two. */
static const char *name_lines(const char *name, unsigned width)
{
    static struct buf lines;
    const struct emit_column column = {"site", NULL, EMIT_TEXT, EMIT_NAME};
    size_t bytes = strlen(name);
    lines.count = 0;
    while (bytes) {
        size_t n = emit_line_of(&column, name, bytes, width);
        buf_add(&lines, name, n);
        while (n < bytes && name[n] == ' ')
            n++;
        name += n;
        bytes -= n;
        buf_text(&lines, bytes ? "|" : "");
    }
    return buf_string(&lines);
}

TEST(a_name_is_broken_between_its_parts)
{
    static const struct {
        const char *name;
        unsigned width;
        const char *want;
    } cases[] = {
        {"main (a.py:27) > f (b.py:9)", 40, "main (a.py:27) > f (b.py:9)"},
        {"main (a.py:27) > f (b.py:9)", 26, "main (a.py:27) >|f (b.py:9)"},
        {"NewGELUActivation.forward (activations.py:66)", 30,
         "NewGELUActivation.forward|(activations.py:66)"},
        {"NewGELUActivation.forward (activations.py:66)", 20,
         "NewGELUActivation.|forward|(activations.py:66)"},
        {"GPT2Attention.forward (modeling_gpt2.py:310)", 22,
         "GPT2Attention.forward|(modeling_gpt2.py:310)"},
        {"Module.to.<locals>.convert", 22, "Module.to.<locals>.|convert"},
        {"bert.encoder.layer[0-3].attention.self", 24, "bert.encoder.layer[0-3].|attention.self"},
        {"/tmp/venvs/torch/nn/functional.py", 20, "/tmp/venvs/torch/nn/|functional.py"},
        {"train.py:24 > step (b.py:1)", 13, "train.py:24 >|step (b.py:1)"},
        {"at::native::sum_kernel", 12, "at::native::|sum_kernel"},
        {"torch_default_data_collator", 20, "torch_default_data_|collator"},
        {"abcdefghij", 4, "abcd|efgh|ij"},
        {"layers.10 and others", 12, "layers.10|and others"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_STR(name_lines(cases[i].name, cases[i].width), cases[i].want);
}

/* Cut, these would be one name. */
TEST(names_are_told_apart)
{
    static const char *const sites[] = {
        "Net.forward (net.py:9) > Block.forward (net.py:4) > conv2d (functional.py:45)",
        "Net.forward (net.py:9) > Block.forward (net.py:8) > conv2d (functional.py:45)",
    };
    static const struct emit_column two[] = {
        {"bytes", NULL, EMIT_BYTES, 0},
        {"site", NULL, EMIT_TEXT, EMIT_NAME},
    };
    struct emit emit;
    int result;
    emit_begin(&emit, EMIT_TABLE, false, "test", NULL);
    emit.width = 37;
    EMIT_SECTION(&emit, "x", NULL, EMIT_ROWS, two);
    for (int i = 0; i < 2; i++) {
        emit_int(&emit, 1);
        emit_text(&emit, sites[i]);
    }
    CHECK_STR(emit_case_finish(&emit, &result), "bytes  site\n"
                                                "  1 B  Net.forward (net.py:9) >\n"
                                                "       Block.forward (net.py:4) >\n"
                                                "       conv2d (functional.py:45)\n"
                                                "  1 B  Net.forward (net.py:9) >\n"
                                                "       Block.forward (net.py:8) >\n"
                                                "       conv2d (functional.py:45)\n");
}

static const char *put_above(unsigned width, size_t later)
{
    static const struct emit_column four[] = {
        {"change", NULL, EMIT_DELTA, 0},
        {"allocated before", NULL, EMIT_BYTES, 0},
        {"kind", NULL, EMIT_TEXT, EMIT_ABOVE},
        {"module", NULL, EMIT_TEXT, EMIT_NAME | EMIT_NONE | EMIT_ABOVE},
        {"call site", NULL, EMIT_TEXT, EMIT_NAME | EMIT_ROOMY},
        {"last", NULL, EMIT_COUNT, EMIT_SPARE},
    };
    struct emit emit;
    int result;
    emit_begin(&emit, EMIT_TABLE, false, "test", NULL);
    emit.width = width;
    EMIT_SECTION(&emit, "x", NULL, EMIT_ROWS, four);
    for (size_t i = 0; i < 2 + later; i++) {
        emit_int(&emit, 64 << 20);
        emit_int(&emit, i ? 0 : 3 << 10);
        emit_text(&emit, i ? "workspace" : "activation, held by the program");
        emit_text(&emit, i ? NULL : "transformer.h[0-3].mlp.act");
        emit_text(&emit, "main (train.py:12) > forward (activations.py:66)");
        emit_int(&emit, 7);
    }
    return emit_case_finish(&emit, &result);
}

/* Bytes are brief first, then texts stand above texts; nothing is left out before. */
TEST(texts_stand_above_others_where_there_is_no_room)
{
    CHECK_STR(put_above(64, 0), "        allocated\n"
                                "change     before  kind, module, call site          last\n"
                                "+64.0M       3.0K  activation, held by the program     7\n"
                                "                   transformer.h[0-3].mlp.act\n"
                                "                   main (train.py:12) >\n"
                                "                   forward (activations.py:66)\n"
                                "+64.0M          0  workspace                           7\n"
                                "                   main (train.py:12) >\n"
                                "                   forward (activations.py:66)\n");
    const char *text = put_above(64, 3000); /* rows that come when widths are settled */
    size_t rows = 0;
    for (const char *at = text; (at = strstr(at, "workspace")); at++)
        rows++;
    CHECK_INT(rows, 3001);
    text = strrchr(text, '+');
    CHECK(strcmp(text, "+64.0M          0  workspace                           7\n"
                       "                   main (train.py:12) >\n"
                       "                   forward (activations.py:66)\n") == 0);
}

TEST(a_line_is_cut_in_its_middle)
{
    static const struct {
        const char *text;
        unsigned width;
        const char *want;
    } cases[] = {
        {"forward > attention", 0, "forward > attention"},
        {"forward > attention", 19, "forward > attention"},
        {"forward > attention", 18, "forwar...attention"},
        {"forward > attention", 1, "fo...ion"},
        {"a\nb", 8, "a\\nb"},
        {"gr\xc3\xb6\xc3\x9f"
         "e in the middle",
         10, "gr\xc3\xb6...ddle"},
        {"", 9, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        emit_put_cut(&out, cases[i].text, cases[i].width);
        CHECK_STR(buf_string(&out), cases[i].want);
        buf_clear(&out);
    }
}

TEST_MAIN(TEST_CASE(a_text_of_some_lines_is_cut_at_its_end),
          TEST_CASE(commands_are_cut_unless_they_are_alike_then),
          TEST_CASE(spare_columns_go_before_texts_are_stumps),
          TEST_CASE(a_number_stays_with_its_unit), TEST_CASE(a_name_is_broken_between_its_parts),
          TEST_CASE(names_are_told_apart),
          TEST_CASE(texts_stand_above_others_where_there_is_no_room),
          TEST_CASE(a_line_is_cut_in_its_middle))
