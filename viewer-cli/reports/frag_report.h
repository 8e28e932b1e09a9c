/*
 * frag_report.h - the sections of `tidemark frag` at one instant.
 */
#ifndef TIDEMARK_VIEWER_FRAG_REPORT_H
#define TIDEMARK_VIEWER_FRAG_REPORT_H

#include "frag.h"
#include "report.h"

struct frag_part {
    struct emit *emit;
    const struct report_scope *scope;
    const struct instant *instant;
    const struct frag *frag;
    const size_t *order; /* of segments */
    int64_t top;         /* rows of each section */
    bool by_size;        /* `order` is by size, else by what is free */
};

struct frag_section {
    const char *key;
    const struct emit_column *columns;
    size_t count;
    void (*put)(const struct frag_part *part);
};

enum { FRAG_SECTIONS = 6 };
extern const struct frag_section frag_sections[FRAG_SECTIONS];

/* The end of `put` for sites, which an out-of-memory report shows, too. */
void frag_put_sites(const struct frag_part *part, const char *title);

#endif
