/*
 * log.h - what the command says to a person on stderr: one line each, "tidemark: ..." . The guest
 * in a recorded program never prints.
 */
#ifndef TIDEMARK_BASE_LOG_H
#define TIDEMARK_BASE_LOG_H

enum log_level { LOG_ERROR, LOG_WARNING, LOG_NOTE, LOG_DEBUG };

/* Levels above this are not shown; LOG_NOTE at first. */
void log_set_level(enum log_level level);
void log_say(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
