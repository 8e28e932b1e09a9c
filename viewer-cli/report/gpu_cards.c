/* gpu_cards.c - see gpu_cards.h. */
#include "gpu_cards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "error.h"

int64_t gpu_card_room(const struct profile *profile, int64_t reserve)
{
    return (int64_t)profile->memory - (int64_t)profile->context - reserve;
}

/* ---- what --gpu says ---- */

static int by_memory(const void *one, const void *other)
{
    const struct gpu_card *a = one, *b = other;
    if (a->profile.memory != b->profile.memory)
        return a->profile.memory < b->profile.memory ? -1 : 1;
    return strcmp(a->gpu, b->gpu);
}

static bool is_there(const struct gpu_cards *cards, const char *gpu)
{
    for (size_t i = 0; i < cards->count; i++)
        if (strcmp(cards->list[i].gpu, gpu) == 0)
            return true;
    return false;
}

static int add(const char *gpu, struct gpu_cards *out, char *why, size_t room)
{
    struct gpu_card card;
    int err = profile_read(gpu, &card.profile, why, room);
    if (err != BASE_OK)
        return err;
    snprintf(card.gpu, sizeof card.gpu, "%s", gpu);
    if (is_there(out, card.gpu))
        return 0;
    if (out->count == GPU_CARDS_MOST) {
        snprintf(why, room, "more than %d GPUs", GPU_CARDS_MOST);
        return ERR_ARG;
    }
    out->list[out->count++] = card;
    return 0;
}

/* The length of the first GPU of a list. The parts of one have commas, too: cc= begins another. */
static size_t first_of(const char *text)
{
    bool parts = strchr(text, '=') && strcspn(text, "=") < strcspn(text, ",");
    size_t length = strcspn(text, ",");
    while (parts && text[length]) {
        const char *next = text + length + 1;
        size_t more = strcspn(next, ",");
        if (!memchr(next, '=', more) || strncmp(next, "cc=", 3) == 0)
            break;
        length += 1 + more;
    }
    return length;
}

static int add_list(const char *text, struct gpu_cards *out, char *why, size_t room)
{
    char gpu[GPU_CARD_NAME];
    for (size_t count = 0; *text; count++) {
        size_t length = first_of(text);
        if (length >= sizeof gpu) {
            snprintf(why, room, "the name is too long");
            return ERR_ARG;
        }
        snprintf(gpu, sizeof gpu, "%.*s", (int)length, text);
        int err = add(gpu, out, why, room);
        if (err)
            return err;
        text += length + (text[length] == ',');
        out->several = out->several || *text;
    }
    return 0;
}

int gpu_cards_read(const char *text, struct gpu_cards *out, char *why, size_t room)
{
    struct profile profile;
    int err = 0;
    out->count = 0;
    out->several = strcmp(text, GPU_ALL) == 0;
    for (size_t i = 0; out->several && !err && profile_at(i, &profile); i++)
        err = add(profile.name, out, why, room);
    if (!out->several)
        err = add_list(text, out, why, room);
    if (!err && !out->count) {
        snprintf(why, room, "the name is empty");
        err = ERR_ARG;
    }
    qsort(out->list, out->count, sizeof *out->list, by_memory);
    return err;
}

/* ---- --gpu list ---- */

static const struct emit_column gpu_columns[] = {
    {"name", NULL, EMIT_TEXT, 0},
    {"title", "the driver's name", EMIT_TEXT, 0},
    {"capability", "cc", EMIT_TEXT, 0},
    {"memory_bytes", "memory", EMIT_BYTES, 0},
    {"multiprocessors", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"source", NULL, EMIT_TEXT, EMIT_PROGRAMS},
};

int gpu_cards_print(const char *command)
{
    struct emit emit;
    struct profile gpu;
    char capability[16];
    emit_begin(&emit, EMIT_TABLE, EMIT_COLOUR_AUTO, command, NULL);
    EMIT_SECTION(&emit, "gpus", NULL, EMIT_ROWS, gpu_columns);
    for (size_t i = 0; profile_at(i, &gpu); i++) {
        snprintf(capability, sizeof capability, "%d.%d", gpu.capability->major,
                 gpu.capability->minor);
        emit_text(&emit, gpu.name);
        emit_text(&emit, gpu.title);
        emit_text(&emit, capability);
        emit_int(&emit, (int64_t)gpu.memory);
        emit_int(&emit, gpu.sms);
        emit_text(&emit, gpu.from);
    }
    emit_close(&emit);
    emit_line(&emit, "cc: compute capability. Any other GPU: --gpu cc=8.0,memory=40GiB,sms=108");
    return emit_finish(&emit, stdout) == 0 ? EXIT_FINE : EXIT_INTERNAL;
}

bool gpu_cards_is_list(int argc, char *const *argv)
{
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--gpu=list") == 0 || strcmp(argv[i], "-glist") == 0 ||
            ((strcmp(argv[i], "--gpu") == 0 || strcmp(argv[i], "-g") == 0) && i + 1 < argc &&
             strcmp(argv[i + 1], "list") == 0))
            return true;
        else if (argv[i][0] != '-' || strcmp(argv[i], "--") == 0)
            return false;
    return false;
}
