/*
 * library.h - what people call a library, by the name of its file: libcublasLt.so.13 is cuBLAS.
 */
#ifndef TIDEMARK_ANALYSIS_LIBRARY_H
#define TIDEMARK_ANALYSIS_LIBRARY_H

#define LIBRARY_TEXT 64

/* `file` may have folders, and may be NULL: not known. Returns a constant, or `out` with the name
 * of a file that has no other. */
const char *library_name(const char *file, char out[LIBRARY_TEXT]);

#endif
