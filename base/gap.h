/* gap.h - why a source was not observed, in column gap.why: a tool by its name, or this word. */
#ifndef TIDEMARK_BASE_GAP_H
#define TIDEMARK_BASE_GAP_H
#define GAP_FATAL "a fatal error of CUDA's"
#endif
