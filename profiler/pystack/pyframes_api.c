/* pyframes_api.c - see pyframes_api.h. */
#include "pyframes_api.h"

#include <string.h>

#include "symbols.h"

enum { COMPARED_AT_MOST = 64, METHOD_NO_ARGUMENTS = 4 };

enum wanted {
    VERSION,
    THIS_STATE,
    IS_INITIALIZED,
    CODE_TYPE,
    CELL_TYPE,
    RUNTIME,
    ADD_PENDING_CALL,
    EVAL_FRAME,
    FRAME_BACK,
    FRAME_CODE,
    FRAME_LINE,
    RETAIN,
    RELEASE,
    IMPORT,
    CALL_METHOD,
    NEW_FUNCTION,
    FORGET_ERROR,
    NONE,
    SYMBOLS
};

static const char *const names[SYMBOLS] = {
    [VERSION] = "Py_GetVersion",
    [THIS_STATE] = "PyGILState_GetThisThreadState",
    [IS_INITIALIZED] = "Py_IsInitialized",
    [CODE_TYPE] = "PyCode_Type",
    [CELL_TYPE] = "PyCell_Type",
    [RUNTIME] = "_PyRuntime",
    [ADD_PENDING_CALL] = "Py_AddPendingCall",
    [EVAL_FRAME] = "PyEval_GetFrame",
    [FRAME_BACK] = "PyFrame_GetBack",
    [FRAME_CODE] = "PyFrame_GetCode",
    [FRAME_LINE] = "PyFrame_GetLineNumber",
    [RETAIN] = "Py_IncRef",
    [RELEASE] = "Py_DecRef",
    [IMPORT] = "PyImport_ImportModule",
    [CALL_METHOD] = "PyObject_CallMethod",
    [NEW_FUNCTION] = "PyCFunction_NewEx",
    [FORGET_ERROR] = "PyErr_Clear",
    [NONE] = "_Py_NoneStruct",
};

/* A function's address out of an object pointer, which C does not convert. */
#define TAKE(field, symbol) memcpy(&api->field, &found[symbol].address, sizeof api->field)

bool pyframes_api_find(struct pyframes_api *api)
{
    struct symbol found[SYMBOLS];
    for (int i = 0; i < SYMBOLS; i++)
        found[i] = (struct symbol){.name = names[i]};
    symbols_find(found, SYMBOLS);
    TAKE(version, VERSION);
    TAKE(this_state, THIS_STATE);
    TAKE(is_initialized, IS_INITIALIZED);
    TAKE(code_type, CODE_TYPE);
    TAKE(cell_type, CELL_TYPE);
    TAKE(runtime, RUNTIME);
    TAKE(add_pending_call, ADD_PENDING_CALL);
    TAKE(eval_frame, EVAL_FRAME);
    TAKE(frame_back, FRAME_BACK);
    TAKE(frame_code, FRAME_CODE);
    TAKE(frame_line, FRAME_LINE);
    TAKE(retain, RETAIN);
    TAKE(release, RELEASE);
    TAKE(import, IMPORT);
    TAKE(call_method, CALL_METHOD);
    TAKE(new_function, NEW_FUNCTION);
    TAKE(forget_error, FORGET_ERROR);
    TAKE(none, NONE);
    return api->version && api->this_state && api->is_initialized && api->code_type;
}

static bool same_frame(const struct pyframes_api *api, void *frame,
                       const struct pyframes_frame *ours, bool lines)
{
    void *code = api->frame_code(frame);
    int line = api->frame_line(frame);
    api->release(code);
    return code == ours->code && (!lines || (line > 0 ? (uint32_t)line : 0) == ours->line);
}

int pyframes_api_compare(const struct pyframes_api *api, const struct pyframes_frame *frames,
                         int count, bool lines)
{
    int same = 0;
    if (!api->eval_frame || !api->frame_back || !api->frame_code || !api->frame_line ||
        !api->retain || !api->release)
        return 0;
    void *frame = api->eval_frame();
    if (frame)
        api->retain(frame);
    for (int i = 0; i < count && same >= 0 && same < COMPARED_AT_MOST; i++) {
        if (frames[i].hidden)
            continue;
        if (!frame || !same_frame(api, frame, &frames[i], lines)) {
            same = -1;
            break;
        }
        same++;
        void *caller = api->frame_back(frame);
        api->release(frame);
        frame = caller;
    }
    if (!frame)
        return same;
    api->release(frame);
    return same == COMPARED_AT_MOST || count == (int)ARENA_MAX_DEPTH ? same : -1;
}

/* ---- atexit ---- */

/* The form of PyMethodDef. */
struct method {
    const char *name;
    void *(*function)(void *self, void *arguments);
    int flags;
    const char *doc;
};

static void (*stop_function)(void);
static void *none_object;
static void (*retain_none)(void *object);

static void *call_stop(void *self, void *arguments)
{
    (void)self;
    (void)arguments;
    stop_function();
    retain_none(none_object);
    return none_object;
}

bool pyframes_api_at_exit(const struct pyframes_api *api, void (*stop)(void))
{
    static struct method method = {"tidemark_stop", call_stop, METHOD_NO_ARGUMENTS, NULL};
    if (!api->import || !api->call_method || !api->new_function || !api->retain || !api->release ||
        !api->forget_error || !api->none)
        return false;
    stop_function = stop;
    none_object = api->none;
    retain_none = api->retain;
    void *result = NULL, *module = api->import("atexit");
    void *function = module ? api->new_function(&method, NULL, NULL) : NULL;
    if (function)
        result = api->call_method(module, "register", "O", function);
    if (!result)
        api->forget_error();
    if (result)
        api->release(result);
    if (function)
        api->release(function);
    if (module)
        api->release(module);
    return result != NULL;
}
