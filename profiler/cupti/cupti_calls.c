/* cupti_calls.c - see cupti_calls.h. */
#include "cupti_calls.h"

#include "cupti_table.h"
#include "event.h"
#include "search.h"

/* A row: cbid, name, what it does, and further members by name. */
#define ROW(number, text, does, ...)                                                               \
    {                                                                                              \
        .cbid = number, .name = text, .action = does, __VA_ARGS__                                  \
    }
#define ALLOC(number, text, kind, bytes, ...)                                                      \
    ROW(number, text, CALL_ALLOC, .memory = kind, .size = bytes, __VA_ARGS__)
#define FREE(number, text, kind, ...) ROW(number, text, CALL_FREE, .memory = kind, __VA_ARGS__)
#define HERE .object = SPACE_ADDRESS

const struct call calls[] = {
    ROW(1, "cuInit", CALL_UNUSED, HERE),
    ROW(10, "cuCtxCreate", CALL_LOOK, HERE),
    ROW(11, "cuCtxDestroy", CALL_CLOSE, HERE),
    ROW(13, "cuCtxDetach", CALL_CLOSE, HERE),
    ROW(18, "cuModuleLoad", CALL_LOOK, HERE),
    ROW(19, "cuModuleLoadData", CALL_LOOK, HERE),
    ROW(20, "cuModuleLoadDataEx", CALL_LOOK, HERE),
    ROW(21, "cuModuleLoadFatBinary", CALL_LOOK, HERE),
    ROW(22, "cuModuleUnload", CALL_LOOK, HERE),
    ALLOC(29, "cuMemAlloc", DRIVER_DEVICE, SIZE_SECOND32, .narrow = 1),
    ALLOC(31, "cuMemAllocPitch", DRIVER_DEVICE, SIZE_PITCH32, .narrow = 1),
    FREE(33, "cuMemFree", DRIVER_DEVICE, .narrow = 1),
    ALLOC(37, "cuMemAllocHost", DRIVER_HOST, SIZE_SECOND32, HERE),
    FREE(38, "cuMemFreeHost", DRIVER_HOST, HERE),
    ALLOC(39, "cuMemHostAlloc", DRIVER_HOST, SIZE_SECOND, HERE),
    FREE(89, "cuArrayDestroy", DRIVER_ARRAY, .object = SPACE_ARRAY),
    ROW(136, "cuCtxSetLimit", CALL_LOOK, HERE),
    ROW(235, "cuCtxCreate", CALL_LOOK, HERE),
    ROW(242, "cuMemGetInfo", CALL_UNUSED, HERE),
    ALLOC(243, "cuMemAlloc", DRIVER_DEVICE, SIZE_SECOND, HERE),
    ALLOC(244, "cuMemAllocPitch", DRIVER_DEVICE, SIZE_PITCH, HERE),
    FREE(245, "cuMemFree", DRIVER_DEVICE, HERE),
    ALLOC(271, "cuMemHostAlloc", DRIVER_HOST, SIZE_SECOND, HERE),
    ALLOC(272, "cuArrayCreate", DRIVER_ARRAY, SIZE_ARRAY, .object = SPACE_ARRAY),
    ALLOC(274, "cuArray3DCreate", DRIVER_ARRAY, SIZE_ARRAY3D, .object = SPACE_ARRAY),
    ALLOC(294, "cuMemAllocHost", DRIVER_HOST, SIZE_SECOND, HERE),
    ROW(301, "cuMemHostRegister", CALL_REGISTER, .memory = DRIVER_REGISTERED, .size = SIZE_SECOND),
    FREE(302, "cuMemHostUnregister", DRIVER_REGISTERED, HERE),
    ROW(322, "cuCtxDestroy", CALL_CLOSE, HERE),
    ROW(328, "cuIpcGetMemHandle", CALL_UNUSED, HERE),
    ALLOC(329, "cuIpcOpenMemHandle", DRIVER_IMPORTED, SIZE_UNKNOWN, HERE),
    FREE(330, "cuIpcCloseMemHandle", DRIVER_IMPORTED, HERE),
    ALLOC(347, "cuMipmappedArrayCreate", DRIVER_ARRAY, SIZE_MIPMAP, .object = SPACE_ARRAY),
    FREE(349, "cuMipmappedArrayDestroy", DRIVER_ARRAY, .object = SPACE_ARRAY),
    ALLOC(371, "cuMemAllocManaged", DRIVER_MANAGED, SIZE_SECOND, HERE),
    ROW(379, "cuMemHostRegister", CALL_REGISTER, .memory = DRIVER_REGISTERED, .size = SIZE_SECOND),
    ROW(386, "cuDevicePrimaryCtxRetain", CALL_LOOK, HERE),
    ROW(387, "cuDevicePrimaryCtxRelease", CALL_CLOSE, HERE),
    ROW(389, "cuDevicePrimaryCtxReset", CALL_CLOSE, HERE),
    ALLOC(485, "cuImportExternalMemory", DRIVER_IMPORTED, SIZE_EXTERNAL, .object = SPACE_EXTERNAL),
    ROW(486, "cuExternalMemoryGetMappedBuffer", CALL_MAP_BUFFER, .object = SPACE_MAPPING),
    FREE(488, "cuDestroyExternalMemory", DRIVER_IMPORTED, .object = SPACE_EXTERNAL),
    ROW(495, "cuStreamBeginCapture", CALL_CAPTURE_BEGIN, HERE),
    ROW(496, "cuStreamBeginCapture", CALL_CAPTURE_BEGIN, HERE),
    ROW(497, "cuStreamEndCapture", CALL_CAPTURE_END, HERE),
    ROW(498, "cuStreamEndCapture", CALL_CAPTURE_END, HERE),
    ROW(513, "cuGraphInstantiate", CALL_GRAPH_READY, HERE),
    ROW(514, "cuGraphLaunch", CALL_UNUSED, HERE), /* too many; graphs are sampled */
    ROW(515, "cuGraphLaunch_ptsz", CALL_UNUSED, HERE),
    ROW(516, "cuGraphExecDestroy", CALL_UNUSED, HERE), /* frees nothing: see cupti_graph.c */
    ROW(517, "cuGraphDestroy", CALL_GRAPH_END, HERE),
    ROW(522, "cuGraphDestroyNode", CALL_UNUSED, HERE), /* not in graphs that have memory */
    ROW(523, "cuGraphClone", CALL_UNUSED, HERE),       /* nor of these */
    ROW(539, "cuStreamBeginCapture", CALL_CAPTURE_BEGIN, HERE),
    ROW(540, "cuStreamBeginCapture", CALL_CAPTURE_BEGIN, HERE),
    ROW(544, "cuDevicePrimaryCtxRelease", CALL_CLOSE, HERE),
    ROW(545, "cuDevicePrimaryCtxReset", CALL_CLOSE, HERE),
    ROW(547, "cuMemAddressReserve", CALL_UNUSED, HERE), /* addresses, no memory */
    ROW(548, "cuMemAddressFree", CALL_UNUSED, HERE),
    ROW(549, "cuMemCreate", CALL_CREATE, .memory = DRIVER_PHYSICAL, .size = SIZE_SECOND,
        .object = SPACE_HANDLE),
    ROW(550, "cuMemRelease", CALL_RELEASE, .memory = DRIVER_PHYSICAL, .object = SPACE_HANDLE),
    ROW(551, "cuMemMap", CALL_MAP, .size = SIZE_SECOND, .object = SPACE_MAPPING),
    ROW(552, "cuMemUnmap", CALL_UNMAP, .size = SIZE_SECOND, .object = SPACE_MAPPING),
    ROW(553, "cuMemSetAccess", CALL_UNUSED, HERE),
    ROW(554, "cuMemExportToShareableHandle", CALL_UNUSED, HERE),
    ROW(555, "cuMemImportFromShareableHandle", CALL_IMPORT, .memory = DRIVER_IMPORTED,
        .object = SPACE_HANDLE),
    ROW(565, "cuMemRetainAllocationHandle", CALL_RETAIN, .object = SPACE_HANDLE),
    ALLOC(567, "cuIpcOpenMemHandle", DRIVER_IMPORTED, SIZE_UNKNOWN, HERE),
    ROW(578, "cuGraphInstantiate", CALL_GRAPH_READY, HERE),
    ROW(584, "cuMemMapArrayAsync", CALL_UNUSED, HERE), /* of sparse arrays */
    ROW(585, "cuMemMapArrayAsync_ptsz", CALL_UNUSED, HERE),
    ALLOC(598, "cuMemAllocAsync", DRIVER_ASYNC, SIZE_SECOND, .stream_at = 16),
    ALLOC(599, "cuMemAllocAsync", DRIVER_ASYNC, SIZE_SECOND, .stream_at = 16),
    FREE(600, "cuMemFreeAsync", DRIVER_ASYNC, .stream_at = 8),
    FREE(601, "cuMemFreeAsync", DRIVER_ASYNC, .stream_at = 8),
    ROW(602, "cuMemPoolTrimTo", CALL_LOOK, HERE),
    ROW(603, "cuMemPoolSetAttribute", CALL_UNUSED, HERE),
    ALLOC(607, "cuMemPoolCreate", DRIVER_POOL, SIZE_UNKNOWN, .object = SPACE_POOL),
    FREE(608, "cuMemPoolDestroy", DRIVER_POOL, .object = SPACE_POOL),
    ROW(609, "cuDeviceSetMemPool", CALL_UNUSED, HERE),
    ALLOC(611, "cuMemAllocFromPoolAsync", DRIVER_ASYNC, SIZE_SECOND, .stream_at = 24),
    ALLOC(612, "cuMemAllocFromPoolAsync", DRIVER_ASYNC, SIZE_SECOND, .stream_at = 24),
    ROW(613, "cuMemPoolExportToShareableHandle", CALL_UNUSED, HERE),
    ALLOC(614, "cuMemPoolImportFromShareableHandle", DRIVER_IMPORTED, SIZE_UNKNOWN,
          .object = SPACE_POOL),
    ROW(615, "cuMemPoolExportPointer", CALL_UNUSED, HERE),
    ALLOC(616, "cuMemPoolImportPointer", DRIVER_IMPORTED, SIZE_UNKNOWN, HERE),
    ROW(638, "cuGraphAddMemAllocNode", CALL_GRAPH_ALLOC, .memory = DRIVER_GRAPH),
    ROW(639, "cuGraphAddMemFreeNode", CALL_GRAPH_FREE, .memory = DRIVER_GRAPH),
    ROW(640, "cuDeviceGraphMemTrim", CALL_LOOK, HERE),
    ROW(641, "cuDeviceGetGraphMemAttribute", CALL_UNUSED, HERE),
    ROW(642, "cuDeviceSetGraphMemAttribute", CALL_UNUSED, HERE),
    ROW(643, "cuGraphInstantiate", CALL_GRAPH_READY, HERE),
    ROW(645, "cuCtxCreate", CALL_LOOK, HERE),
    ROW(656, "cuGraphInstantiate", CALL_GRAPH_READY, HERE),
    ROW(657, "cuGraphInstantiate", CALL_GRAPH_READY, HERE),
    ROW(678, "cuLibraryLoadData", CALL_LOOK, HERE),
    ROW(679, "cuLibraryLoadFromFile", CALL_LOOK, HERE),
    ROW(680, "cuLibraryUnload", CALL_LOOK, HERE),
    /* It has no memory of its own, but is given back as handles are. */
    ROW(706, "cuMulticastCreate", CALL_IMPORT, .memory = DRIVER_IMPORTED, .object = SPACE_HANDLE),
    ROW(708, "cuMulticastBindMem", CALL_UNUSED, HERE),
    ROW(709, "cuMulticastBindAddr", CALL_UNUSED, HERE),
    ROW(710, "cuMulticastUnbind", CALL_UNUSED, HERE),
    ROW(720, "cuStreamBeginCaptureToGraph", CALL_CAPTURE_INTO, HERE),
    ROW(721, "cuStreamBeginCaptureToGraph", CALL_CAPTURE_INTO, HERE),
    ROW(743, "cuGreenCtxCreate", CALL_LOOK, HERE),
    ROW(744, "cuGreenCtxDestroy", CALL_CLOSE, HERE),
    ROW(757, "cuCtxCreate", CALL_LOOK, HERE),
    ROW(801, "cuMemGetDefaultMemPool", CALL_UNUSED, HERE),
    ROW(802, "cuMemGetMemPool", CALL_UNUSED, HERE),
    ROW(803, "cuMemSetMemPool", CALL_UNUSED, HERE),
};
const size_t calls_count = sizeof calls / sizeof *calls;

const struct runtime_call runtime_calls[] = {
    {20, "cudaMalloc"},
    {21, "cudaMallocPitch"},
    {22, "cudaFree"},
    {23, "cudaMallocArray"},
    {24, "cudaFreeArray"},
    {25, "cudaMallocHost"},
    {26, "cudaFreeHost"},
    {27, "cudaHostAlloc"},
    {140, "cudaMalloc3D"},
    {141, "cudaMalloc3DArray"},
    {152, "cudaHostRegister"},
    {153, "cudaHostUnregister"},
    {164, "cudaDeviceReset"},
    {179, "cudaIpcOpenMemHandle"},
    {180, "cudaIpcCloseMemHandle"},
    {192, "cudaMallocMipmappedArray"},
    {194, "cudaFreeMipmappedArray"},
    {206, "cudaMallocManaged"},
    {274, "cudaImportExternalMemory"},
    {275, "cudaExternalMemoryGetMappedBuffer"},
    {277, "cudaDestroyExternalMemory"},
    {373, "cudaMallocAsync"},
    {374, "cudaMallocAsync"},
    {375, "cudaFreeAsync"},
    {376, "cudaFreeAsync"},
    {377, "cudaMemPoolTrimTo"},
    {383, "cudaMemPoolCreate"},
    {384, "cudaMemPoolDestroy"},
    {388, "cudaMemPoolImportFromShareableHandle"},
    {390, "cudaMemPoolImportPointer"},
    {391, "cudaMallocFromPoolAsync"},
    {392, "cudaMallocFromPoolAsync"},
    {419, "cudaGraphAddMemAllocNode"},
    {421, "cudaGraphAddMemFreeNode"},
};
const size_t runtime_calls_count = sizeof runtime_calls / sizeof *runtime_calls;

const struct call *call_find(uint32_t cbid)
{
    size_t at;
    SEARCH_FIRST(at, 0, calls_count, calls[at].cbid < cbid);
    return at < calls_count && calls[at].cbid == cbid ? &calls[at] : NULL;
}

const char *runtime_call_name(uint32_t cbid)
{
    for (size_t i = 0; i < runtime_calls_count; i++)
        if (runtime_calls[i].cbid == cbid)
            return runtime_calls[i].name;
    return NULL;
}
