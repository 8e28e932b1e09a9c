/*
 * The allocator's settings, as text up to a NUL, and then operations of an allocator that was made
 * with them, on a device without memory. What the text came to is written out and read again.
 */
#include "alloc.h"
#include "error.h"
#include "fuzz.h"
#include "virtual.h"

#define MOST_BLOCKS 256u
#define MOST_OPERATIONS 1000

struct world {
    struct virtual_device *device;
    struct alloc *alloc;
    uint64_t blocks[MOST_BLOCKS]; /* living or not: given back ones are asked for, too */
    unsigned block_count;
};

static size_t take_text(struct fuzz_input *input, char *text, size_t size)
{
    size_t length = strnlen((const char *)input->at, input->left);
    size_t kept = length < size - 1 ? length : size - 1;
    memcpy(text, input->at, kept);
    text[kept] = '\0';
    length += length < input->left; /* the NUL */
    input->at += length;
    input->left -= length;
    return kept;
}

static bool same_config(const struct alloc_config *a, const struct alloc_config *b)
{
    return a->max_split_size == b->max_split_size &&
           a->max_non_split_rounding == b->max_non_split_rounding &&
           a->large_segment_size == b->large_segment_size && !(a->gc_threshold < b->gc_threshold) &&
           !(a->gc_threshold > b->gc_threshold) &&
           memcmp(a->roundup, b->roundup, sizeof a->roundup) == 0 &&
           a->expandable_segments == b->expandable_segments && a->throws == b->throws &&
           memcmp(&a->memory_fraction, &b->memory_fraction, sizeof a->memory_fraction) == 0 &&
           memcmp(&a->reserve.value, &b->reserve.value, sizeof a->reserve.value) == 0 &&
           a->reserve.gib == b->reserve.gib;
}

/* True if the text is one; then *config is set, and what is written of it reads as the same. */
static bool read_config(struct fuzz_input *input, struct alloc_config *config)
{
    static char text[4096], again[4096];
    char why[160] = "", shorter[24];
    struct alloc_config second = {0}, before = *config;
    take_text(input, text, sizeof text);
    int err = alloc_config_parse(config, text, why, sizeof why);
    MUST(err == BASE_OK || (err == ERR_ARG && why[0]));
    if (err != BASE_OK) {
        MUST(same_config(config, &before));
        return false;
    }
    alloc_config_format(config, again, sizeof again);
    MUST(alloc_config_parse(&second, again, why, sizeof why) == BASE_OK);
    MUST(same_config(config, &second));
    alloc_config_format(config, shorter, sizeof shorter);
    MUST(strncmp(shorter, again, sizeof shorter - 1) == 0);
    return true;
}

static bool odd_streams(void *self, uint64_t stream)
{
    (void)self;
    return stream & 1;
}

static void one_malloc(struct world *world, struct fuzz_input *input)
{
    struct alloc_refusal refusal;
    uint8_t shape = fuzz_byte(input);
    uint64_t bytes = fuzz_number(input, 1 + (shape & 7)) << (shape >> 3 & 15);
    uint64_t address = 0;
    int err = alloc_malloc(world->alloc, bytes, fuzz_byte(input) & 3, &address, &refusal);
    MUST(err == BASE_OK || err == ERR_NOMEM);
    if (err != BASE_OK || !address)
        return;
    MUST(alloc_block_size(world->alloc, address) >= bytes);
    world->blocks[world->block_count++ % MOST_BLOCKS] = address;
}

static uint64_t some_block(const struct world *world, struct fuzz_input *input)
{
    uint8_t which = fuzz_byte(input);
    return which == 255 ? fuzz_number(input, 8) : world->blocks[which % MOST_BLOCKS];
}

/* A segment of a recording, which may be damaged: any blocks, of which some tile it. */
static void one_adopt(struct world *world, struct fuzz_input *input)
{
    struct alloc_block_view blocks[16];
    uint8_t shape = fuzz_byte(input);
    struct alloc_segment_view segment = {
        .address = VIRTUAL_BASE + (fuzz_number(input, 2) << 21),
        .size = (uint64_t)(fuzz_byte(input) + 1) << 9,
        .stream = fuzz_byte(input) & 3,
        .pool = shape >> 6 & 1 ? fuzz_byte(input) & 3 : 0,
        .small = shape >> 4 & 1,
        .expandable = shape >> 5 & 1,
        .blocks = blocks,
        .block_count = (shape & 15) + 1u,
    };
    uint64_t at = segment.address;
    for (size_t i = 0; i < segment.block_count; i++) {
        uint8_t kind = fuzz_byte(input);
        uint64_t size = kind & 128 ? fuzz_number(input, 8) : (uint64_t)(kind >> 2 & 15) << 9;
        if (i + 1 == segment.block_count && kind & 64)
            size = segment.address + segment.size - at;
        blocks[i] = (struct alloc_block_view){at, size, size - (kind & 3), kind & 3};
        at += size;
    }
    if (virtual_hold(world->device, segment.address, segment.size, segment.expandable) != BASE_OK)
        return;
    if (alloc_adopt(world->alloc, &segment) == BASE_OK)
        world->blocks[world->block_count++ % MOST_BLOCKS] = segment.address;
}

static void one_pool(struct world *world, struct fuzz_input *input)
{
    uint8_t what = fuzz_byte(input);
    uint64_t id = what >> 4 & 3;
    switch (what & 3) {
    case 0:
        alloc_pool_begin(world->alloc, id, what & 8 ? odd_streams : NULL, NULL);
        break;
    case 1:
        alloc_pool_end(world->alloc, id);
        break;
    default:
        alloc_pool_release(world->alloc, id);
    }
}

static void one_setting(struct world *world, struct fuzz_input *input)
{
    struct alloc_config config;
    uint8_t what = fuzz_byte(input);
    switch (what & 3) {
    case 0:
        alloc_config_default(&config);
        if (read_config(input, &config))
            alloc_configure(world->alloc, &config);
        break;
    case 1:
        alloc_limit(world->alloc, fuzz_number(input, 3) << 12);
        break;
    case 2:
        virtual_capacity(world->device, fuzz_number(input, 3) << 12);
        break;
    default:
        alloc_reset_peaks(world->alloc);
        alloc_reset_accumulated(world->alloc);
    }
}

static void one_operation(struct world *world, struct fuzz_input *input)
{
    uint64_t address;
    switch (fuzz_byte(input) % 12) {
    case 0:
    case 1:
    case 2:
        one_malloc(world, input);
        break;
    case 3:
    case 4:
        alloc_give(world->alloc, some_block(world, input));
        break;
    case 5:
        address = some_block(world, input);
        alloc_record_stream(world->alloc, address, fuzz_byte(input) & 3);
        break;
    case 6:
        virtual_reach(world->device, fuzz_byte(input) & 3, fuzz_byte(input));
        break;
    case 7:
        alloc_empty_cache(world->alloc);
        break;
    case 8:
        one_pool(world, input);
        break;
    case 9:
        one_setting(world, input);
        break;
    case 10:
        one_adopt(world, input);
        break;
    default:
        address = some_block(world, input);
        alloc_give_awaiting(world->alloc, address);
        if (fuzz_byte(input) & 1)
            alloc_settle(world->alloc, address);
    }
}

static bool see_segment(void *self, const struct alloc_segment_view *segment)
{
    uint64_t *bytes = self;
    uint64_t at = segment->address;
    for (size_t i = 0; i < segment->block_count; i++) {
        MUST(segment->blocks[i].address == at);
        at += segment->blocks[i].size;
    }
    MUST(at == segment->address + segment->size);
    *bytes += segment->size;
    return true;
}

static void operate(struct world *world, struct fuzz_input *input)
{
    uint64_t bytes = 0;
    for (int i = 0; input->left && i < MOST_OPERATIONS; i++) {
        one_operation(world, input);
        if (i % 32 == 0) {
            MUST(alloc_is_valid(world->alloc));
            MUST(virtual_is_valid(world->device));
        }
    }
    MUST(alloc_is_valid(world->alloc));
    MUST(virtual_is_valid(world->device));
    MUST(alloc_walk(world->alloc, see_segment, &bytes) == BASE_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct fuzz_input input = {bytes, count};
    struct alloc_config config;
    struct world world = {0};
    alloc_config_default(&config);
    if (!read_config(&input, &config))
        return 0;
    uint8_t shape = fuzz_byte(&input);
    struct virtual_options device = {.capacity = UINT64_C(1) << (24 + (shape & 15)),
                                     .manual = shape & 16};
    MUST(virtual_new(&world.device, &device) == BASE_OK);
    struct alloc_options options = {.device = virtual_seam(world.device),
                                    .config = &config,
                                    .flags = shape & 32 ? ALLOC_ONE_THREAD : 0};
    MUST(alloc_new(&world.alloc, &options) == BASE_OK);
    operate(&world, &input);
    alloc_delete(world.alloc);
    MUST(virtual_is_valid(world.device));
    virtual_delete(world.device);
    return 0;
}
