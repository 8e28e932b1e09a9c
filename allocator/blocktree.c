/*
 * blocktree.c - see blocktree.h. All walks are loops: a tree is about twice as deep as the
 * logarithm of its size, and most trees have one record.
 */
#include "blocktree.h"

#include <assert.h>
#include <stddef.h>

static inline bool is_before(const struct block *block, uint64_t size, uint64_t address,
                             enum tree_order order)
{
    if (order == TREE_BY_SIZE && block->size != size)
        return block->size < size;
    return block->address < address;
}

/* Down to where its priority puts it; what stood there is split into what is before and behind. */
bool tree_insert(struct block *blocks, uint32_t *root, uint32_t id, enum tree_order order)
{
    struct block *node = &blocks[id];
    uint32_t *link = root, parent = 0;
    bool first = true;
    assert(id != 0 && *root != id);
    while (*link && blocks[*link].priority >= node->priority) {
        struct block *above = &blocks[*link];
        parent = *link;
        bool before = is_before(above, node->size, node->address, order);
        link = before ? &above->right : &above->left;
        first &= !before;
    }
    uint32_t rest = *link, *before = &node->left, *behind = &node->right;
    uint32_t above_before = id, above_behind = id;
    *link = id;
    node->parent = parent;
    while (rest) {
        struct block *block = &blocks[rest];
        if (is_before(block, node->size, node->address, order)) {
            *before = rest;
            block->parent = above_before;
            above_before = rest;
            before = &block->right;
            rest = *before;
        } else {
            *behind = rest;
            block->parent = above_behind;
            above_behind = rest;
            behind = &block->left;
            rest = *behind;
        }
    }
    *before = *behind = 0;
    return first && !node->left;
}

/* Its two subtrees become one in its place. */
void tree_remove(struct block *blocks, uint32_t *root, uint32_t id)
{
    uint32_t left = blocks[id].left, right = blocks[id].right, parent = blocks[id].parent;
    uint32_t *link = root;
    assert(id != 0 && *root != 0 && (parent || *root == id));
    if (parent)
        link = blocks[parent].left == id ? &blocks[parent].left : &blocks[parent].right;
    while (left && right) {
        bool left_above = blocks[left].priority >= blocks[right].priority;
        uint32_t above = left_above ? left : right;
        *link = above;
        blocks[above].parent = parent;
        parent = above;
        link = left_above ? &blocks[above].right : &blocks[above].left;
        if (left_above)
            left = *link;
        else
            right = *link;
    }
    *link = left ? left : right;
    if (*link)
        blocks[*link].parent = parent;
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

static bool children_are_valid(const struct block *blocks, uint32_t id, enum tree_order order)
{
    const struct block *block = &blocks[id];
    if (block->left) {
        const struct block *left = &blocks[block->left];
        if (left->parent != id || left->priority > block->priority ||
            !is_before(left, block->size, block->address, order))
            return false;
    }
    if (block->right) {
        const struct block *right = &blocks[block->right];
        if (right->parent != id || right->priority > block->priority ||
            !is_before(block, right->size, right->address, order))
            return false;
    }
    return true;
}

/* The one behind it, by the links alone. */
static uint32_t successor(const struct block *blocks, uint32_t id)
{
    if (blocks[id].right)
        return tree_first(blocks, blocks[id].right);
    while (blocks[id].parent && blocks[blocks[id].parent].right == id)
        id = blocks[id].parent;
    return blocks[id].parent;
}

static bool hangs_there(const struct block *blocks, uint32_t id, uint32_t root)
{
    uint32_t parent = blocks[id].parent;
    return parent ? blocks[parent].left == id || blocks[parent].right == id : id == root;
}

/* Each against the one before it, the one above it and its children. */
bool tree_is_valid(const struct block *blocks, uint32_t root, enum tree_order order,
                   uint64_t *count)
{
    *count = 0;
    const struct block *last = NULL;
    for (uint32_t id = tree_first(blocks, root); id; id = successor(blocks, id)) {
        const struct block *block = &blocks[id];
        if (last && !is_before(last, block->size, block->address, order))
            return false;
        if (!hangs_there(blocks, id, root) || !children_are_valid(blocks, id, order))
            return false;
        last = block;
        ++*count;
    }
    return true;
}
