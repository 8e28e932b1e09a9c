/* nccl.h - a rank's place among the ranks. */
#ifndef TIDEMARK_REHEARSAL_NCCL_H
#define TIDEMARK_REHEARSAL_NCCL_H

#include <stdint.h>

struct communicator {
    int32_t rank, size, device;
    uint32_t meeting; /* of its ranks; 0: nobody waits */
};

enum { NCCL_FINE = 0, NCCL_SYSTEM_ERROR = 2 };

#endif
