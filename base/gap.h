/*
 * gap.h - why a source was not heard for a while, as the guest names it and column gap.why stores
 * it: a tool by its name, or one of these words.
 */
#ifndef TIDEMARK_BASE_GAP_H
#define TIDEMARK_BASE_GAP_H

#define GAP_FATAL "a fatal error of CUDA's"

#endif
