/*
 * dnn_trials.h - the largest workspace among all kernels that cuDNN has for a convolution, as far
 * as a program that tries them out asks for it.
 */
#ifndef TIDEMARK_REHEARSAL_DNN_TRIALS_H
#define TIDEMARK_REHEARSAL_DNN_TRIALS_H

#include "dnn_workspace.h"

/* Never less than dnn_workspace has for the same work. False: no rule is known, and `bytes` is 0.
 */
bool dnn_trial_workspace(const struct dnn_work *work, int32_t capability, int32_t sms,
                         int64_t *bytes);

#endif
