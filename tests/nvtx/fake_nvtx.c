/* fake_nvtx.c - see fake_nvtx.h. What an injection leaves alone does nothing and returns 0, as
 * functions without one do; a push and a pop then say that nobody counts. */
#include "fake_nvtx.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef void (*function)(void);
typedef const void *(*export_table)(uint32_t what);

enum { MARK_EX = 1, MARK_A, RANGE_START_A = 5, RANGE_END = 7, PUSH_A = 9, PUSH_W, POP };
enum { DOMAIN_MARK_EX = 1, DOMAIN_START_EX, DOMAIN_END, DOMAIN_PUSH_EX, DOMAIN_POP };
enum { REGISTER_A = 10, CREATE_A = 12, PLACES = 16 };

static function core[PLACES], core2[PLACES];
static function *core_table[PLACES + 1], *core2_table[PLACES + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int module_table(int module, function ***table, unsigned *count)
{
    *table = module == 1 ? core_table : core2_table;
    *count = PLACES;
    return module == 1 || module == 5;
}

static const struct {
    size_t size;
    int (*module_table)(int, function ***, unsigned *);
} callbacks = {sizeof callbacks, module_table};

static const void *export(uint32_t what)
{
    return what == 1 ? &callbacks : NULL;
}

static void load(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path && *path ? dlopen(path, RTLD_LAZY) : NULL;
    union {
        void *from;
        int (*to)(export_table);
    } initialize = {.from = library ? dlsym(library, "InitializeInjectionNvtx2") : NULL};
    for (unsigned i = 1; i < PLACES; i++) {
        core_table[i] = &core[i];
        core2_table[i] = &core2[i];
    }
    if (initialize.from && initialize.to(export))
        return;
    memset(core, 0, sizeof core);
    memset(core2, 0, sizeof core2);
    if (library)
        dlclose(library);
}

static function get(const function table[PLACES], int place)
{
    pthread_once(&once, load);
    return table[place];
}

void nvtxMarkA(const char *message)
{
    void (*call)(const char *) = (void (*)(const char *))get(core, MARK_A);
    if (call)
        call(message);
}

void nvtxMarkEx(const nvtxEventAttributes_t *attributes)
{
    void (*call)(const nvtxEventAttributes_t *) =
        (void (*)(const nvtxEventAttributes_t *))get(core, MARK_EX);
    if (call)
        call(attributes);
}

nvtxRangeId_t nvtxRangeStartA(const char *message)
{
    nvtxRangeId_t (*call)(const char *) = (nvtxRangeId_t(*)(const char *))get(core, RANGE_START_A);
    return call ? call(message) : 0;
}

void nvtxRangeEnd(nvtxRangeId_t id)
{
    void (*call)(nvtxRangeId_t) = (void (*)(nvtxRangeId_t))get(core, RANGE_END);
    if (call)
        call(id);
}

int nvtxRangePushA(const char *message)
{
    int (*call)(const char *) = (int (*)(const char *))get(core, PUSH_A);
    return call ? call(message) : -2;
}

int nvtxRangePushW(const wchar_t *message)
{
    int (*call)(const wchar_t *) = (int (*)(const wchar_t *))get(core, PUSH_W);
    return call ? call(message) : -2;
}

int nvtxRangePop(void)
{
    int (*call)(void) = (int (*)(void))get(core, POP);
    return call ? call() : -2;
}

void nvtxDomainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    void (*call)(nvtxDomainHandle_t, const nvtxEventAttributes_t *) =
        (void (*)(nvtxDomainHandle_t, const nvtxEventAttributes_t *))get(core2, DOMAIN_MARK_EX);
    if (call)
        call(domain, attributes);
}

nvtxRangeId_t nvtxDomainRangeStartEx(nvtxDomainHandle_t domain,
                                     const nvtxEventAttributes_t *attributes)
{
    nvtxRangeId_t (*call)(nvtxDomainHandle_t, const nvtxEventAttributes_t *) =
        (nvtxRangeId_t(*)(nvtxDomainHandle_t, const nvtxEventAttributes_t *))get(core2,
                                                                                 DOMAIN_START_EX);
    return call ? call(domain, attributes) : 0;
}

void nvtxDomainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
    void (*call)(nvtxDomainHandle_t, nvtxRangeId_t) =
        (void (*)(nvtxDomainHandle_t, nvtxRangeId_t))get(core2, DOMAIN_END);
    if (call)
        call(domain, id);
}

int nvtxDomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    int (*call)(nvtxDomainHandle_t, const nvtxEventAttributes_t *) =
        (int (*)(nvtxDomainHandle_t, const nvtxEventAttributes_t *))get(core2, DOMAIN_PUSH_EX);
    return call ? call(domain, attributes) : -2;
}

int nvtxDomainRangePop(nvtxDomainHandle_t domain)
{
    int (*call)(nvtxDomainHandle_t) = (int (*)(nvtxDomainHandle_t))get(core2, DOMAIN_POP);
    return call ? call(domain) : -2;
}

nvtxDomainHandle_t nvtxDomainCreateA(const char *name)
{
    nvtxDomainHandle_t (*call)(const char *) =
        (nvtxDomainHandle_t(*)(const char *))get(core2, CREATE_A);
    return call ? call(name) : NULL;
}

nvtxStringHandle_t nvtxDomainRegisterStringA(nvtxDomainHandle_t domain, const char *string)
{
    nvtxStringHandle_t (*call)(nvtxDomainHandle_t, const char *) =
        (nvtxStringHandle_t(*)(nvtxDomainHandle_t, const char *))get(core2, REGISTER_A);
    return call ? call(domain, string) : NULL;
}
