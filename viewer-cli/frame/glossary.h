/*
 * glossary.h - docs/glossary.md for a terminal: the terms that reports print, where no docs are.
 */
#ifndef TIDEMARK_VIEWER_GLOSSARY_H
#define TIDEMARK_VIEWER_GLOSSARY_H

#include <stdio.h>

extern const char glossary_text[]; /* the page, made by CMake */

/* Titles, and a term a line or more, without the marks of Markdown. */
void glossary_print(FILE *out);

#endif
