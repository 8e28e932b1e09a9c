#include "place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "error.h"

#define UNIX "unix:"
#define HERE "127.0.0.1"

static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == 0;
}

static int refuse(struct buf *why, const char *text, const char *what)
{
    buf_print(why, "--metrics %s: %s", text, what);
    return ERR_ARG;
}

static int read_socket(struct place *place, const char *text, struct buf *why)
{
    const char *path = text + strlen(UNIX);
    const size_t most = sizeof((struct sockaddr_un *)0)->sun_path - 1;
    if (!*path)
        return refuse(why, text, "the name of the socket is missing: unix:PATH");
    if (strlen(path) > most) {
        buf_print(why, "--metrics %s: the name of a socket has %zu bytes at most", text, most);
        return ERR_ARG;
    }
    place->kind = PLACE_UNIX;
    snprintf(place->path, sizeof place->path, "%s", path);
    return BASE_OK;
}

static int read_port(struct place *place, const char *text, const char *colon, struct buf *why)
{
    size_t host = (size_t)(colon - text);
    long port = strlen(colon + 1) < 6 ? strtol(colon + 1, NULL, 10) : 65536;
    bool four = (host == strlen(HERE) && memcmp(text, HERE, host) == 0) ||
                (host == 9 && memcmp(text, "localhost", 9) == 0);
    place->kind = PLACE_PORT;
    place->six = host == 5 && memcmp(text, "[::1]", 5) == 0;
    if (port > 65535)
        return refuse(why, text, "a port is a number up to 65535");
    place->port = (uint16_t)port;
    if (four || place->six)
        return BASE_OK;
    buf_print(why,
              "--metrics %s: metrics are shown to this machine only: " HERE ":%ld, or unix:PATH",
              text, port);
    return ERR_ARG;
}

int place_read(struct place *place, const char *text, struct buf *why)
{
    const char *colon = strrchr(text, ':');
    *place = (struct place){.kind = PLACE_FILE};
    if (strncmp(text, UNIX, strlen(UNIX)) == 0)
        return read_socket(place, text, why);
    if (strstr(text, "://"))
        return refuse(why, text, "an address is " HERE ":PORT; the metrics are at /metrics there");
    if (is_number(text))
        return refuse(why, text, "a port is " HERE ":PORT, and a file of that name ./NAME");
    if (colon && is_number(colon + 1) && !strchr(text, '/'))
        return read_port(place, text, colon, why);
    if (!*text || strlen(text) >= sizeof place->path - 32)
        return refuse(why, text,
                      *text ? "the name of the file is too long"
                            : "FILE, unix:PATH or " HERE ":PORT");
    snprintf(place->path, sizeof place->path, "%s", text);
    return BASE_OK;
}
