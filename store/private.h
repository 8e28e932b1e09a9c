/*
 * private.h - `record --private`: paths in a text become base names, those of libraries what is the
 * same on every machine.
 *
 * A word of a text is a path if it begins with "/", "./", "../" or "~/", if it has a "/" in it and
 * ends as the name of a file of source code or of a library does, if it is a URL or names another
 * machine ("file://host/x", "ann@host:x", "host:/x"), or if it is one of Windows ("C:\x"). Of a URL
 * that is only a machine the scheme is left. Any other word with a "/" can be a name as well
 * ("train/forward") and stays. Words end at blanks, quotes, brackets, commas, semicolons and "=":
 * "cannot open /data/ann/x.db: full" becomes "cannot open x.db: full". Of a path with a part
 * site-packages, dist-packages or lib/pythonX.Y that part and what follows stay: reports know a
 * library by it, so they find the same lines of the program.
 */
#ifndef TIDEMARK_STORE_PRIVATE_H
#define TIDEMARK_STORE_PRIVATE_H

#include <stddef.h>

/* In place; returns the new length. */
size_t private_shorten(char *text, size_t bytes);

#endif
