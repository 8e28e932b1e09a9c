#include "request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct span {
    const char *at;
    size_t bytes;
};

static bool is_word(struct span span, const char *word)
{
    return span.bytes == strlen(word) && strncasecmp(span.at, word, span.bytes) == 0;
}

static struct span trim(struct span span)
{
    while (span.bytes && (*span.at == ' ' || *span.at == '\t'))
        span.at++, span.bytes--;
    while (span.bytes && strchr(" \t\r", span.at[span.bytes - 1]))
        span.bytes--;
    return span;
}

/* The part before the mark; *rest is what is behind it, or empty. */
static struct span split(struct span span, char mark, struct span *rest)
{
    const char *end = span.bytes ? memchr(span.at, mark, span.bytes) : NULL;
    if (!end) {
        *rest = (struct span){span.at + span.bytes, 0};
        return span;
    }
    size_t bytes = (size_t)(end - span.at);
    *rest = (struct span){end + 1, span.bytes - bytes - 1};
    return (struct span){span.at, bytes};
}

/* ---- Accept ---- */

/* In thousandths; what is no number between 0 and 1 is 1, as if it were not there. */
static int weight_of(struct span value)
{
    char text[8];
    char *end;
    snprintf(text, sizeof text, "%.*s", (int)(value.bytes < 7 ? value.bytes : 7), value.at);
    double weight = strtod(text, &end);
    return end != text && weight >= 0 && weight <= 1 ? (int)(weight * 1000 + 0.5) : 1000;
}

struct wanted { /* thousandths; -1 = not named */
    int metrics, text, any;
};

static void take_range(struct wanted *wanted, struct span range)
{
    struct span rest, version = {"", 0};
    struct span type = trim(split(range, ';', &rest));
    int weight = 1000;
    while (rest.bytes) {
        struct span value, part = trim(split(rest, ';', &rest));
        struct span name = trim(split(part, '=', &value));
        if (is_word(name, "q"))
            weight = weight_of(trim(value));
        else if (is_word(name, "version"))
            version = trim(value);
    }
    bool metrics = is_word(type, "application/openmetrics-text");
    int *own = metrics                                           ? &wanted->metrics
               : is_word(type, "text/plain")                     ? &wanted->text
               : is_word(type, "text/*") || is_word(type, "*/*") ? &wanted->any
                                                                 : NULL;
    const char *ours = metrics ? "1.0.0" : "0.0.4";
    if (own && (!version.bytes || is_word(version, ours)) && weight > *own)
        *own = weight;
}

enum exposition request_accepts(const char *accept, size_t bytes)
{
    struct wanted wanted = {-1, -1, -1};
    struct span rest = {accept, bytes};
    while (rest.bytes)
        take_range(&wanted, split(rest, ',', &rest));
    int text = wanted.text >= 0 ? wanted.text : wanted.any;
    return wanted.metrics > 0 && wanted.metrics >= text ? EXPOSITION_OPENMETRICS : EXPOSITION_TEXT;
}

/* ---- the request ---- */

/* Behind the empty line that ends the headers; NULL: it has not come. */
static const char *end_of_head(const char *bytes, size_t count)
{
    for (const char *at = bytes; (at = memchr(at, '\n', (size_t)(bytes + count - at))); at++) {
        size_t left = (size_t)(bytes + count - at);
        if (left > 1 && at[1] == '\n')
            return at + 2;
        if (left > 2 && at[1] == '\r' && at[2] == '\n')
            return at + 3;
    }
    return NULL;
}

static int status_of(struct span line, struct request *out)
{
    struct span method, target, version, query;
    method = split(line, ' ', &line);
    target = split(line, ' ', &line);
    version = trim(line);
    if (!method.bytes || !target.bytes || version.bytes < 5 || strncmp(version.at, "HTTP/", 5) != 0)
        return 400;
    if (!is_word(version, "HTTP/1.1") && !is_word(version, "HTTP/1.0"))
        return 505;
    out->head = method.bytes == 4 && memcmp(method.at, "HEAD", 4) == 0;
    if (!is_word(split(target, '?', &query), "/metrics"))
        return 404;
    return out->head || (method.bytes == 3 && memcmp(method.at, "GET", 3) == 0) ? 200 : 405;
}

/* All lines that say Accept count as one. */
static enum exposition form_of(struct span lines)
{
    char accept[REQUEST_MAX];
    size_t used = 0;
    while (lines.bytes) {
        struct span value, line = split(lines, '\n', &lines);
        struct span name = split(line, ':', &value);
        if (!is_word(name, "Accept") || used + value.bytes + 1 > sizeof accept)
            continue;
        value = trim(value);
        memcpy(accept + used, value.at, value.bytes);
        used += value.bytes;
        accept[used++] = ',';
    }
    return request_accepts(accept, used);
}

bool request_read(const char *bytes, size_t count, struct request *out)
{
    const char *end = end_of_head(bytes, count);
    *out = (struct request){.status = 431};
    if (!end)
        return count >= REQUEST_MAX;
    struct span lines = {bytes, (size_t)(end - bytes)}, line = split(lines, '\n', &lines);
    out->status = memchr(bytes, 0, (size_t)(end - bytes)) ? 400 : status_of(line, out);
    out->form = form_of(lines);
    return true;
}

/* ---- the answer ---- */

static const char *words_of(int status)
{
    return status == 200   ? "OK"
           : status == 404 ? "Not Found"
           : status == 405 ? "Method Not Allowed"
           : status == 431 ? "Request Header Fields Too Large"
           : status == 505 ? "HTTP Version Not Supported"
                           : "Bad Request";
}

const char *request_refusal(int status)
{
    return status == 404   ? "The metrics of this recording are at /metrics\n"
           : status == 405 ? "GET and HEAD only\n"
           : status == 431 ? "The request is longer than 8192 bytes\n"
           : status == 505 ? "HTTP/1.0 and HTTP/1.1 only\n"
                           : "This is no request of HTTP\n";
}

size_t request_answer(const struct request *request, size_t body, char *head)
{
    const char *type =
        request->status == 200 ? exposition_type(request->form) : "text/plain; charset=utf-8";
    int bytes = snprintf(head, REQUEST_HEAD_MAX,
                         "HTTP/1.1 %d %s\r\n"
                         "Content-Type: %s\r\n"
                         "Content-Length: %zu\r\n"
                         "%s"
                         "Cache-Control: no-store\r\n"
                         "X-Content-Type-Options: nosniff\r\n"
                         "Connection: close\r\n\r\n",
                         request->status, words_of(request->status), type, body,
                         request->status == 405 ? "Allow: GET, HEAD\r\n" : "");
    return (size_t)bytes;
}
