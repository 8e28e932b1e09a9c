/*
 * profile.h - what a GPU answers when a program asks what it is: facts that decide how much memory
 * a program takes. They come from public documents and from what others printed on such cards;
 * profiles.def says which beside each.
 *
 * A profile is a name (`--gpu a100-80gb`) or made of parts (`--gpu cc=8.0,memory=40GiB`).
 */
#ifndef TIDEMARK_REHEARSAL_PROFILE_H
#define TIDEMARK_REHEARSAL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROFILE_NAME_MAX 32
#define PROFILE_TITLE_MAX 64

/* What all GPUs of one compute capability have in common. */
struct capability {
    int32_t major, minor;
    int32_t threads_per_sm, blocks_per_sm;
    int32_t shared_per_sm, shared_optin, shared_reserved; /* bytes; per block but the first */
};

struct profile {
    char name[PROFILE_NAME_MAX];   /* as --gpu takes it */
    char title[PROFILE_TITLE_MAX]; /* as the driver calls the device */
    const struct capability *capability;
    uint64_t memory;  /* bytes, as CUDA reports them */
    uint64_t context; /* bytes that an empty context takes of them */
    int32_t sms;      /* multiprocessors */
    uint32_t l2;      /* bytes */
    int32_t bus_bits; /* of the memory */
    const char *from; /* where the figures come from */
    bool context_measured;
    const char *context_from; /* where the context's does: "measured: ..." or "computed: ..." */
};

/* False: there is none of this number. */
bool profile_at(size_t index, struct profile *profile);
/* The nearest below, for a capability that is not in the table. NULL: older than all. */
const struct capability *profile_capability(int32_t major, int32_t minor);
/* Reads a name or parts. On ERR_ARG `why` has what is wrong, for a user. */
int profile_read(const char *text, struct profile *profile, char *why, size_t room);
/* For a GPU whose context nobody measured: a share for each thread that can be resident. */
void profile_compute_context(struct profile *profile);

#endif
