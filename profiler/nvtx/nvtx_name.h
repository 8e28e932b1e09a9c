/*
 * nvtx_name.h - the names of NVTX's ranges, marks and domains: text of three kinds into numbers of
 * definitions.
 *
 * Names that count ("iteration 1", "iteration 2", ...) are one definition and a number. Of others
 * NVTX_NAMES are defined; whatever comes beyond is called NVTX_REST, and a note says so: the arena
 * is everybody's.
 *
 * Words are the texts of domains and registered strings, of which the caller keeps handles for
 * ever. They stand in a table of fixed size that only grows: a place is taken, filled, and marked
 * ready with release; it never changes then. Two threads that bring one new text at once may get a
 * word each. A table that is full gives out one word for all the rest, and so does one for which
 * there is no memory: it is a megabyte, and asked for with the first word.
 */
#ifndef TIDEMARK_PROFILER_NVTX_NAME_H
#define TIDEMARK_PROFILER_NVTX_NAME_H

#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

#define NVTX_TEXT 255u /* bytes of a name; the rest is cut */
#define NVTX_NAMES 8192u
#define NVTX_WORDS 4096u /* a power of two */
#define NVTX_REST "(other names)"

struct nvtx_text {
    char bytes[NVTX_TEXT + 1]; /* UTF-8, if what came was */
    uint32_t count;
};

struct nvtx_word;

struct nvtx_name {
    uint32_t name; /* 0 = none */
    bool numbered; /* the name goes on with `number` */
    uint64_t number;
};

/* NULL gives an empty text. */
void nvtx_text_of(struct nvtx_text *text, const char *from);
void nvtx_text_of_wide(struct nvtx_text *text, const wchar_t *from);

const struct nvtx_word *nvtx_word(const struct nvtx_text *text);
/* The word behind a handle, or NULL for what is none of ours. */
const struct nvtx_word *nvtx_word_of(const void *handle);
const struct nvtx_text *nvtx_word_text(const struct nvtx_word *word);

/* Both only while guest_live(). */
struct nvtx_name nvtx_name(const struct nvtx_text *text);
uint32_t nvtx_domain_name(const struct nvtx_word *domain); /* 0 for NULL and for the default */

/* For a test that begins anew: handles that were given out are none any more. */
void nvtx_name_forget(void);

#endif
