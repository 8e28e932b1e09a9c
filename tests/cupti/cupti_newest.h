/*
 * cupti_newest.h - the activity records as this toolkit's CUPTI writes them: each kind's newest
 * struct. Which number that is, the toolkit does not say; it grows from one version to the next.
 */
#ifndef TIDEMARK_TESTS_CUPTI_NEWEST_H
#define TIDEMARK_TESTS_CUPTI_NEWEST_H

#include <cuda.h>
#include <cupti.h>

#include <dlfcn.h>
#include <stdbool.h>

#if CUPTI_API_VERSION >= 130400
typedef CUpti_ActivityKernel13 newest_kernel;
typedef CUpti_ActivityMemcpy7 newest_memcpy;
typedef CUpti_ActivityMemset5 newest_memset;
#elif CUPTI_API_VERSION >= 130300
typedef CUpti_ActivityKernel12 newest_kernel;
#elif CUPTI_API_VERSION >= 130100
typedef CUpti_ActivityKernel11 newest_kernel;
#elif CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 newest_kernel;
#elif CUDA_VERSION >= 12000
typedef CUpti_ActivityKernel9 newest_kernel;
#else
typedef CUpti_ActivityKernel8 newest_kernel;
#endif

#if CUPTI_API_VERSION < 130400
#if CUPTI_API_VERSION >= 26 /* 12.8 */
typedef CUpti_ActivityMemcpy6 newest_memcpy;
#else
typedef CUpti_ActivityMemcpy5 newest_memcpy;
#endif
typedef CUpti_ActivityMemset4 newest_memset;
#endif

#if CUPTI_API_VERSION >= 24 /* 12.6 */
typedef CUpti_ActivityMemory4 newest_memory;
#else
typedef CUpti_ActivityMemory3 newest_memory;
#endif

#if CUPTI_API_VERSION >= 21 /* 12.3 */
typedef CUpti_ActivityGraphTrace2 newest_graph_trace;
#else
typedef CUpti_ActivityGraphTrace newest_graph_trace;
#endif

/* From 13.2 on the library starts itself at any call, and wants a driver for it; 13.2's calls
 * itself for ever where there is none. */
static inline bool cupti_has_its_driver(void)
{
    return CUPTI_API_VERSION < 130200 || dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) != NULL;
}

#endif
