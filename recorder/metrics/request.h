/*
 * request.h - what a client of the metrics wants: as much of HTTP/1 as Prometheus, curl and a
 * browser use. Bytes in, an answer's status out; no socket here.
 */
#ifndef TIDEMARK_RECORDER_REQUEST_H
#define TIDEMARK_RECORDER_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "exposition.h"

#define REQUEST_MAX ((size_t)8192)
#define REQUEST_HEAD_MAX ((size_t)512) /* of an answer */

struct request {
    int status; /* of the answer: 200, 400, 404, 405, 431 or 505 */
    bool head;  /* the answer has no body */
    enum exposition form;
};

/* False: its end has not come yet. With REQUEST_MAX bytes and no end it is refused. */
bool request_read(const char *bytes, size_t count, struct request *out);

/* The form that an Accept header asks for; it may be NULL. OpenMetrics is sent only where it is
 * named, and not where the older text is wanted more. */
enum exposition request_accepts(const char *accept, size_t bytes);

/* What is said instead of the metrics, by a status that is not 200. */
const char *request_refusal(int status);
/* Status line and headers, into head[REQUEST_HEAD_MAX]; returns their length. `body`: bytes that
 * follow, or would follow a GET. */
size_t request_answer(const struct request *request, size_t body, char *head);

#endif
