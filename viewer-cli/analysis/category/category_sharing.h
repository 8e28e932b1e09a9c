/*
 * category_sharing.h - memory of programs whose ranks share a model: parameters that FSDP gathered
 * from all ranks, and what torch.distributed sends and receives in. The functions of PyTorch in
 * their call stacks tell them. In step with view sharing_site.
 */
#ifndef TIDEMARK_ANALYSIS_CATEGORY_SHARING_H
#define TIDEMARK_ANALYSIS_CATEGORY_SHARING_H

#include <stdint.h>

#include "db.h"
#include "map.h"

enum sharing_verdict { /* numbers of the view */
                       SHARING_NONE,
                       SHARING_GATHERED,
                       SHARING_GATHERED_IN, /* what parameters are received in */
                       SHARING_COLLECTIVE   /* of any other sort */
};

struct category_sharing { /* all zero is empty */
    struct map blocks;    /* allocation.seq to enum sharing_verdict, of those that have one */
};

/* 0 or an error; category_sharing_clear in both cases. */
int category_sharing_read(struct db *db, int64_t process, struct category_sharing *out);
void category_sharing_clear(struct category_sharing *sharing);
enum sharing_verdict category_sharing_decide(const struct category_sharing *sharing, int64_t seq);

#endif
