#include "freeset.h"

#include <assert.h>

enum { EXACT_BINS = 128 };

/* Exact up to 127 units of 512 bytes, then the 6 bits behind the highest one. */
static inline unsigned bin_of(uint64_t size)
{
    uint64_t units = size >> 9;
    if (units < EXACT_BINS)
        return (unsigned)units;
    unsigned shift = 57u - (unsigned)__builtin_clzll(units);
    return (shift << 6) + (unsigned)(units >> shift);
}

void freeset_insert(struct freeset *set, struct block *blocks, uint32_t id)
{
    unsigned number = bin_of(blocks[id].size);
    assert(number < FREESET_BINS);
    struct freeset_bin *bin = &set->bins[number];
    if (tree_insert(blocks, &bin->root, id, TREE_BY_SIZE))
        bin->first = id;
    set->words[number / 64] |= UINT64_C(1) << number % 64;
    set->summary |= UINT64_C(1) << number / 64;
}

/* The one behind the first: it has nothing to its left. */
static inline uint32_t second(const struct block *blocks, uint32_t first)
{
    uint32_t right = blocks[first].right;
    return right ? tree_first(blocks, right) : blocks[first].parent;
}

void freeset_remove(struct freeset *set, struct block *blocks, uint32_t id)
{
    unsigned number = bin_of(blocks[id].size);
    struct freeset_bin *bin = &set->bins[number];
    assert(number < FREESET_BINS && bin->root);
    if (bin->first == id)
        bin->first = second(blocks, id);
    tree_remove(blocks, &bin->root, id);
    if (bin->root)
        return;
    set->words[number / 64] &= ~(UINT64_C(1) << number % 64);
    if (!set->words[number / 64])
        set->summary &= ~(UINT64_C(1) << number / 64);
}

/* The first bin above that is not empty; FREESET_BINS = none. */
static inline unsigned bin_above(const struct freeset *set, unsigned bin)
{
    unsigned word = bin / 64;
    uint64_t bits = set->words[word] & (~UINT64_C(1) << bin % 64);
    if (!bits) {
        uint64_t words = set->summary & (~UINT64_C(1) << word);
        if (!words)
            return FREESET_BINS;
        word = (unsigned)__builtin_ctzll(words);
        bits = set->words[word];
    }
    return word * 64 + (unsigned)__builtin_ctzll(bits);
}

/* The last bin below that is not empty; FREESET_BINS = none. */
static unsigned bin_below(const struct freeset *set, unsigned bin)
{
    unsigned word = bin / 64;
    uint64_t bits = set->words[word] & ((UINT64_C(1) << bin % 64) - 1);
    if (!bits) {
        uint64_t words = set->summary & ((UINT64_C(1) << word) - 1);
        if (!words)
            return FREESET_BINS;
        word = 63u - (unsigned)__builtin_clzll(words);
        bits = set->words[word];
    }
    return word * 64 + 63u - (unsigned)__builtin_clzll(bits);
}

uint32_t freeset_find(const struct freeset *set, const struct block *blocks, uint64_t size,
                      uint64_t address)
{
    unsigned bin = bin_of(size);
    if (bin >= FREESET_BINS)
        return 0;
    uint32_t found = bin < EXACT_BINS && address == 0
                         ? set->bins[bin].first
                         : tree_find(blocks, set->bins[bin].root, size, address, TREE_BY_SIZE);
    if (found)
        return found;
    bin = bin_above(set, bin);
    return bin < FREESET_BINS ? set->bins[bin].first : 0;
}

uint32_t freeset_find_before(const struct freeset *set, const struct block *blocks, uint64_t size,
                             uint64_t address)
{
    unsigned bin = bin_of(size);
    if (bin >= FREESET_BINS)
        bin = FREESET_BINS - 1;
    uint32_t found = tree_find_before(blocks, set->bins[bin].root, size, address, TREE_BY_SIZE);
    if (found)
        return found;
    bin = bin_below(set, bin);
    return bin < FREESET_BINS ? tree_last(blocks, set->bins[bin].root) : 0;
}

uint32_t freeset_next(const struct freeset *set, const struct block *blocks, uint32_t id)
{
    return freeset_find(set, blocks, blocks[id].size, blocks[id].address + 1);
}

bool freeset_is_valid(const struct freeset *set, const struct block *blocks, uint64_t *count)
{
    uint64_t in_tree;
    *count = 0;
    for (unsigned bin = 0; bin < FREESET_BINS; bin++) {
        bool bit = set->words[bin / 64] >> bin % 64 & 1;
        if (bit != (set->bins[bin].root != 0) ||
            set->bins[bin].first != tree_first(blocks, set->bins[bin].root) ||
            (set->words[bin / 64] && !(set->summary >> bin / 64 & 1)))
            return false;
        if (!bit)
            continue;
        if (!tree_is_valid(blocks, set->bins[bin].root, TREE_BY_SIZE, &in_tree) ||
            bin_of(blocks[tree_first(blocks, set->bins[bin].root)].size) != bin ||
            bin_of(blocks[tree_last(blocks, set->bins[bin].root)].size) != bin)
            return false;
        *count += in_tree;
    }
    for (unsigned word = 0; word < 64; word++) {
        if (set->summary >> word & 1 && (word >= FREESET_WORDS || !set->words[word]))
            return false;
    }
    return true;
}
