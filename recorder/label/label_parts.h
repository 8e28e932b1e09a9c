/*
 * label_parts.h - what the files behind label.h share.
 */
#ifndef TIDEMARK_RECORDER_LABEL_PARTS_H
#define TIDEMARK_RECORDER_LABEL_PARTS_H

#include "label.h"

/* label_nodes.c. A node begins inside of what is innermost; LABEL_NONE without memory. */
uint32_t label_node_push(struct labels *labels, const struct label_mark *mark);
/* A mark becomes the last child of its owner. */
void label_node_link(struct labels *labels, uint32_t at);
/* Takes it out of `open`, wherever it stands. It keeps the reference for being open. */
void label_node_close(struct labels *labels, size_t place);
/* Gives one reference back. */
void label_node_drop(struct labels *labels, uint32_t at);
uint32_t label_innermost(const struct labels *labels);
/* The nearest mark: the node itself, or what is around a phase of the program's own. */
uint32_t label_owner_of(const struct labels *labels, uint32_t node);

/* Room for one more stretch; false without memory. */
bool label_make_room(struct labels *labels);
/* There is room for it. */
void label_add_stretch(struct labels *labels, int64_t seq, int64_t ns, uint32_t closed,
                       uint32_t thread);

/* label_modules.c. False without memory: the module stays unknown. */
bool label_module_called(struct labels *labels, uint32_t at);
/* A call of it without gradients was given out as what it is so far: that is kept to. */
void label_module_given_up(struct labels *labels, uint64_t identity);

#endif
