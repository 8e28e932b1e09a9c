/*
 * reals.h - floats that came of whole numbers: a mask that is summed up as float, a length times a
 * ratio that is rounded up; and single numbers, which optimizers count in. What else the program
 * itself brings as floats is compared with others and nothing more. Nor is computed what the device
 * rounds in a way of its own, a sum whose parts do not fit or a function that is no arithmetic.
 * What is computed is what the device has, bit by bit.
 */
#ifndef TIDEMARK_REHEARSAL_REALS_H
#define TIDEMARK_REHEARSAL_REALS_H

#include "functor.h"
#include "offsets.h"
#include "pieces.h"

#define REALS_MOST (UINT64_C(1) << 16) /* elements: larger ones are activations */
#define REALS_MASK (UINT64_C(1) << 18) /* of a mask of what may attend to what */

/* 'f' and 'd', which kernel_type_bytes does not count. */
bool real_is(char type);
/* Bytes of a whole number or of a float. */
uint32_t real_bytes(char type);

/* Reads the numbers that a functor of floats holds. False: this form is not known. */
struct real_call {
    const struct kernel *kernel;
    double first, second;
    int32_t which;
};
bool real_read(const struct kernel *kernel, const void *functor, struct real_call *call);

/* One number in memory. False: it is none, or too large for each whole number to be one. */
bool real_load(char type, const void *at, double *value);

/* One element of the inputs, of these types, the output's first. False: not known. */
bool real_element(const struct real_call *call, const char *types, const uint8_t *const *in,
                  uint8_t *out);
/* Of how many elements at most: 0, it is nothing that is computed. */
uint64_t real_most(const struct real_call *call);

/* Elements as they lie in memory, of these types, the output's first. False: not known. */
bool real_compute(const struct real_call *call, const struct offsets *offsets, const char *types,
                  uint64_t count, const struct piece *in, uint8_t *out);

/* One group of a reduction; `factor` of a mean. False: not known. */
bool real_reduce(enum kernel_op op, char type, const uint8_t *from, const struct offsets *offsets,
                 uint64_t count, float factor, uint8_t *result);

#endif
