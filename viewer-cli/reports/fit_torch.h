/*
 * fit_torch.h - `tidemark fit --torch`: the run under the policies of other releases of PyTorch.
 */
#ifndef TIDEMARK_VIEWER_FIT_TORCH_H
#define TIDEMARK_VIEWER_FIT_TORCH_H

#include "emit.h"
#include "fit_version.h"

enum { FIT_VERSIONS = 16, FIT_TORCH_COLUMNS = 20 };

struct fit_part;

/* As --torch has them, in that order, none twice. */
struct fit_releases {
    const struct alloc_release *list[FIT_VERSIONS];
    size_t count;
};

/* "2.6,2.9", "all". False, with a sentence in `why`: one of them is not known. */
bool fit_torch_read(const char *text, struct fit_releases *out, char *why, size_t why_size);
/* The release of the record first, then the others. `asked` are the settings, read; `conf` is their
 * text. */
int fit_torch_measure(struct fit_part *part, const struct alloc_config *asked, const char *conf,
                      uint64_t ceiling);
void fit_torch_clear(struct fit_part *part);

extern const struct emit_column fit_torch_columns[FIT_TORCH_COLUMNS];
void fit_torch_put(const struct fit_part *part);

#endif
