/*
 * cupti_idle.c - why the driver never started the CUPTI source in this process: one sentence. And
 * where it did, but CUDA itself then found nothing to run on: CUPTI refuses there without a reason.
 *
 * Nothing is loaded and CUDA is not started to find out.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cupti_life.h"
#include "cupti_api.h"
#include "dynlink.h"
#include "guest.h"
#include "notes.h"

#define TEXT_BYTES 160

/* What cuCtxGetCurrent says where cuInit was not called, or failed. After it, and when the driver
 * has shut itself down, which it does before the end of this library, it says other things. */
#define CUDA_NOT_STARTED 3

static const char here; /* an address in this library */

static bool exists(const char *path)
{
    return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}

/* The kernel's side of a driver; on WSL it is another one. */
static bool machine_has_driver(void)
{
    return exists("/proc/driver/nvidia/version") || exists("/dev/nvidiactl") || exists("/dev/dxg");
}

/* The injection variable is set, and not to this file. */
static bool is_foreign(const char *injection)
{
    char path[4096];
    const char *ours = dynlink_path_of(&here, path, sizeof path) ? path : "";
    const char *slash = strrchr(injection, '/');
    return *injection && strcmp(injection, ours) != 0 &&
           strcmp(slash ? slash + 1 : injection, "libtidemark.so") != 0;
}

static void say_foreign(const char *injection)
{
    static const char begin[] = "cupti: another tool is injected into CUDA, and left alone: ";
    char text[TEXT_BYTES];
    size_t room = sizeof text - sizeof begin, bytes = strnlen(injection, room);
    memcpy(text, begin, sizeof begin - 1);
    memcpy(text + sizeof begin - 1, injection, bytes);
    text[sizeof begin - 1 + bytes] = '\0';
    notes_why_not(text);
}

/* A sentence on a process whose libcuda is loaded. */
static const char *with_driver(bool injected)
{
    int version = 0;
    const void *context;
    int result = driver_api.version ? driver_api.version(&version) : 0;
    if (result == ABI_CUDA_STUB)
        return "cupti: the libcuda.so.1 that was found is the toolkit's stub, not a driver";
    if (!driver_api.context || driver_api.context(&context) == CUDA_NOT_STARTED)
        return "cupti: the program did not start CUDA";
    return injected ? "cupti: CUDA has started, but its driver did not call us"
                    : "cupti: CUDA has started, but CUDA_INJECTION64_PATH was not set";
}

static const char *without_driver(void)
{
    if (machine_has_driver())
        return "cupti: the program did not use CUDA";
    if (dynlink_loaded("libcudart.so") || dynlink_loaded("libtorch_cuda"))
        return "cupti: CUDA's libraries are here, but no driver: there is no libcuda.so.1";
    return "cupti: there is no NVIDIA driver on this machine";
}

/* Whether CUDA could have been of any use to this program: one that has nothing to do with it is
 * not told of it. A program with a static CUDA runtime shows itself once it has found a driver. */
static bool is_of_concern(void)
{
    return dynlink_loaded("libcuda.so") || dynlink_loaded("libcudart.so") ||
           dynlink_loaded("libtorch_cpu.so") || dynlink_loaded("libtorch.so");
}

static void find_reason(void)
{
    const char *given = getenv("TIDEMARK_CUPTI");
    const char *injection = getenv("CUDA_INJECTION64_PATH");
    injection = injection ? injection : "";
    if (given && strcmp(given, "0") == 0)
        notes_why_not("cupti: turned off");
    else if (is_foreign(injection))
        say_foreign(injection);
    else
        notes_why_not(driver_api_find() ? with_driver(*injection != '\0') : without_driver());
}

/* Asked of a driver that had called us in this very process: a forked child has the word of its
 * parent, and a driver that is not to be asked. It calls before it looks for devices. */
static bool cuda_found_nothing(void)
{
    const void *context;
    return atomic_load(&guest.page->cuda_called) && cupti_life() == CUPTI_OFF &&
           driver_api.context && driver_api.context(&context) == CUDA_NOT_STARTED;
}

/* A process that reported nothing has no ring; CUDA's own are worth one for this sentence. */
static bool has_ring(void)
{
    uint32_t state = guest.page ? atomic_load(&guest.page->state) : GUEST_OFF;
    if (state == GUEST_ON)
        return true;
    return state != GUEST_OFF && (dynlink_loaded("libcuda.so") || dynlink_loaded("libcudart.so")) &&
           guest_live();
}

static void say(void)
{
    if (cuda_found_nothing())
        notes_why_not("cupti: CUDA did not start: its driver found no device that it can use");
    else if (cupti_life() == CUPTI_NONE && is_of_concern())
        find_reason();
    notes_send();
}

void cupti_say_why_not(void)
{
    static _Atomic bool said;
    int saved = errno;
    if (has_ring() && !atomic_exchange(&said, true))
        say();
    errno = saved;
}
