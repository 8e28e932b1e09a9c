/*
 * module_fold.h - names of modules with their instances folded: model.layers[0-23].mlp for what
 * stands in each of the modules model.layers.0 to model.layers.23.
 *
 * Folded are numbers that follow each other, two at least, where the module behind them is of one
 * class, and so is each on the way to it: two classes never share a name, and a folded name stands
 * for exactly the modules that it reads as.
 */
#ifndef TIDEMARK_ANALYSIS_MODULE_FOLD_H
#define TIDEMARK_ANALYSIS_MODULE_FOLD_H

#include <stddef.h>

struct module_name {
    const char *path; /* "model.layers.3.mlp", "" = the outermost one */
    const char *class_name;
};

/* The folded path of each of these, which are all that the program has: out[i], to be freed by the
 * caller. 0 or ERR_NOMEM; then nothing is in `out`. */
int module_fold(const struct module_name *names, size_t count, char **out);

#endif
