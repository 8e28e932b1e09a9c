/* Numbers of definitions. */
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "feed.h"
#include "mem.h"

static uint32_t define(struct feed *feed, enum arena_kind kind, const void *payload, size_t bytes)
{
    struct arena_record record = {.bytes = (uint32_t)bytes, .kind = (uint32_t)kind};
    state_define(feed->process, &record, payload);
    return ++feed->defined;
}

int feed_define_begin(struct feed *feed)
{
    const struct snapshot *snapshot = feed->snapshot;
    feed->place_room = snapshot->places.item_count + 1;
    feed->strings = mem_alloc(snapshot->strings.item_count + 1, sizeof *feed->strings);
    feed->frames = mem_alloc(snapshot->frames.item_count + 1, sizeof *feed->frames);
    feed->sites = mem_alloc(snapshot->sites.item_count + 1, sizeof *feed->sites);
    feed->places = mem_alloc(feed->place_room, sizeof *feed->places);
    return feed->strings && feed->frames && feed->sites && feed->places ? BASE_OK : ERR_NOMEM;
}

void feed_define_clear(struct feed *feed)
{
    mem_free(feed->strings);
    mem_free(feed->frames);
    mem_free(feed->sites);
    mem_free(feed->places);
    feed->strings = feed->frames = feed->sites = feed->places = NULL;
}

uint32_t feed_text(struct feed *feed, const char *text, size_t bytes)
{
    return define(feed, ARENA_STRING, text, bytes);
}

uint32_t feed_string(struct feed *feed, uint32_t string)
{
    if (!string || snapshot_text(feed->snapshot, string)[0] == '\0')
        return 0;
    if (!feed->strings[string])
        feed->strings[string] =
            feed_text(feed, snapshot_text(feed->snapshot, string),
                      (size_t)feed->snapshot->strings.items[string - 1].count - 1);
    return feed->strings[string];
}

static struct snapshot_frame frame_at(const struct feed *feed, uint32_t number)
{
    struct snapshot_frame frame;
    memcpy(&frame, intern_at(&feed->snapshot->frames, number), sizeof frame);
    return frame;
}

static uint32_t define_frame(struct feed *feed, uint32_t number)
{
    struct snapshot_frame from = frame_at(feed, number);
    struct arena_frame frame = {.function = feed_string(feed, from.function), .line = from.line};
    /* "??" is how PyTorch writes that it does not know. */
    if (strcmp(snapshot_text(feed->snapshot, from.file), "??") != 0)
        frame.file = feed_string(feed, from.file);
    return define(feed, ARENA_FRAME, &frame, sizeof frame);
}

static bool has_prefix(const struct feed *feed, uint32_t number, const char *const *prefixes)
{
    const char *name = snapshot_text(feed->snapshot, frame_at(feed, number).function);
    for (; *prefixes; prefixes++)
        if (strncmp(name, *prefixes, strlen(*prefixes)) == 0)
            return true;
    return false;
}

/* Stacks with C++ frames are sixty frames of which few say anything. Where frames of sources are
 * among them, those with a line, they alone are kept: as a recording has them. Else, on the threads
 * of autograd, what remains begins with the operator that was called, or at least behind the
 * allocator's own frames. Returns how many of the frames remain. */
static size_t choose_plain(const struct feed *feed, uint32_t *frames, size_t depth)
{
    static const char *const operators[] = {"at::_ops::", NULL};
    static const char *const own[] = {"torch::unwind::", "torch::CapturedTraceback::",
                                      "torch::cuda::(anonymous namespace)::gather",
                                      "c10::cuda::CUDACachingAllocator::", NULL};
    size_t kept = 0, first = 0;
    for (size_t i = 0; i < depth; i++)
        if (frame_at(feed, frames[i]).line)
            frames[kept++] = frames[i];
    if (kept)
        return kept;
    while (first < depth && !has_prefix(feed, frames[first], operators))
        first++;
    if (first == depth)
        for (first = 0; first < depth && has_prefix(feed, frames[first], own);)
            first++;
    if (first == depth)
        return depth;
    memmove(frames, frames + first, (depth - first) * sizeof *frames);
    return depth - first;
}

/* The one frame of C++ that tells what no other can: that cuBLAS' wrapper took a workspace. */
static size_t choose_frames(const struct feed *feed, uint32_t *frames, size_t depth)
{
    static const char *const wrappers[] = {"at::cuda::getNewWorkspace",
                                           "at::cuda::getCUDABlasLtWorkspace",
                                           "at::cuda::getCurrentCUDABlas", NULL};
    size_t at = 0, kept;
    if (feed->all_frames)
        return depth;
    while (at < depth && !has_prefix(feed, frames[at], wrappers))
        at++;
    uint32_t wrapper = at < depth ? frames[at] : 0;
    kept = choose_plain(feed, frames, depth);
    if (at == depth || kept == depth || frames[0] == wrapper)
        return kept;
    memmove(frames + 1, frames, kept * sizeof *frames);
    frames[0] = wrapper;
    return kept + 1;
}

uint32_t feed_site(struct feed *feed, uint32_t site)
{
    uint32_t frames[ARENA_MAX_DEPTH];
    if (!site || feed->sites[site])
        return site ? feed->sites[site] : 0;
    const struct intern *sites = &feed->snapshot->sites;
    size_t depth = (size_t)sites->items[site - 1].count / sizeof *frames;
    memcpy(frames, intern_at(sites, site), depth * sizeof *frames);
    depth = choose_frames(feed, frames, depth);
    for (size_t i = 0; i < depth; i++) {
        uint32_t number = frames[i];
        if (!feed->frames[number])
            feed->frames[number] = define_frame(feed, number);
        frames[i] = feed->frames[number];
    }
    return feed->sites[site] = define(feed, ARENA_SITE, frames, depth * sizeof *frames);
}

/* (0, 0) are the shared pools; a graph's pool has its number first, a MemPool's second. */
static uint64_t pool_number(struct snapshot_pair pair)
{
    if (pair.first && pair.second)
        return pair.first << 32 | pair.second;
    return pair.first ? pair.first << 1 : pair.second ? pair.second << 1 | 1 : 0;
}

/* Pinned memory is the host's: a heap of the CPU, which has one device. */
static uint32_t define_host(struct feed *feed, uint64_t pool)
{
    struct arena_heap heap = {.device_kind = DEVICE_CPU,
                              .pool = pool,
                              .name = feed_text(feed, "pinned", strlen("pinned"))};
    return define(feed, ARENA_HEAP, &heap, sizeof heap);
}

uint32_t feed_place(struct feed *feed, uint32_t number)
{
    if (number >= feed->place_room)
        return 0;
    if (feed->places[number])
        return feed->places[number];
    struct snapshot_place place = snapshot_place_at(feed->snapshot, number);
    struct snapshot_pair pair = snapshot_pair_at(feed->snapshot, place.pool);
    if (feed->snapshot->host == place.device + 1)
        return feed->places[number] = define_host(feed, pool_number(pair));
    struct arena_heap heap = {
        .device_kind = snapshot_is_xpu(feed->snapshot) ? DEVICE_XPU : DEVICE_CUDA,
        .device_index = (int32_t)place.device,
        .stream = place.stream,
        .pool = pool_number(pair),
    };
    if (heap.pool) {
        char text[64];
        int n = snprintf(text, sizeof text, "pool (%llu, %llu)", (unsigned long long)pair.first,
                         (unsigned long long)pair.second);
        heap.name = feed_text(feed, text, (size_t)n);
    }
    return feed->places[number] = define(feed, ARENA_HEAP, &heap, sizeof heap);
}
