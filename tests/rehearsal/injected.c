/* A library that a driver is to load: it counts how often it is called, and calls the driver. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

int InitializeInjection(void);
int injected_called(void);

static int called;

int InitializeInjection(void)
{
    int (*init)(unsigned);
    void *library = dlopen(getenv("TIDEMARK_STANDIN"), RTLD_NOW | RTLD_NOLOAD);
    void *found = library ? dlsym(library, "cuInit") : NULL;
    memcpy(&init, &found, sizeof init);
    if (init)
        init(0);
    called++;
    return 1;
}

int injected_called(void)
{
    return called;
}
