/* settings.c - see settings.h. */
#include "settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

#define DEVICES_MAX 64

static bool read_number(const char *text, int64_t least, int64_t most, int64_t *number)
{
    char *end;
    int64_t value = strtoll(text, &end, 10);
    if (end == text || *end || value < least || value > most)
        return false;
    *number = value;
    return true;
}

/* One "name=value", with a NUL behind it. */
static int read_word(char *word, struct settings *settings, char *why, size_t room)
{
    int64_t number;
    if (strncmp(word, "gpu=", 4) == 0)
        return profile_read(word + 4, &settings->gpu, why, room);
    if (strncmp(word, "devices=", 8) == 0 && read_number(word + 8, 0, DEVICES_MAX, &number)) {
        settings->devices = (int32_t)number;
    } else if (strncmp(word, "memory=", 7) == 0 && read_number(word + 7, 1, INT64_MAX, &number)) {
        settings->gpu.memory = (uint64_t)number;
    } else if (strncmp(word, "context=", 8) == 0 && read_number(word + 8, 0, INT64_MAX, &number)) {
        settings->context = (uint64_t)number;
        settings->context_said = true;
    } else if (strncmp(word, "cuda=", 5) == 0 && read_number(word + 5, 12, 13, &number)) {
        settings->cuda = (int32_t)number;
    } else {
        snprintf(why, room, "'%s' is not a setting of a rehearsal", word);
        return ERR_ARG;
    }
    return BASE_OK;
}

int settings_read(const char *text, struct settings *settings, char *why, size_t room)
{
    char copy[SETTINGS_TEXT_MAX], *rest = copy, *word;
    *settings = (struct settings){.devices = 1};
    if (strlen(text) >= sizeof copy) {
        snprintf(why, room, "the settings are longer than %zu bytes", sizeof copy - 1);
        return ERR_ARG;
    }
    memcpy(copy, text, strlen(text) + 1);
    while ((word = strsep(&rest, ";")) != NULL) {
        int err = *word ? read_word(word, settings, why, room) : BASE_OK;
        if (err)
            return err;
    }
    if (!settings->gpu.capability) {
        snprintf(why, room, "gpu= is missing");
        return ERR_ARG;
    }
    if (!settings->context_said)
        settings->context = settings->gpu.context;
    if (settings->context > settings->gpu.memory)
        settings->context = settings->gpu.memory;
    return BASE_OK;
}

/* Puts more of the text behind the first `n` bytes. False: no room. */
static bool put(char *text, size_t room, size_t *n, const char *word, uint64_t value)
{
    int more = snprintf(text + *n, room - *n, ";%s=%" PRIu64, word, value);
    bool fits = more > 0 && (size_t)more < room - *n;
    *n += fits ? (size_t)more : 0;
    return fits;
}

bool settings_write(const struct settings *settings, char *text, size_t room)
{
    int head = snprintf(text, room, "gpu=%s", settings->gpu.name);
    size_t n = head > 0 ? (size_t)head : room;
    return n < room && put(text, room, &n, "memory", settings->gpu.memory) &&
           put(text, room, &n, "devices", (uint64_t)settings->devices) &&
           (!settings->context_said || put(text, room, &n, "context", settings->context)) &&
           (!settings->cuda || put(text, room, &n, "cuda", (uint64_t)settings->cuda));
}
