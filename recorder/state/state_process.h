/* state_process.h - a process as a whole, for state.c. */
#ifndef TIDEMARK_RECORDER_STATE_PROCESS_H
#define TIDEMARK_RECORDER_STATE_PROCESS_H

#include <stdbool.h>

struct heap_device;
struct state_process;
struct state_peak;
struct meters;

void process_free(struct state_process *process); /* takes it out of the list */
/* Its open phases, curves and debt, and its row if a commit follows; frees one that has ended and
 * owes nothing any more. */
void process_flush(struct state_process *process, bool commit);
/* A source that is live, or a sentence on why one is not, joins those of the process. */
void process_source(struct state_process *process, const char *text, bool live);
/* True if the setting is a rank: of a process whose hello had none it is taken. */
bool process_rank(struct state_process *process, const char *key, const char *value);
/* For the heaps and the phases: the process is the context. */
bool state_device_comes(void *context, struct heap_device *device);
void state_phase_ends(void *context);
void state_take_meters(struct meters *out, const struct state_process *process, bool ended);
void state_take_peaks(struct state_peak *peak, const struct state_process *process);
void state_take_given(struct state_peak *given, const struct state_process *process);

#endif
