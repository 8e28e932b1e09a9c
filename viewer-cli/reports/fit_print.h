/*
 * fit_print.h - what `tidemark fit` found, printed.
 */
#ifndef TIDEMARK_VIEWER_FIT_PRINT_H
#define TIDEMARK_VIEWER_FIT_PRINT_H

#include "fit.h"
#include "fit_torch.h"
#include "oom.h"
#include "gpu_cards.h"
#include "report.h"

enum { FIT_ROWS = 8, FIT_CONF = 256 };

struct fit_options {
    struct report_options common;
    int64_t memory, reserve; /* REPORT_ANY = not given */
    const char *settings;    /* NULL */
    bool table;
    const char *torch; /* as --torch has it; NULL */
    struct fit_releases releases;
    const char *gpu;        /* as --gpu has it; NULL */
    struct gpu_cards cards; /* of --gpu; one of them gives its memory and context below */
    int64_t context;        /* 0 */
};

/* No kernels: whatever its memory, the recorded program was not built for that GPU. */
enum fit_answer { FIT_NOT_ASKED, FIT_FITS, FIT_DOES_NOT, FIT_UNKNOWN, FIT_NO_KERNELS };

struct fit_row {
    char conf[FIT_CONF]; /* as alloc_config_format has it: equal settings are equal texts */
    const char *text;    /* as it was given; "" = default */
    struct fit_need need;
};

/* The request that ended the recording, or the newest one that was refused in it. What the run
 * would have needed behind it nobody knows. */
struct fit_ended {
    bool is_refused;
    bool went_on;     /* blocks were handed out afterwards */
    struct ooms oom;  /* none: it is not known where */
    struct fit until; /* all before it, and the request as the last one; if it is replayed */
    bool is_replayed; /* there is an oom, of a size that a device can have */
    int64_t at_least; /* memory that this needs; FIT_NONE */
};

struct fit_part {
    struct report *report;
    const struct fit_options *options;
    const struct report_scope *scope;
    struct fit fit;
    bool loaded;     /* there was something to replay */
    int64_t highest; /* allocated in the run, as `tidemark peak` has it; FIT_NONE */
    int64_t context; /* CUDA's, of the GPU that a rehearsal stood in for; FIT_NONE */
    struct fit_row rows[FIT_ROWS];
    size_t row_count;
    struct fit_version versions[FIT_VERSIONS + 1]; /* the record's own first */
    size_t version_count;
    enum fit_answer answer;
    struct fit_verdict result; /* unless that is unknown */
    struct fit_ended ended;
    char targets[96]; /* what the program has kernels for, as fatbin_write has it; "" */
    enum fit_answer answers[GPU_CARDS_MOST]; /* of several cards */
};

/* What the allocator does not get: what --reserve says, and the CUDA context. */
int64_t fit_reserve(const struct fit_part *part);
/* With what is set aside. */
int64_t fit_smallest_of(const struct fit_part *part, const struct fit_need *need);
/* The first two cells of a row: process and device. */
void fit_put_scope(const struct fit_part *part);
/* All parts, of which there are `count`, one for each scope. */
void fit_print(struct report *report, const struct fit_part *parts, size_t count);

#endif
