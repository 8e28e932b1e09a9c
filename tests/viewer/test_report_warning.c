/* A report's list of warnings: they come in any order and are printed in one. */
#include "report_warning.h"

#include <string.h>

#include "error.h"
#include "mem.h"
#include "report_parts.h"
#include "test.h"

static void begin(struct report *report)
{
    *report = (struct report){.path = NULL};
    emit_begin(&report->emit, EMIT_JSON, true, "peak", NULL);
}

static void end(struct report *report)
{
    emit_drop(&report->emit);
    mem_free(report->warnings.list);
}

static void notice(struct report *report, enum report_warning_kind kind)
{
    const struct report_warning warning = {.kind = kind};
    report_notice(report, &warning);
}

/* The first words of the notes, in their order. */
static void check_notes(const struct report *report, const char *const *words, size_t count)
{
    const char *at = buf_string(&report->emit.notes);
    for (size_t i = 0; i < count; i++) {
        CHECK(strncmp(at, words[i], strlen(words[i])) == 0);
        at += strcspn(at, "\n") + 1;
    }
    CHECK_INT(*at, '\0');
}

TEST(the_order_is_that_of_the_kinds)
{
    static const char *const words[] = {
        "wrehearsed",     "wso it is in",        "wprocess 7: CUPTI gap", "wprocess 8: CUPTI gap",
        "nof the report", "wprocess 0: backend", "wthis moment"};
    struct report report;
    begin(&report);
    emit_warning(&report.emit, "rehearsed");
    report.first_notes = report.emit.notes.count;
    notice(&report, WARNING_THINNED_HERE);
    for (int64_t process = 7; process <= 8; process++)
        report_notice(
            &report, &(struct report_warning){.kind = WARNING_UNHEARD, .unheard.process = process});
    emit_note(&report.emit, "of the report");
    notice(&report, WARNING_UNSEEN);
    notice(&report, WARNING_MISSED_MORE);
    CHECK_INT(report_put_warnings(&report), 0);
    check_notes(&report, words, sizeof words / sizeof *words);
    end(&report);
}

TEST(of_two_reports_each_line_has_its_path)
{
    static const char *const words[] = {"wa.db: this moment", "wb.db: this moment"};
    static char a[] = "a.db", b[] = "b.db";
    struct report report, other;
    begin(&report);
    begin(&other);
    report.path = a;
    other.path = b;
    report.beside = &other;
    other.beside = &report;
    notice(&other, WARNING_THINNED_HERE);
    notice(&report, WARNING_THINNED_HERE);
    CHECK_INT(report_put_warnings(&report), 0);
    check_notes(&report, words, 2);
    end(&report);
    end(&other);
}

TEST(what_was_noticed)
{
    const struct report_warning *last;
    struct report report;
    begin(&report);
    CHECK_INT(report_noticed(&report, WARNING_UNHEARD, &last), 0);
    for (int64_t process = 1; process <= 3; process++)
        report_notice(
            &report, &(struct report_warning){.kind = WARNING_UNHEARD, .unheard.process = process});
    notice(&report, WARNING_LOST);
    CHECK_INT(report_noticed(&report, WARNING_UNHEARD, &last), 3);
    CHECK_INT(last->unheard.process, 3);
    end(&report);
}

/* A warning that found no memory is an error, never left out. */
TEST(without_memory)
{
    struct report report;
    for (long nth = 1; nth <= 40; nth++) {
        begin(&report);
        mem_fail_after(nth);
        notice(&report, WARNING_THINNED_HERE);
        int err = report_put_warnings(&report);
        bool whole = !report.emit.notes.broken;
        mem_fail_after(0);
        CHECK(err == 0 || err == ERR_NOMEM);
        CHECK(err < 0 || !whole || report.emit.notes.count > 0);
        end(&report);
    }
}

TEST_MAIN(TEST_CASE(the_order_is_that_of_the_kinds),
          TEST_CASE(of_two_reports_each_line_has_its_path), TEST_CASE(what_was_noticed),
          TEST_CASE(without_memory))
