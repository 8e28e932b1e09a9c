/*
 * record_signals.h - what the supervisor does with signals: the program gets what was meant for it
 * exactly as often as if nobody were there, and a shell sees it stopped exactly when it is.
 *
 * The recorder stops itself by the signal that stopped the program, and by nothing else: what the
 * terminal sends when somebody types Ctrl-Z the program gets as well, and it may not want to stop.
 */
#ifndef TIDEMARK_RECORDER_RECORD_SIGNALS_H
#define TIDEMARK_RECORDER_RECORD_SIGNALS_H

struct watch;

void record_signals_read(struct watch *watch);
void record_signals_decide(struct watch *watch); /* those whose time has come */
/* Milliseconds until there is something to decide, at most `most`. */
int record_signals_wait_ms(const struct watch *watch, int most);
/* The program is stopped, or goes on: then this process is stopped, too. */
void record_signals_follow_stops(struct watch *watch);
/* The program has done what was wanted: it gets a SIGINT, as from a user, and SIGTERM if it is
 * still there after some seconds; its descendants then, too. To be called again and again. */
void record_signals_end_program(struct watch *watch);
void record_signals_root_ended(struct watch *watch);

#endif
