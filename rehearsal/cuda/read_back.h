/*
 * read_back.h - what a program was told that is not known. It read bytes of the device that were
 * not computed, and got zeros: which of PyTorch's operations read them, and for what. Or it asked a
 * library how much memory that wants for itself, and was told none, or what a formula says:
 *
 *     size NAME     the operation makes a tensor of a size that depends on them: nonzero, unique
 *     number NAME   a whole number or truth value for the program: item, equal
 *     lost NAME     one of both besides, where the bytes were known and there was no room for them
 *     library NAME  the function that was asked
 *     modelled NAME likewise, where a formula answered: measured on some GPU, taken for all
 *     outside NAME  who takes memory by itself, beside the program's allocator: NCCL
 *
 * Of what is copied to the host without such a purpose nothing is told, unless they are whole
 * numbers: losses, logs.
 */
#ifndef TIDEMARK_REHEARSAL_READ_BACK_H
#define TIDEMARK_REHEARSAL_READ_BACK_H

#include <stdbool.h>
#include <stdint.h>

/* `whole`: whole numbers or truth values should stand there. `lost`: they were known once, and gave
 * way to others. */
void read_back(uint64_t bytes, bool whole, bool lost);
void read_library(const char *function);
void read_modelled(const char *function);
void read_outside(const char *name);

#endif
