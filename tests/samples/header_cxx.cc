/* Compiled as C++11, with all warnings: the header must be silent in both languages. */
#include "header_calls.h"
#include "tidemark.h"

struct call_results calls_from_cxx(void)
{
    static char memory[256];
    struct call_results results;
    tidemark_heap_t heap = tidemark_heap_open(TIDEMARK_DEVICE_OTHER, -1, "cxx");
    results.recording = tidemark_recording();
    results.heap = heap;
    results.site = TIDEMARK_SITE();
    tidemark_segment_alloc(heap, memory, sizeof memory);
    tidemark_step_begin(7);
    tidemark_phase_begin("forward");
    tidemark_alloc(heap, memory, 128);
    tidemark_tag(heap, memory, 128, TIDEMARK_ACTIVATION, "memory");
    tidemark_oom(heap, 1000, results.site);
    tidemark_mark("loss", -3);
    tidemark_phase_end(0);
    tidemark_step_end();
    tidemark_free(heap, memory);
    tidemark_segment_free(heap, memory);
    tidemark_segment_map(heap, memory, 64);
    tidemark_alloc_at(heap, memory, 64, results.site);
    tidemark_free_waits(heap, memory);
    tidemark_idle(heap, memory);
    tidemark_segment_unmap(heap, memory, 64);
    tidemark_setting(heap, "limit", "64");
    results.python_site = tidemark_python_site();
    return results;
}

const void *client_of_cxx(void)
{
    return &tidemark_client_;
}
