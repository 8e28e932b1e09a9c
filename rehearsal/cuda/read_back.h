/*
 * read_back.h - a program read bytes of the device that were not computed, and got zeros. Which of
 * PyTorch's operations read them, and for what:
 *
 *     size NAME     the operation makes a tensor of a size that depends on them: nonzero, unique
 *     number NAME   a whole number or truth value for the program: item, equal
 *
 * Of what is copied to the host without such a purpose nothing is told: losses, logs.
 */
#ifndef TIDEMARK_REHEARSAL_READ_BACK_H
#define TIDEMARK_REHEARSAL_READ_BACK_H

#include <stdint.h>

void read_back(uint64_t bytes);

#endif
