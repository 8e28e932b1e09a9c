/* launch_env.c - see launch_env.h. */
#include "launch_env.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "hello.h"
#include "mem.h"

/* Every name that is ours; an entry without a value is only taken out. */
struct word {
    const char *name;
    const char *value;
    const char *also; /* behind the value and a colon; NULL: nothing */
    bool before_old;  /* the old value follows behind a colon */
    const char *old;  /* "" if there was none */
};
#define WORDS 17

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *launch_foreign(char *const *environment, const char *variable, const char *guest)
{
    size_t bytes = strlen(variable);
    for (char *const *at = environment; at && *at; at++) {
        const char *value = *at + bytes + 1;
        if (strncmp(*at, variable, bytes) != 0 || (*at)[bytes] != '=' || !*value)
            continue;
        return guest && strcmp(file_of(value), file_of(guest)) == 0 ? NULL : value;
    }
    return NULL;
}

static void list_words(char *const *environment, const struct launch_words *from,
                       struct word words[WORDS])
{
    bool foreign_nvtx = launch_foreign(environment, LAUNCH_NVTX, from->guest) != NULL;
    bool foreign_cuda = launch_foreign(environment, LAUNCH_CUDA, from->guest) != NULL;
    const struct launch_wants *wants = &from->wants;
    const char *first = from->guest;
    const struct word all[WORDS] = {
        {"LD_PRELOAD", first ? first : from->stand_in, first ? from->stand_in : NULL, true, ""},
        {"LD_LIBRARY_PATH", from->stand_ins, NULL, true, ""},
        {from->stand_in_name ? from->stand_in_name : "", from->stand_in_value, NULL, false, ""},
        {HELLO_ENV, from->socket, NULL, false, ""},
        {HELLO_DOOR_ENV, from->door && *from->door ? from->door : NULL, NULL, false, ""},
        {HELLO_KEY_ENV, from->key, NULL, false, ""},
        {HELLO_ARMED_ENV, from->armed ? "1" : NULL, NULL, false, ""},
        {"TIDEMARK_RECORDING", from->recording, NULL, false, ""},
        {"PYTHONPATH", from->python, NULL, true, ""},
        /* Programs of gcc's AddressSanitizer end at once where a preloaded library comes before its
         * runtime. What the user set himself comes later and wins. */
        {"ASAN_OPTIONS", from->guest ? "verify_asan_link_order=0" : NULL, NULL, true, ""},
        {"TIDEMARK_STACKS", wants->no_stacks ? "0" : NULL, NULL, false, ""},
        {"TIDEMARK_PHASES", wants->no_phases ? "off" : NULL, NULL, false, ""},
        {"TIDEMARK_HISTORY", wants->history ? "1" : NULL, NULL, false, ""},
        /* Another tool's stays as it is. */
        {LAUNCH_NVTX, wants->no_nvtx || foreign_nvtx ? NULL : from->guest, NULL, foreign_nvtx, ""},
        {LAUNCH_CUDA, wants->no_cupti || foreign_cuda ? NULL : from->guest, NULL, foreign_cuda, ""},
        /* The user may have named a library there. */
        {"TIDEMARK_CUPTI", wants->no_cupti ? "0" : NULL, NULL, !wants->no_cupti, ""},
        {"TIDEMARK_KERNELS", wants->kernels ? "1" : NULL, NULL, false, ""},
    };
    memcpy(words, all, sizeof all);
}

/* The word that this entry sets, or NULL. What is joined but not set stays as it is. */
static struct word *word_of(struct word words[WORDS], const char *entry)
{
    for (size_t i = 0; i < WORDS; i++) {
        size_t bytes = strlen(words[i].name);
        if (strncmp(entry, words[i].name, bytes) == 0 && entry[bytes] == '=')
            return words[i].before_old && !words[i].value ? NULL : &words[i];
    }
    return NULL;
}

static size_t text_bytes(const struct word *word)
{
    if (!word->value)
        return 0;
    return strlen(word->name) + strlen(word->value) + (word->also ? strlen(word->also) : 0) +
           strlen(word->old) + sizeof "=::";
}

char **launch_env(char *const *environment, const struct launch_words *from)
{
    struct word words[WORDS];
    size_t count = 0, used = 0, bytes = 0;
    list_words(environment, from, words);
    for (char *const *at = environment; at && *at; at++, count++) {
        struct word *word = word_of(words, *at);
        if (word && word->before_old)
            word->old = strchr(*at, '=') + 1;
    }
    for (size_t i = 0; i < WORDS; i++)
        bytes += text_bytes(&words[i]);
    char **list = mem_alloc(1, (count + WORDS + 1) * sizeof *list + bytes);
    if (!list)
        return NULL;
    char *text = (char *)(list + count + WORDS + 1);
    for (char *const *at = environment; at && *at; at++)
        if (!word_of(words, *at))
            list[used++] = *at;
    for (size_t i = 0; i < WORDS; i++) {
        const struct word *word = &words[i];
        if (!word->value)
            continue;
        list[used++] = text;
        snprintf(text, text_bytes(word), "%s=%s%s%s%s%s", word->name, word->value,
                 word->also ? ":" : "", word->also ? word->also : "", *word->old ? ":" : "",
                 word->old);
        text += text_bytes(word);
    }
    return list;
}
