#include "junit.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "emit_text.h"

/* The characters of XML 1.0. A line feed in an attribute would come back as a blank. */
static bool is_allowed(uint32_t code)
{
    return code == '\t' || code == '\n' || (code >= 0x20 && code < 0xd800) ||
           (code >= 0xe000 && code < 0xfffe) || (code >= 0x10000 && code < 0x110000);
}

static void put_text(struct buf *out, const char *text)
{
    size_t bytes = strlen(text);
    for (size_t at = 0, n; at < bytes; at += n) {
        uint32_t code = 0;
        n = emit_utf8(text + at, bytes - at, &code);
        if (n == 0 || !is_allowed(code)) {
            buf_text(out, "\xef\xbf\xbd");
            n = n ? n : 1;
        } else if (code == '&') {
            buf_text(out, "&amp;");
        } else if (code == '<') {
            buf_text(out, "&lt;");
        } else if (code == '>') {
            buf_text(out, "&gt;");
        } else if (code == '"') {
            buf_text(out, "&quot;");
        } else if (code == '\n' || code == '\t') {
            buf_print(out, "&#%u;", (unsigned)code);
        } else {
            buf_add(out, text + at, n);
        }
    }
}

static void put_attribute(struct buf *out, const char *name, const char *value)
{
    buf_print(out, " %s=\"", name);
    put_text(out, value);
    buf_text(out, "\"");
}

static void put_element(struct buf *out, const char *element, const char *message)
{
    buf_print(out, "\n      <%s", element);
    put_attribute(out, "message", message);
    buf_text(out, "/>\n    ");
}

static void put_case(struct buf *out, const struct junit_case *one)
{
    const char *message = one->message ? one->message : "";
    buf_text(out, "    <testcase");
    put_attribute(out, "classname", one->group);
    put_attribute(out, "name", one->name);
    buf_text(out, ">");
    if (one->result == JUNIT_FAILED) {
        put_element(out, "failure", message);
    } else if (one->result == JUNIT_SKIPPED) {
        put_element(out, "skipped", message);
    } else {
        buf_text(out, "\n      <system-out>");
        put_text(out, message);
        buf_text(out, "</system-out>\n    ");
    }
    buf_text(out, "</testcase>\n");
}

void junit_put(struct buf *out, const char *suite, const struct junit_case *cases, size_t count)
{
    size_t failed = 0, skipped = 0;
    for (size_t i = 0; i < count; i++) {
        failed += cases[i].result == JUNIT_FAILED;
        skipped += cases[i].result == JUNIT_SKIPPED;
    }
    buf_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite");
    put_attribute(out, "name", suite);
    buf_print(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n", count, failed,
              skipped);
    for (size_t i = 0; i < count; i++)
        put_case(out, &cases[i]);
    buf_text(out, "  </testsuite>\n</testsuites>\n");
}
