/*
 * dnn_transforms.h - the workspace of a convolution by transforms (FFT), which cuDNN has in fp32,
 * in two dimensions, without groups and dilation.
 *
 * A spectrum of a plane that is filled up to a power of two, `side`, has side x (side / 2 + 1)
 * complex numbers. Products of spectra need each pair of channels, in x out, and the images:
 *
 *   - forward: w, and twice the spectra of w and x, or of y if these are more;
 *   - weights: y, and twice the spectra of w, or of x and y;
 *   - what goes in: tiles of 32 x 32, two at a time if the plane is larger. With a stride of two a
 *     plane is four, and x, w and y are copied in such parts. None for kernels of less than 3 x 3;
 *   - with channels last all three are copied besides.
 */
#ifndef TIDEMARK_REHEARSAL_DNN_TRANSFORMS_H
#define TIDEMARK_REHEARSAL_DNN_TRANSFORMS_H

#include "dnn_workspace.h"

/* Where cudnn.benchmark tries one; 0: it does not, by how often it was seen to. For a pointwise
 * forward it does less often, and not for the largest planes. */
int64_t dnn_transforms(const struct dnn_work *work);
/* A plane of at most 256, filled up: cuDNN has no larger transform. */
bool dnn_fits_a_side(const struct dnn_work *work);
/* Of a forward, or of the weights' gradient, with channels first, whose plane fits. */
int64_t dnn_spectra(const struct dnn_work *work);

#endif
