/*
 * pyboot.c - see pyboot.h.
 *
 * Py_AddPendingCall may be called from any thread without the GIL; the interpreter runs the call in
 * its main thread between two byte codes. The call executes python/tidemark/_boot.py in a
 * dictionary of its own. While torch is still being imported that does nothing, and it is queued
 * again at a later attempt; a main thread that waits in C for ever never runs it.
 *
 *     IDLE --attempt--> QUEUED --ran, no helper--> IDLE
 *       \--no Python, or the last attempt--> DONE <--the helper arrived--
 *
 * In an armed program each recording begins at IDLE: the helper, which may be there from the last
 * one, arrives anew.
 */
#include "pyboot.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dynlink.h"
#include "guest.h"
#include "notes.h"
#include "torch_hook.h"

#define ATTEMPTS 20u /* the last is at report 2^20 or so */
/* Of an armed program, which may be in the middle of a forward: at each 64th report. */
#define ARMED_ATTEMPTS 4096u

enum boot_state { BOOT_IDLE, BOOT_QUEUED, BOOT_DONE };

static _Atomic uint32_t state; /* enum boot_state */
static _Atomic uint32_t attempts;
static _Atomic uint32_t
    recording;          /* guest.generation of an armed program, as of the last attempt */
static const char here; /* an address in this library */

/* The interpreter that the program runs; found by name, for the program may have none. */
typedef struct python_object *(*object_fn)(void);
static struct {
    int (*is_initialized)(void);
    int (*add_pending_call)(int (*call)(void *), void *argument);
    object_fn dict_new;
    int (*dict_set)(struct python_object *dict, const char *key, struct python_object *value);
    object_fn builtins;
    struct python_object *(*path_text)(const char *path);
    struct python_object *(*run)(const char *code, int start, struct python_object *globals,
                                 struct python_object *locals, void *flags);
    void (*err_clear)(void);
    int (*err_matches)(struct python_object *type);
    struct python_object **exception; /* the class Exception */
    void (*release)(struct python_object *object);
} python;
#define PYTHON_FILE_INPUT 257 /* Py_file_input, the same in every CPython 3 */

static bool find(void *function, const char *name)
{
    void *address = dynlink_dlsym(NULL, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static bool find_python(void)
{
    return find(&python.is_initialized, "Py_IsInitialized") &&
           find(&python.add_pending_call, "Py_AddPendingCall") &&
           find(&python.dict_new, "PyDict_New") && find(&python.dict_set, "PyDict_SetItemString") &&
           find(&python.builtins, "PyEval_GetBuiltins") &&
           find(&python.path_text, "PyUnicode_DecodeFSDefault") &&
           find(&python.run, "PyRun_StringFlags") && find(&python.err_clear, "PyErr_Clear") &&
           find(&python.err_matches, "PyErr_ExceptionMatches") &&
           find(&python.exception, "PyExc_Exception") && find(&python.release, "Py_DecRef");
}

/* The folder of the helper: TIDEMARK_PYTHON, or python/ beside this library. */
static bool helper_folder(char *path, size_t bytes)
{
    const char *given = getenv("TIDEMARK_PYTHON");
    if (given && *given && strlen(given) < bytes) {
        memcpy(path, given, strlen(given) + 1);
        return true;
    }
    if (!dynlink_path_of(&here, path, bytes))
        return false;
    char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash - path) + sizeof "/python" > bytes)
        return false;
    memcpy(slash, "/python", sizeof "/python");
    return true;
}

/* With the GIL. An exception of ours must not reach the program's next byte code. What is no
 * Exception came from a signal's handler meanwhile, a KeyboardInterrupt or the exit that a handler
 * asks for: that is the program's own, and raised. Returns 0, or -1 with it. */
static int run_boot(const char *folder)
{
    static const char code[] = "path = folder + '/tidemark/_boot.py'\n"
                               "with open(path, 'rb') as file:\n"
                               "    text = file.read()\n"
                               "exec(compile(text, path, 'exec'), {'__name__': 'tidemark._boot',"
                               " 'folder': folder, 'armed': armed})\n";
    struct python_object *dict = python.dict_new();
    struct python_object *text = dict ? python.path_text(folder) : NULL;
    struct python_object *armed = dict ? python.path_text(guest.armed ? "armed" : "") : NULL;
    struct python_object *result = NULL;
    if (text && armed && python.dict_set(dict, "__builtins__", python.builtins()) == 0 &&
        python.dict_set(dict, "folder", text) == 0 && python.dict_set(dict, "armed", armed) == 0)
        result = python.run(code, PYTHON_FILE_INPUT, dict, dict, NULL);
    bool theirs = !result && python.err_matches(*python.exception) == 0;
    if (!result && !theirs)
        python.err_clear();
    if (result)
        python.release(result);
    if (text)
        python.release(text);
    if (armed)
        python.release(armed);
    if (dict)
        python.release(dict);
    return theirs ? -1 : 0;
}

static int pending_call(void *unused)
{
    char folder[4096];
    uint32_t queued = BOOT_QUEUED;
    int saved = errno, result = 0;
    (void)unused;
    if (atomic_load(&state) == BOOT_QUEUED && helper_folder(folder, sizeof folder))
        result = run_boot(folder);
    atomic_compare_exchange_strong(&state, &queued, BOOT_IDLE);
    errno = saved;
    return result;
}

static bool give_up(const char *why)
{
    atomic_store(&state, BOOT_DONE);
    notes_why_not(why);
    return true;
}

static void begin_anew(void)
{
    uint32_t done = BOOT_DONE, now = atomic_load(&guest.generation);
    if (atomic_exchange(&recording, now) == now)
        return;
    atomic_store(&attempts, 0);
    atomic_compare_exchange_strong(&state, &done, BOOT_IDLE);
}

static bool try_to_boot(void)
{
    uint32_t idle = BOOT_IDLE;
    if (guest.armed)
        begin_anew();
    if (atomic_load(&state) == BOOT_DONE)
        return true;
    if (!guest.armed && atomic_fetch_add(&attempts, 1) >= ATTEMPTS)
        return give_up("phases: the Python helper could not be started");
    if (!atomic_compare_exchange_strong(&state, &idle, BOOT_QUEUED))
        return false; /* it is asked already: of an armed program that is no attempt */
    if (guest.armed && atomic_fetch_add(&attempts, 1) >= ARMED_ATTEMPTS)
        return give_up("phases: the Python helper could not be started");
    if (!python.release && !find_python())
        return give_up("phases: the program has no CPython interpreter that can be reached");
    if (!python.is_initialized() || python.add_pending_call(pending_call, NULL) != 0)
        atomic_store(&state, BOOT_IDLE);
    return false;
}

__attribute__((constructor)) static void ask_for_first_reports(void)
{
    torch_hook_at_first_reports(try_to_boot);
}

void pyboot_arrived(void)
{
    atomic_store(&state, BOOT_DONE);
}
