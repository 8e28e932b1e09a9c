/*
 * blocktree.c - see blocktree.h. All walks are loops: a tree is about twice as deep as the
 * logarithm of its size, and most trees have one record.
 */
#include "blocktree.h"

#include <stddef.h>

static inline bool is_before(const struct block *block, uint64_t size, uint64_t address,
                             enum tree_order order)
{
    if (order == TREE_BY_SIZE && block->size != size)
        return block->size < size;
    return block->address < address;
}

/* Down to where its priority puts it; what stood there is split into what is before and behind. */
void tree_insert(struct block *blocks, uint32_t *root, uint32_t id, enum tree_order order)
{
    struct block *node = &blocks[id];
    uint32_t *link = root;
    while (*link && blocks[*link].priority >= node->priority) {
        struct block *above = &blocks[*link];
        link = is_before(above, node->size, node->address, order) ? &above->right : &above->left;
    }
    uint32_t rest = *link, *before = &node->left, *behind = &node->right;
    *link = id;
    while (rest) {
        struct block *block = &blocks[rest];
        if (is_before(block, node->size, node->address, order)) {
            *before = rest;
            before = &block->right;
            rest = *before;
        } else {
            *behind = rest;
            behind = &block->left;
            rest = *behind;
        }
    }
    *before = *behind = 0;
}

void tree_remove(struct block *blocks, uint32_t *root, uint32_t id, enum tree_order order)
{
    const struct block *node = &blocks[id];
    uint32_t *link = root;
    while (*link != id) {
        struct block *above = &blocks[*link];
        link = is_before(above, node->size, node->address, order) ? &above->right : &above->left;
    }
    uint32_t left = node->left, right = node->right;
    while (left && right) {
        if (blocks[left].priority >= blocks[right].priority) {
            *link = left;
            link = &blocks[left].right;
            left = *link;
        } else {
            *link = right;
            link = &blocks[right].left;
            right = *link;
        }
    }
    *link = left ? left : right;
}

uint32_t tree_find(const struct block *blocks, uint32_t root, uint64_t size, uint64_t address,
                   enum tree_order order)
{
    uint32_t found = 0;
    while (root) {
        const struct block *block = &blocks[root];
        if (is_before(block, size, address, order)) {
            root = block->right;
        } else {
            found = root;
            root = block->left;
        }
    }
    return found;
}

uint32_t tree_find_before(const struct block *blocks, uint32_t root, uint64_t size,
                          uint64_t address, enum tree_order order)
{
    uint32_t found = 0;
    while (root) {
        const struct block *block = &blocks[root];
        if (is_before(block, size, address, order)) {
            found = root;
            root = block->right;
        } else {
            root = block->left;
        }
    }
    return found;
}

uint32_t tree_first(const struct block *blocks, uint32_t root)
{
    while (root && blocks[root].left)
        root = blocks[root].left;
    return root;
}

uint32_t tree_last(const struct block *blocks, uint32_t root)
{
    while (root && blocks[root].right)
        root = blocks[root].right;
    return root;
}

static bool children_are_valid(const struct block *blocks, const struct block *block,
                               enum tree_order order)
{
    if (block->left) {
        const struct block *left = &blocks[block->left];
        if (left->priority > block->priority ||
            !is_before(left, block->size, block->address, order))
            return false;
    }
    if (block->right) {
        const struct block *right = &blocks[block->right];
        if (right->priority > block->priority ||
            !is_before(block, right->size, right->address, order))
            return false;
    }
    return true;
}

/* In order by searching for the successor: the order is checked along the way, and no stack is
 * needed. Children against parents: that the heap order holds. */
bool tree_is_valid(const struct block *blocks, uint32_t root, enum tree_order order,
                   uint64_t *count)
{
    *count = 0;
    const struct block *last = NULL;
    for (uint32_t id = tree_first(blocks, root); id;) {
        const struct block *block = &blocks[id];
        if (last && !is_before(last, block->size, block->address, order))
            return false;
        if (!children_are_valid(blocks, block, order))
            return false;
        last = block;
        ++*count;
        id = tree_find(blocks, root, block->size, block->address + 1, order);
    }
    return true;
}
