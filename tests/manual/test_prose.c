/* What becomes of each construct of a manual's text, and that everything else is refused. */
#include "prose.h"

#include <string.h>

#include "mem.h"
#include "test.h"

/* The roff of a page that has the text below a title; "" if it was refused, then with *why. */
static const char *roff(const char *text, const char **why)
{
    static struct buf page, out, message;
    struct prose prose;
    buf_clear(&page);
    buf_clear(&out);
    buf_clear(&message);
    buf_print(&page, "# title\n%s", text);
    bool fine = prose_split(&prose, "p.md", buf_string(&page), &message);
    for (int i = 0; fine && i < prose.count; i++) {
        if (i)
            buf_print(&out, ".SH %s\n", prose.parts[i].heading);
        fine = prose_roff(&out, &prose, &prose.parts[i], &message);
    }
    CHECK(fine == (message.count == 0));
    if (why)
        *why = buf_string(&message);
    else
        CHECK_STR(buf_string(&message), "");
    return fine ? buf_string(&out) : "";
}

static const char *refusal(const char *text)
{
    const char *why;
    CHECK_STR(roff(text, &why), "");
    return why;
}

TEST(paragraphs)
{
    CHECK_STR(roff("", NULL), "");
    CHECK_STR(roff("\nOne\ntwo.\n\nThree", NULL), ".PP\nOne two.\n.PP\nThree\n");
    CHECK_STR(roff("\n## A\n\nOne\n\n## B\n\n### C\n\nTwo\n", NULL),
              ".SH A\nOne\n.SH B\n.SS C\nTwo\n");
}

TEST(lists)
{
    CHECK_STR(roff("- one\n  two\n- three\n\nfour\n", NULL),
              ".IP \\(bu 2\none two\n.IP \\(bu 2\nthree\n.PP\nfour\n");
    CHECK_STR(roff("- **a b**: text: more\n", NULL), ".TP\n\\fBa b\\fR\ntext: more\n");
    CHECK_STR(roff("- **strong** text\n", NULL), ".IP \\(bu 2\n\\fBstrong\\fR text\n");
    CHECK_STR(roff("text\n- item\n", NULL), ".PP\ntext\n.IP \\(bu 2\nitem\n");
}

TEST(code)
{
    CHECK_STR(roff("text\n\n    a\n\n      b\n\nend\n", NULL),
              ".PP\ntext\n.PP\n.RS 4\n.EX\na\n\n  b\n.EE\n.RE\n.PP\nend\n");
    CHECK_STR(roff("\n    $ x -y\n    .z 'q' \\n `b`\n", NULL),
              ".PP\n.RS 4\n.EX\n$ x \\-y\n\\&.z \\(aqq\\(aq \\en \\(gab\\(ga\n.EE\n.RE\n");
    CHECK_STR(roff("- a\n\n### B\n\n    c\n", NULL),
              ".IP \\(bu 2\na\n.SS B\n.RS 4\n.EX\nc\n.EE\n.RE\n");
    /* Four blanks within a paragraph are no code, as on the web. */
    CHECK_STR(roff("text\n    more\n", NULL), ".PP\ntext more\n");
}

/* 69 columns fit where code begins, and the block with a longer line goes to the left as a whole.
 */
TEST(wide_code)
{
    struct buf text = {0}, wanted = {0};
    for (int columns = 69; columns <= 70; columns++) {
        bool wide = columns == 70;
        buf_print(&text, "\n    %*s\n\n    \u2588%*s\n\nend\n\n    b\n", 50, "a", columns - 1, "c");
        buf_print(&wanted, ".PP\n%s\n.EX\n%*s\n\n\\[u2588]%*s\n.EE\n%s\n.PP\nend\n",
                  wide ? ".in 2n" : ".RS 4", 50, "a", columns - 1, "c", wide ? ".in" : ".RE");
        buf_text(&wanted, ".PP\n.RS 4\n.EX\nb\n.EE\n.RE\n");
        CHECK_STR(roff(buf_string(&text), NULL), buf_string(&wanted));
        buf_clear(&text);
        buf_clear(&wanted);
    }
}

/* By their numbers; what is cut in the middle is not looked at beyond its end. */
TEST(characters_beyond_ascii)
{
    CHECK_STR(roff("a \u00b7 \u2588\n", NULL), ".PP\na \\[u00B7] \\[u2588]\n");
    CHECK_STR(roff("\n    \u2840x\n", NULL), ".PP\n.RS 4\n.EX\n\\[u2840]x\n.EE\n.RE\n");
    CHECK_STR(roff("\U0001F600\n", NULL), ".PP\n\\[u1F600]\n");
}

TEST(within_lines)
{
    CHECK_STR(roff("`a*b` and **c d**\n", NULL), ".PP\n\\fBa*b\\fR and \\fBc d\\fR\n");
    CHECK_STR(roff("'q' ..x\n", NULL), ".PP\n\\(aqq\\(aq ..x\n");
    CHECK_STR(roff(".x\n", NULL), ".PP\n\\&.x\n");
    CHECK_STR(roff("2 * 3\n", NULL), ".PP\n2 * 3\n");
    CHECK_STR(
        roff("[tidemark-why](why.md), [it](../fit.md#top), [s](../../schema/README.md)\n", NULL),
        ".PP\n\\fB\\%tidemark\\-why\\fR(1), it (docs/fit.md), s (schema/README.md)\n");
    CHECK_STR(roff("[web](https://example.org/a.md) [here](#x)\n", NULL), ".PP\nweb here\n");
}

TEST(long_lines_are_broken)
{
    const char *text = roff("aaaaaaaaa bbbbbbbbb ccccccccc ddddddddd eeeeeeeee fffffffff ggggggggg "
                            "hhhhhhhhh .iiii\n",
                            NULL);
    CHECK_STR(text, ".PP\naaaaaaaaa bbbbbbbbb ccccccccc ddddddddd eeeeeeeee fffffffff ggggggggg "
                    "hhhhhhhhh\n\\&.iiii\n");
}

TEST(what_is_refused)
{
    static const char *const strange[] = {"```\nx\n```\n", "| a | b |\n", "> q\n", "* item\n",
                                          "1. one\n",      "#### deep\n", "<b>\n", "+ item\n"};
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
        CHECK_STR(refusal(strange[i]), "p.md:2: is nothing that viewer-cli/manual/prose.h knows");
    static const char *const open[] = {"`a\n", "**a\n", "[a\n", "[a](b\n", "*a*\n", "- **a: b\n"};
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        CHECK_STR(refusal(open[i]),
                  "p.md:2: above, a `, ** or [ is not closed, or a * stands alone");
    CHECK_STR(refusal("a\n\n## x\n\ny `\n\nz\n"),
              "p.md:6: above, a `, ** or [ is not closed, or a * stands alone");
    CHECK_STR(refusal("- a\n\n    code\n"),
              "p.md:4: code right behind a list: on the web it would be text of the list");
}

TEST(what_cannot_be_split)
{
    struct prose prose;
    struct buf message = {0}, many = {0};
    CHECK(!prose_split(&prose, "p.md", "text\n", &message));
    CHECK_STR(buf_string(&message), "p.md:1: the first line is to be '# ' and the title");
    buf_clear(&message);
    CHECK(!prose_split(&prose, "p.md",
                       "# t\n## a heading of more than forty-seven letters, which is too many\n",
                       &message));
    CHECK_STR(buf_string(&message), "p.md:2: the heading is too long");
    buf_clear(&message);
    buf_text(&many, "# t\n");
    for (int i = 0; i < PROSE_PARTS; i++)
        buf_print(&many, "## h%d\n", i);
    CHECK(!prose_split(&prose, "p.md", buf_string(&many), &message));
    CHECK_STR(buf_string(&message), "p.md:25: too many headings");
    buf_clear(&message);
    buf_clear(&many);
}

TEST(parts_are_found)
{
    struct prose prose;
    struct buf message = {0};
    REQUIRE(prose_split(&prose, "p.md", "# t\nfirst\n## One\na\n## Two\nb", &message));
    CHECK_INT(prose.count, 3);
    CHECK_INT(prose_find(&prose, "")->line, 2);
    CHECK_INT(prose_find(&prose, "Two")->line, 6);
    CHECK_INT(prose_find(&prose, "Two")->length, 1);
    CHECK(!prose_find(&prose, "Three"));
    REQUIRE(prose_split(&prose, "p.md", "# t", &message));
    CHECK_INT(prose.count, 1);
    CHECK_INT(prose.parts[0].length, 0);
    buf_clear(&message);
}

TEST(help_texts)
{
    struct buf out = {0};
    roff_help(&out, "One.\n\nTwo:\n\n  # code\n  .x\n\nThree");
    CHECK_STR(buf_string(&out), ".PP\nOne.\n.PP\nTwo:\n.PP\n.RS 4\n.EX\n# code\n\\&.x\n.EE\n.RE\n"
                                ".PP\nThree\n");
    buf_clear(&out);
    roff_help(&out, "a\nb\n");
    CHECK_STR(buf_string(&out), ".PP\na\nb\n");
    buf_clear(&out);
}

/* Without memory the text is broken and says so; nothing is lost or read twice. */
TEST(without_memory)
{
    static const char text[] = "# t\na `b` **c** [d](e.md)\n\n- **f**: g\n\n## H\n\n    i\n";
    int came_through = 0;
    for (int n = 1; n < 60 && !came_through; n++) {
        struct prose prose;
        struct buf out = {0}, message = {0};
        mem_fail_after(n);
        bool fine = prose_split(&prose, "p.md", text, &message);
        for (int i = 0; fine && i < prose.count; i++)
            fine = prose_roff(&out, &prose, &prose.parts[i], &message);
        mem_fail_after(0);
        came_through = fine && !out.broken;
        buf_clear(&out);
        buf_clear(&message);
    }
    CHECK(came_through);
}

TEST_MAIN(TEST_CASE(paragraphs), TEST_CASE(lists), TEST_CASE(code), TEST_CASE(wide_code),
          TEST_CASE(characters_beyond_ascii), TEST_CASE(within_lines),
          TEST_CASE(long_lines_are_broken), TEST_CASE(what_is_refused),
          TEST_CASE(what_cannot_be_split), TEST_CASE(parts_are_found), TEST_CASE(help_texts),
          TEST_CASE(without_memory))
