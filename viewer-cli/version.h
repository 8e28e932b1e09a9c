/*
 * version.h - what --version prints: of the command, and of the formats that it reads and writes.
 */
#ifndef TIDEMARK_VIEWER_VERSION_H
#define TIDEMARK_VIEWER_VERSION_H

#include <stdio.h>

void version_print(FILE *out);

#endif
