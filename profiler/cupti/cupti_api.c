/* cupti_api.c - see cupti_api.h. */
#include "cupti_api.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "dynlink.h"

#define PATH_BYTES ((size_t)1024)

struct cupti_api cupti_api;
struct driver_api driver_api;

/* ---- the functions ---- */

struct function {
    size_t at; /* offset in the table */
    const char *name;
    bool optional;
};

static bool fill(void *table, void *library, const struct function *functions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *address = dynlink_dlsym(library, functions[i].name);
        if (!address && !functions[i].optional)
            return false;
        memcpy((char *)table + functions[i].at, &address, sizeof address);
    }
    return true;
}

#define CUPTI(member, name, optional)                                                              \
    {                                                                                              \
        offsetof(struct cupti_api, member), name, optional                                         \
    }
static const struct function cupti_functions[] = {
    CUPTI(get_version, "cuptiGetVersion", false),
    CUPTI(get_result_string, "cuptiGetResultString", true),
    CUPTI(get_timestamp, "cuptiGetTimestamp", true),
    CUPTI(subscribe, "cuptiSubscribe", false),
    CUPTI(subscribe_v2, "cuptiSubscribe_v2", true),
    CUPTI(unsubscribe, "cuptiUnsubscribe", false),
    CUPTI(enable_callback, "cuptiEnableCallback", false),
    CUPTI(get_device, "cuptiGetDeviceId", true),
    CUPTI(register_buffers, "cuptiActivityRegisterCallbacks", true),
    CUPTI(activity_enable, "cuptiActivityEnable", true),
    CUPTI(activity_disable, "cuptiActivityDisable", true),
    CUPTI(activity_flush, "cuptiActivityFlushAll", true),
    CUPTI(next_record, "cuptiActivityGetNextRecord", true),
    CUPTI(dropped, "cuptiActivityGetNumDroppedRecords", true),
    CUPTI(set_attribute, "cuptiActivitySetAttribute", true),
};

#define DRIVER(member, name)                                                                       \
    {                                                                                              \
        offsetof(struct driver_api, member), name, true                                            \
    }
static const struct function driver_functions[] = {
    DRIVER(get_info, "cuMemGetInfo_v2"),
    DRIVER(context, "cuCtxGetCurrent"),
    DRIVER(device, "cuCtxGetDevice"),
    DRIVER(version, "cuDriverGetVersion"),
    DRIVER(default_pool, "cuDeviceGetDefaultMemPool"),
    DRIVER(pool_attribute, "cuMemPoolGetAttribute"),
    DRIVER(graph_attribute, "cuDeviceGetGraphMemAttribute"),
    DRIVER(capture_mode, "cuThreadExchangeStreamCaptureMode"),
    DRIVER(pointer_attribute, "cuPointerGetAttribute"),
    DRIVER(push, "cuCtxPushCurrent_v2"),
    DRIVER(pop, "cuCtxPopCurrent_v2"),
};

bool driver_api_find(void)
{
    void *library = dynlink_loaded("libcuda.so");
    return library && fill(&driver_api, library, driver_functions,
                           sizeof driver_functions / sizeof *driver_functions);
}

/* ---- where CUPTI may be ---- */

struct path {
    char text[PATH_BYTES];
};

/* Appends as much as fits; a path that was cut names nothing. */
static void append(struct path *path, const char *text)
{
    size_t used = strlen(path->text), bytes = strlen(text);
    if (used + bytes >= sizeof path->text)
        bytes = sizeof path->text - used - 1;
    memcpy(path->text + used, text, bytes);
    path->text[used + bytes] = '\0';
}

/* Cuts the last `parts` parts off; false if there are not so many. */
static bool cut(struct path *path, int parts)
{
    for (int i = 0; i < parts; i++) {
        char *slash = strrchr(path->text, '/');
        if (!slash)
            return false;
        *slash = '\0';
    }
    return true;
}

struct beside {
    const char *library; /* a loaded one, by the beginning of its name */
    int up;              /* parts of its path that go */
    const char *down;
};

/* A wheel: nvidia/cuda_runtime/lib/libcudart.so.12, nvidia/cu13/lib/libcudart.so.13,
 * torch/lib/libtorch.so. */
static const struct beside besides[] = {
    {"libcudart.so", 1, "/libcupti.so.13"},
    {"libcudart.so", 1, "/libcupti.so.12"},
    {"libcudart.so", 3, "/cuda_cupti/lib/libcupti.so.12"},
    {"libcudart.so", 2, "/extras/CUPTI/lib64/libcupti.so.13"},
    {"libcudart.so", 2, "/extras/CUPTI/lib64/libcupti.so.12"},
    {"libtorch.so", 3, "/nvidia/cu13/lib/libcupti.so.13"},
    {"libtorch.so", 3, "/nvidia/cuda_cupti/lib/libcupti.so.12"},
    {"libtorch_cpu.so", 3, "/nvidia/cu13/lib/libcupti.so.13"},
    {"libtorch_cpu.so", 3, "/nvidia/cuda_cupti/lib/libcupti.so.12"},
};
#define BESIDES ((int)(sizeof besides / sizeof *besides))

static int find_path(struct dl_phdr_info *object, size_t size, void *argument)
{
    struct path *path = argument;
    const char *name = object->dlpi_name ? object->dlpi_name : "";
    const char *slash = strrchr(name, '/');
    (void)size;
    if (!slash || strncmp(slash + 1, path->text, strlen(path->text)) != 0)
        return 0;
    path->text[0] = '\0';
    append(path, name);
    return 1;
}

static bool path_beside(const struct beside *beside, struct path *path)
{
    append(path, beside->library);
    if (dl_iterate_phdr(find_path, path) == 0 || !cut(path, beside->up))
        return false;
    append(path, beside->down);
    return true;
}

/* Under the folder of a toolkit. */
static const char *const in_toolkit[] = {
    "/lib64/libcupti.so.13",
    "/lib64/libcupti.so.12",
    "/extras/CUPTI/lib64/libcupti.so.13",
    "/extras/CUPTI/lib64/libcupti.so.12",
};
static const char *const toolkits[] = {"CUDA_HOME", "CUDA_PATH", NULL};
#define IN_TOOLKIT ((int)(sizeof in_toolkit / sizeof *in_toolkit))
#define TOOLKITS ((int)(sizeof toolkits / sizeof *toolkits))

static bool path_in_toolkit(int index, struct path *path)
{
    const char *variable = toolkits[index / IN_TOOLKIT];
    const char *root = variable ? getenv(variable) : "/usr/local/cuda";
    if (!root || !*root)
        return false;
    append(path, root);
    append(path, in_toolkit[index % IN_TOOLKIT]);
    return true;
}

/* A stand-in for the driver brings CUPTI's functions with it; a driver has none of them. */
enum { STAND_IN, LOADED, GIVEN, SONAME_13, SONAME_12, IN_TOOLKITS };

/* The path of a candidate that is not loaded yet. */
static bool path_of(int index, struct path *path)
{
    const char *given = getenv("TIDEMARK_CUPTI");
    if (index == GIVEN) {
        if (!given || !*given)
            return false;
        append(path, given);
        return true;
    }
    if (index == SONAME_13 || index == SONAME_12) {
        append(path, index == SONAME_13 ? "libcupti.so.13" : "libcupti.so.12");
        return true;
    }
    if (index < IN_TOOLKITS + IN_TOOLKIT * TOOLKITS)
        return path_in_toolkit(index - IN_TOOLKITS, path);
    return path_beside(&besides[index - IN_TOOLKITS - IN_TOOLKIT * TOOLKITS], path);
}

bool cupti_api_is_shared(void)
{
    void *library = dynlink_loaded("libcuda.so");
    return library && dynlink_dlsym(library, "cuptiSubscribe");
}

int cupti_api_try(int index, uint32_t *version)
{
    struct path path = {""};
    void *library = NULL;
    struct cupti_api found = {0};
    if (index >= IN_TOOLKITS + IN_TOOLKIT * TOOLKITS + BESIDES)
        return -1;
    if (index == STAND_IN)
        library = dynlink_loaded("libcuda.so");
    else if (index == LOADED)
        library = dynlink_loaded("libcupti.so");
    else if (path_of(index, &path))
        library = dynlink_open(path.text);
    if (!library ||
        !fill(&found, library, cupti_functions, sizeof cupti_functions / sizeof *cupti_functions))
        return 0;
    *version = 0;
    if (found.get_version(version) != ABI_OK)
        return 0;
    cupti_api = found;
    return 1;
}
