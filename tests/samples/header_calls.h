/* header_calls.h - every call of tidemark.h, from a source file of each language. */
#ifndef TIDEMARK_TESTS_SAMPLES_HEADER_CALLS_H
#define TIDEMARK_TESTS_SAMPLES_HEADER_CALLS_H

#ifdef __cplusplus
extern "C" {
#endif

struct call_results {
    int recording;
    unsigned heap;
    unsigned site, python_site;
};

struct call_results calls_from_c99(void);
struct call_results calls_from_cxx(void);
/* The address of the client in each file: the linker makes them one. */
const void *client_of_c99(void);
const void *client_of_cxx(void);

#ifdef __cplusplus
}
#endif

#endif
