/* inject.c - a library for CUDA_INJECTION64_PATH that does nothing but answer, with ANSWER. */
#include <stdio.h>

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
    printf("injected, answers %d; ", ANSWER);
    fflush(stdout);
    return ANSWER;
}
