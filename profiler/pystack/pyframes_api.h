/* pyframes_api.h - the interpreter's own functions, for the little that is done with its GIL. */
#ifndef TIDEMARK_PROFILER_PYFRAMES_API_H
#define TIDEMARK_PROFILER_PYFRAMES_API_H

#include <stdbool.h>

#include "pyframes_walk.h"

/* Objects of Python are void here. */
struct pyframes_api {
    const char *(*version)(void);
    void *(*this_state)(void);
    int (*is_initialized)(void);
    void *code_type;
    void *cell_type; /* may be missing */
    void *runtime;   /* may be missing before 3.13 */
    /* May be missing: */
    int (*add_pending_call)(int (*function)(void *), void *argument);
    void *(*eval_frame)(void);
    void *(*frame_back)(void *frame);
    void *(*frame_code)(void *frame);
    int (*frame_line)(void *frame);
    void (*retain)(void *object);
    void (*release)(void *object);
    void *(*import)(const char *name);
    void *(*call_method)(void *object, const char *name, const char *format, ...);
    void *(*new_function)(void *definition, void *self, void *module);
    void (*forget_error)(void);
    void *none;
};

/* False: there is no interpreter here. */
bool pyframes_api_find(struct pyframes_api *api);

/* With the GIL. Compares frames, as read, with the interpreter's own; how many it confirmed, -1 if
 * one differs. `lines`: the lines must be the same, too. */
int pyframes_api_compare(const struct pyframes_api *api, const struct pyframes_frame *frames,
                         int count, bool lines);

/* With the GIL. `stop` will be called when the interpreter begins to exit. */
bool pyframes_api_at_exit(const struct pyframes_api *api, void (*stop)(void));

#endif
