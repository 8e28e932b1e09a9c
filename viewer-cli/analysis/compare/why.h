/*
 * why.h - what changed between two instants of one process on one device.
 *
 * Allocated: the blocks that lived at each, in groups by what they are for and who asked for them.
 * A group's change is what it held after less what it held before, so the groups add up to the
 * change, whatever was freed and asked for again in between. Reserved: segments and mapped pages by
 * their size, where the source knows them.
 *
 * Invariants (why_is_valid): the changes of groups, of categories, and after - before of what lived
 * are the same number; so is the sum of the segments' changes, when they are known; groups and
 * categories come by the size of their change, largest first, whichever its sign.
 */
#ifndef TIDEMARK_ANALYSIS_WHY_H
#define TIDEMARK_ANALYSIS_WHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "instant.h"
#include "map.h"
#include "module_label.h"
#include "purpose.h"

struct why_group {
    enum purpose purpose;
    int64_t site; /* GROUP_NONE; of a category: unused */
    char *name;   /* of the site: its innermost frame; NULL = not known */
    char *shown;  /* of the site, as view site_short */
    char *module; /* of its blocks, as module_label.h has it; NULL = none */
    struct module_label modules;
    int64_t before_bytes, after_bytes;
    int64_t before_blocks, after_blocks;
};

struct why_segments { /* of one size, which counts pages too */
    int64_t size;
    int64_t before, after; /* how many */
};

struct why {
    struct instant before, after;
    int64_t before_bytes, after_bytes; /* of the blocks that lived */
    struct why_group *groups;
    size_t group_count, group_cap;
    struct why_group categories[PURPOSES]; /* those that there are */
    size_t category_count;
    bool segments_known;
    int64_t before_reserved, after_reserved; /* of the segments; only if they are known */
    struct why_segments *segments; /* largest change of bytes first; unchanged ones are left out */
    size_t segment_count, segment_cap;
    struct map index; /* category and site to place, while they are collected */
};

/* The first `named` groups get their names and modules. 0 or an error; why_clear in both cases. */
int why_read(struct db *db, int64_t process, int64_t device, const struct instant *before,
             const struct instant *after, size_t named, struct why *out);
/* The same without the blocks that live at both, without segments and modules: of a group, and of
 * all, only the changes are right; and groups of equal changes may come in another order. */
int why_read_changes(struct db *db, int64_t process, int64_t device, const struct instant *before,
                     const struct instant *after, size_t named, struct why *out);
/* Sites of the first `most` groups that are alike in their names are told apart. 0 or an error. */
int why_tell_apart(struct db *db, struct why *why, size_t most);
void why_clear(struct why *why);
bool why_is_valid(const struct why *why);

/* Calls that hold as many blocks at both moments, of another size. */
struct why_larger {
    bool found;    /* they are half of the change or more */
    int64_t bytes; /* their change */
    double ratio;  /* their bytes after, by those before */
    double input;  /* the same of inputs; 0: not known */
};
void why_find_larger(const struct why *why, struct why_larger *out);
enum { WHY_LARGER_TEXT = 200 };
/* That as a sentence; "" where it is not so. */
const char *why_larger_text(char text[WHY_LARGER_TEXT], const struct why *why);

int64_t why_change(const struct why_group *group);
enum { WHY_BLOCKS_TEXT = 64 };
/* "3", "3 to 5": its blocks at the two moments. */
const char *why_blocks_text(char text[WHY_BLOCKS_TEXT], const struct why_group *group);
int64_t why_change_of(const struct why *why, enum purpose purpose);

#endif
