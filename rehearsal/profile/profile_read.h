/* profile_read.h - the two ways of writing a GPU; profile_read() decides which one it is. */
#ifndef TIDEMARK_REHEARSAL_PROFILE_READ_H
#define TIDEMARK_REHEARSAL_PROFILE_READ_H

#include <stddef.h>

#include "profile.h"

/* "a100-80gb", "RTX 4090", "NVIDIA L4". On ERR_ARG `why` names those that are near. */
int profile_read_name(const char *text, struct profile *profile, char *why, size_t room);
/* "cc=8.0,memory=40GiB,sms=108" */
int profile_read_parts(const char *text, struct profile *profile, char *why, size_t room);

#endif
