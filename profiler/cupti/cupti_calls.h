/*
 * cupti_calls.h - the calls of the driver that have to do with memory: one row for each, which says
 * all that the decoder needs. And the runtime's calls that lead to them, for their names.
 */
#ifndef TIDEMARK_PROFILER_CUPTI_CALLS_H
#define TIDEMARK_PROFILER_CUPTI_CALLS_H

#include <stddef.h>
#include <stdint.h>

/* What a call does. In all of them the first parameter, 8 bytes, is a pointer to what it gives
 * (outputs: read at exit if it succeeded) or the thing itself (inputs: read at enter). */
enum call_action {
    CALL_UNUSED = 0,    /* changes nobody's memory; not subscribed */
    CALL_CAPTURE_BEGIN, /* first: a stream whose work becomes nodes of a graph */
    CALL_CAPTURE_INTO,  /* the same; second: the graph */
    CALL_CAPTURE_END,   /* *second: the graph */
    CALL_LOOK,          /* may change what the device has: worth a sample soon */
    CALL_GRAPH_READY,   /* second: a graph that can be launched now */
    CALL_GRAPH_END,     /* first: a graph that is destroyed */
    CALL_CLOSE,         /* may destroy a context, and all that is in it */
    CALL_ALLOC,         /* *first is new */
    CALL_REGISTER,      /* first: the host's own memory, which is pinned now */
    CALL_FREE,          /* first is given back */
    CALL_CREATE,        /* *first: physical memory */
    CALL_IMPORT,        /* *first: a handle to another process's, or to no memory of its own */
    CALL_RELEASE,       /* first: a handle, one reference less */
    CALL_RETAIN,        /* *first: a handle, one reference more */
    CALL_MAP,           /* first: addresses that now show a handle */
    CALL_UNMAP,
    CALL_MAP_BUFFER,  /* *first: addresses that show imported memory */
    CALL_GRAPH_ALLOC, /* the address is in the node's parameters */
    CALL_GRAPH_FREE,
};

/* Where the bytes of what was given stand. */
enum call_size {
    SIZE_UNKNOWN = 0,
    SIZE_SECOND,   /* the second parameter */
    SIZE_SECOND32, /* the second, of 32 bits: the first versions of CUDA */
    SIZE_PITCH,    /* *second times the height */
    SIZE_PITCH32,
    SIZE_ARRAY, /* of a descriptor: elements times their bytes */
    SIZE_ARRAY3D,
    SIZE_MIPMAP,
    SIZE_EXTERNAL, /* of a descriptor */
};

struct call {
    uint16_t cbid;
    uint8_t action;    /* enum call_action */
    uint8_t memory;    /* enum driver_memory of what is given; of a free, if it was not known */
    uint8_t size;      /* enum call_size */
    uint8_t stream_at; /* offset of the stream among the parameters, 0 = none */
    uint8_t narrow;    /* addresses have 32 bits */
    uint8_t object;    /* the first parameter is no address: enum live_space */
    const char *name;
};

/* In the order of cbid. */
extern const struct call calls[];
extern const size_t calls_count;
/* NULL: none that we know. */
const struct call *call_find(uint32_t cbid);

struct runtime_call {
    uint16_t cbid;
    const char *name;
};
extern const struct runtime_call runtime_calls[];
extern const size_t runtime_calls_count;
const char *runtime_call_name(uint32_t cbid);

#endif
