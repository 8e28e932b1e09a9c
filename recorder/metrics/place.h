/*
 * place.h - where the metrics go: a file, a Unix socket, or a port of this machine alone.
 */
#ifndef TIDEMARK_RECORDER_PLACE_H
#define TIDEMARK_RECORDER_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "buf.h"

enum place_kind { PLACE_FILE, PLACE_UNIX, PLACE_PORT };

struct place {
    enum place_kind kind;
    char path[PATH_MAX]; /* of a file or a socket */
    bool six;            /* a port of [::1], else of 127.0.0.1 */
    uint16_t port;       /* 0: a free one */
};

/* FILE, unix:PATH, 127.0.0.1:PORT, localhost:PORT or [::1]:PORT. Other machines' addresses, and
 * ports that all of them could reach, are refused: ERR_ARG, and *why says it for a person. */
int place_read(struct place *place, const char *text, struct buf *why);

#endif
