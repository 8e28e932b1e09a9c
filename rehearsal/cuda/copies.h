/*
 * copies.h - copies and fills in any direction. What comes to the device is kept where it is small
 * (values/values.h); what is read back is that, or zeros, and who reads what is not known is told.
 */
#ifndef TIDEMARK_REHEARSAL_COPIES_H
#define TIDEMARK_REHEARSAL_COPIES_H

#include <stdint.h>

void copy_bytes(void *to, const void *from, uint64_t bytes);
void copy_fill(void *at, int value, uint64_t bytes);

#endif
