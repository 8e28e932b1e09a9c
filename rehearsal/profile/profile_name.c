/*
 * profile_name.c - a GPU by its name. Only letters and digits count, and not their case, so that
 * "RTX 4090", "rtx4090" and what nvidia-smi prints all find rtx-4090. A name that is only near, as
 * "a100" or "l40" is, is never taken for another card: the nearest are named instead.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "profile_read.h"

#define KEY_MAX PROFILE_TITLE_MAX
#define NEAR_MOST 6
#define NEAR_LEAST 2 /* letters: what is shorter is near to everything */

struct key {
    char text[KEY_MAX];
};

static struct key key_of(const char *text)
{
    static const char *const brands[] = {"nvidia", "geforce", "tesla"};
    struct key key = {""};
    size_t n = 0;
    for (; *text && n + 1 < sizeof key.text; text++)
        if (isalnum((unsigned char)*text))
            key.text[n++] = (char)tolower((unsigned char)*text);
    for (size_t i = 0; i < sizeof brands / sizeof *brands; i++) {
        size_t length = strlen(brands[i]);
        if (strncmp(key.text, brands[i], length) == 0)
            memmove(key.text, key.text + length, strlen(key.text + length) + 1);
    }
    return key;
}

static bool is_called(const struct profile *profile, const struct key *key)
{
    struct key name = key_of(profile->name), title = key_of(profile->title);
    return strcmp(name.text, key->text) == 0 || strcmp(title.text, key->text) == 0;
}

/* The longest run of digits: "rtx-409O" is a typing error, "409" is what was meant. */
static struct key number_of(const struct key *key)
{
    struct key number = {""};
    const char *at = key->text;
    while (*(at += strcspn(at, "0123456789"))) {
        size_t length = strspn(at, "0123456789");
        if (length > strlen(number.text))
            snprintf(number.text, sizeof number.text, "%.*s", (int)length, at);
        at += length;
    }
    return number;
}

/* Its name has the key in it ("l40": l40s) or, the other way round, the key has its name ("a1000":
 * a10). */
static bool is_near(const struct profile *profile, const struct key *key, bool inside)
{
    struct key name = key_of(profile->name);
    return strlen(key->text) >= NEAR_LEAST &&
           (inside ? strstr(name.text, key->text) : strstr(key->text, name.text)) != NULL;
}

/* " a10, a100-40gb or a40?" False: none is near. */
static bool put_near(const struct key *key, bool inside, char *text, size_t room)
{
    struct profile profile, last = {.name = ""};
    size_t found = 0, n = 0;
    for (size_t i = 0; profile_at(i, &profile); i++) {
        if (!is_near(&profile, key, inside))
            continue;
        if (found && found <= NEAR_MOST && n < room)
            n += (size_t)snprintf(text + n, room - n, "%s%s", found > 1 ? ", " : " ", last.name);
        last = profile;
        found++;
    }
    if (!found || n >= room)
        return false;
    if (found > NEAR_MOST)
        snprintf(text + n, room - n, ", ...?");
    else
        snprintf(text + n, room - n, "%s%s?", found > 1 ? " or " : " ", last.name);
    return true;
}

int profile_read_name(const char *text, struct profile *profile, char *why, size_t room)
{
    struct key key = key_of(text), number = number_of(&key);
    char near[128] = "";
    for (size_t i = 0; key.text[0] && profile_at(i, profile); i++)
        if (is_called(profile, &key))
            return BASE_OK;
    if (put_near(&key, true, near, sizeof near) || put_near(&key, false, near, sizeof near) ||
        put_near(&number, true, near, sizeof near))
        snprintf(why, room, "no GPU profile is called '%.40s'; did you mean%s", text, near);
    else
        snprintf(why, room, "no GPU profile is called '%.40s' (--gpu list has all)", text);
    return ERR_ARG;
}
