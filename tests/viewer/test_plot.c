/*
 * Pictures of random timelines, at many sizes: they fit, they hold only letters that they may, and
 * what must be read off them is there.
 */
#include "plot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit_parts.h"
#include "mem.h"
#include "plot_canvas.h"
#include "plot_parts.h"
#include "screen.h"
#include "test.h"

static uint64_t seed = 1;

static int64_t any(uint64_t below)
{
    return (int64_t)(test_random(&seed) % below);
}

/* ---- a timeline of nothing in particular ---- */

static void fill_column(struct course *course, unsigned i, int64_t most)
{
    struct course_column *column = &course->columns[i];
    int64_t value = i > 0 ? column[-1].last : any((uint64_t)most);
    *column = (struct course_column){.from_ns = i * 1000000ll,
                                     .until_ns = (i + 1) * 1000000ll,
                                     .first = value,
                                     .last = any((uint64_t)most),
                                     .reserved_min = COURSE_NONE,
                                     .reserved_max = COURSE_NONE,
                                     .step = COURSE_NONE};
    column->min = column->first < column->last ? column->first : column->last;
    column->max = column->first + column->last - column->min + any((uint64_t)most / 8 + 1);
    column->min -= column->min ? any((uint64_t)column->min) : 0;
    column->kind = (enum course_kind)any(COURSE_KINDS);
    column->mixed = any(10) == 0;
    column->pause = any(30) == 0;
    column->parted = any(4) == 0;
    if (any(6) == 0)
        column->step = (int64_t)course->steps++;
    if (course->reserved_known)
        column->reserved_min = column->reserved_max = column->max + any((uint64_t)most / 4 + 1);
    for (int64_t left = column->max, k = 0; k < PURPOSES && course->categories; k++) {
        column->bytes[k] = k + 1 == PURPOSES ? left : any((uint64_t)left + 1);
        left -= column->bytes[k];
    }
}

static void make_course(struct course *course, unsigned columns, int64_t most)
{
    *course = (struct course){.count = columns,
                              .exact = true,
                              .categories = any(3) == 0,
                              .by_events = any(3) == 0,
                              .reserved_known = any(2) == 0,
                              .peak_step = any(2) ? COURSE_NONE : 7,
                              .reserved_peak = COURSE_NONE,
                              .until_ns = columns * 1000000ll,
                              .first_seq = 1,
                              .last_seq = 1 + any(100000)};
    course->columns = mem_alloc(columns, sizeof *course->columns);
    REQUIRE(course->columns != NULL);
    for (unsigned i = 0; i < columns; i++) {
        fill_column(course, i, most);
        course->kinds[course->columns[i].kind] = true;
        if (course->columns[i].max > course->peak) {
            course->peak = course->columns[i].max;
            course->peak_at = i;
        }
        if (course->columns[i].reserved_max > course->reserved_peak)
            course->reserved_peak = course->columns[i].reserved_max;
    }
    CHECK(course_is_valid(course));
}

/* ---- what a terminal makes of it ---- */

/* Columns of a line, without what sets colours. */
static unsigned width_of(const char *line, size_t bytes, bool *coloured, bool *beyond_ascii)
{
    unsigned width = 0;
    for (size_t i = 0; i < bytes;) {
        uint32_t code;
        if (line[i] == '\033') {
            size_t n = strspn(line + i + 2, "0123456789;");
            CHECK(line[i + 1] == '[' && line[i + 2 + n] == 'm');
            *coloured = true;
            i += n + 3;
            continue;
        }
        size_t n = emit_utf8(line + i, bytes - i, &code);
        REQUIRE(n > 0);
        *beyond_ascii = *beyond_ascii || code >= 0x80;
        width += emit_columns_of(line + i, n);
        i += n;
    }
    return width;
}

static void check_lines(const struct buf *text, const struct plot_style *style)
{
    bool coloured = false, beyond = false;
    unsigned lines = 0;
    for (const char *at = buf_string(text), *end; *at; at = end + 1, lines++) {
        end = strchr(at, '\n');
        REQUIRE(end != NULL);
        CHECK(width_of(at, (size_t)(end - at), &coloured, &beyond) <= style->width);
        CHECK(end == at || end[-1] != ' ');
    }
    CHECK(coloured == style->colour);
    CHECK(style->utf8 || !beyond);
    CHECK(lines >= style->rows + 4);
    CHECK(lines <= style->rows + (style->width < 80 ? 17 : 11));
}

TEST(pictures_fit)
{
    for (int round = 0; round < 300; round++) {
        unsigned width = 40 + (unsigned)any(180), height = 10 + (unsigned)any(60);
        struct plot_style style = plot_style_for(width, height, 1 + (unsigned)any(3));
        struct course course;
        struct buf text = {0};
        style.utf8 = any(2);
        style.colour = any(2);
        make_course(&course, plot_columns(&style), (int64_t)1 << any(44));
        course.peak_path = style.utf8 && any(2) ? mem_copy("backward > \xc3\xa9tape", 16) : NULL;
        plot_timeline(&course, &style, &text);
        REQUIRE(!text.broken);
        check_lines(&text, &style);
        CHECK(strstr(buf_string(&text), "peak ") != NULL);
        CHECK(strstr(buf_string(&text), style.utf8 ? "\u25bc" : "v") != NULL);
        CHECK((strstr(buf_string(&text), "reserved") != NULL) == course.reserved_known);
        buf_clear(&text);
        course_clear(&course);
    }
}

TEST(one_plot_fits_its_screen)
{
    for (unsigned height = 18; height < 80; height++) {
        struct plot_style style = plot_style_for(80, height, 1);
        CHECK(style.rows + 11 <= height);
        CHECK(style.rows <= 32);
        CHECK_INT(plot_columns(&style), 69);
    }
    CHECK(plot_style_for(20, 10, 5).width == 40);
    CHECK(plot_columns(&(struct plot_style){.width = 5000}) == COURSE_COLUMNS_MAX);
}

/* The highest column reaches the upper edge, and nothing is above another's height. */
TEST(heights_are_those_of_the_values)
{
    struct plot_style style = {.width = 80, .rows = 10, .utf8 = true};
    struct course course = {.count = 4, .exact = true, .peak = 1000, .peak_step = COURSE_NONE};
    struct buf text = {0};
    static const int64_t values[] = {1000, 500, 0, 1};
    course.peak_at = 0;
    course.reserved_peak = COURSE_NONE;
    course.columns = mem_alloc(4, sizeof *course.columns);
    REQUIRE(course.columns != NULL);
    for (unsigned i = 0; i < 4; i++) {
        course.columns[i] = (struct course_column){.from_ns = i, .until_ns = i + 1};
        course.columns[i].first = course.columns[i].min = values[i];
        course.columns[i].last = course.columns[i].max = values[i];
        course.columns[i].step = course.columns[i].reserved_max = COURSE_NONE;
        course.columns[i].kind = COURSE_FORWARD;
    }
    plot_timeline(&course, &style, &text);
    const char *at = strchr(buf_string(&text), '\n') + 1;
    for (unsigned row = 0; row < 10; row++, at = strchr(at, '\n') + 1) {
        const char *plot = strstr(
            at, row == 0 || strstr(at, "\u2524") < strchr(at, '\n') ? "\u2588" : "\u2502\u2588");
        CHECK(plot != NULL);
        size_t bytes = (size_t)(strchr(at, '\n') - at);
        char line[200];
        snprintf(line, sizeof line, "%.*s", (int)bytes, at);
        CHECK(strstr(line, row < 5 ? "\u2588" : "\u2588\u2588") != NULL);
        CHECK((strstr(line, "\u2588\u2588") != NULL) == (row >= 5));
        CHECK((strstr(line, "\u2581") != NULL) == (row == 9));
    }
    buf_clear(&text);
    course_clear(&course);
}

/* ---- the canvas ---- */

TEST(what_is_outside_is_not_there)
{
    struct canvas canvas;
    struct buf text = {0};
    struct canvas_pen red = {CANVAS_RED, CANVAS_PLAIN, false};
    REQUIRE(canvas_make(&canvas, 6, 2));
    canvas_put(&canvas, 6, 0, "x", red);
    canvas_put(&canvas, 0, 2, "x", red);
    CHECK_INT(canvas_text(&canvas, 4, 0, "long", CANVAS_PEN_PLAIN), 8);
    canvas_put(&canvas, 1, 1, "\xff", red);
    canvas_text(&canvas, 2, 1, "\xe4\xb8\xad", CANVAS_PEN_PLAIN);
    CHECK(canvas_is_valid(&canvas));
    CHECK(canvas_is_blank(&canvas, 0, 0, 4));
    CHECK(!canvas_is_blank(&canvas, 0, 0, 5));
    CHECK(!canvas_is_blank(&canvas, 0, 0, 7));
    canvas_print(&canvas, false, &text);
    CHECK_STR(buf_string(&text), "    lo\n ??\n");
    buf_clear(&text);
    canvas_print(&canvas, true, &text);
    CHECK_STR(buf_string(&text), "    lo\n \033[0;31m?\033[0m?\n");
    buf_clear(&text);
    canvas_clear(&canvas);
}

TEST(names_cannot_steer_the_terminal)
{
    struct canvas canvas;
    struct buf text = {0};
    REQUIRE(canvas_make(&canvas, 20, 1));
    canvas_text(&canvas, 0, 0, "a\033[31mb\n\x7f", CANVAS_PEN_PLAIN);
    canvas_print(&canvas, true, &text);
    CHECK_STR(buf_string(&text), "a\\x1b[31mb\\n\\x7f\n");
    buf_clear(&text);
    canvas_clear(&canvas);
}

TEST(the_environment_says_how_large)
{
    setenv("COLUMNS", "133", 1);
    setenv("LINES", "51", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("TERM", "xterm", 1);
    struct screen screen = screen_look();
    CHECK_INT(screen.width, 133);
    CHECK_INT(screen.height, 51);
    CHECK(screen.utf8);
    setenv("TERM", "dumb", 1);
    CHECK(!screen_look().utf8);
    CHECK(!screen_look().terminal);
    setenv("TERM", "xterm", 1);
    setenv("LC_ALL", "C", 1);
    setenv("COLUMNS", "nonsense", 1);
    setenv("LINES", "-1", 1);
    screen = screen_look();
    CHECK(!screen.utf8);
    CHECK(screen.width >= 20 && screen.height >= 10);
}

/* Kinds that stand side by side in a bar of one screen. */
TEST(kinds_have_colours_of_their_own)
{
    for (int a = 0; a < PURPOSES; a++)
        for (int b = a + 1; b < PURPOSES; b++)
            CHECK(plot_category_inks[a].colour != plot_category_inks[b].colour);
    for (int a = 1; a < PURPOSES; a++)
        CHECK(canvas_code(plot_category_inks[a].colour) % 10 !=
              canvas_code(plot_category_inks[a - 1].colour) % 10);
    CHECK_INT(canvas_code(CANVAS_RED), 31);
    CHECK_INT(canvas_code(CANVAS_GREY), 90);
    CHECK_INT(canvas_code(CANVAS_BRIGHT_CYAN), 96);
}

TEST_MAIN(TEST_CASE(pictures_fit), TEST_CASE(one_plot_fits_its_screen),
          TEST_CASE(heights_are_those_of_the_values), TEST_CASE(what_is_outside_is_not_there),
          TEST_CASE(names_cannot_steer_the_terminal), TEST_CASE(the_environment_says_how_large),
          TEST_CASE(kinds_have_colours_of_their_own))
