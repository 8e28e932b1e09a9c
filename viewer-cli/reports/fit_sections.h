/*
 * fit_sections.h - the sections of what `tidemark fit` prints: each has its columns, and puts the
 * rows of one part.
 */
#ifndef TIDEMARK_VIEWER_FIT_SECTIONS_H
#define TIDEMARK_VIEWER_FIT_SECTIONS_H

#include "buf.h"
#include "emit.h"

struct fit_part;

struct fit_section {
    const char *key;
    const struct emit_column *columns;
    size_t count;
    void (*put)(const struct fit_part *part);
};
#define FIT_SECTION(key, columns, put)                                                             \
    {                                                                                              \
        key, columns, sizeof columns / sizeof *columns, put                                        \
    }

extern const struct fit_section fit_section_memory, fit_section_gpus; /* fit_print_memory.c */

/* What they share: fit_print.c. */
struct emit *fit_emit(const struct fit_part *part);
/* As a cell; the text is freed. */
void fit_put_buf(struct emit *emit, struct buf *text);
/* Of --gpu, else that of a rehearsal; 0: none is known, or none is taken off. */
int64_t fit_context_off(const struct fit_part *part);
/* The smallest memory of the settings in force, or the lower bound; without what is set aside. */
int64_t fit_least_of(const struct fit_part *part);

#endif
