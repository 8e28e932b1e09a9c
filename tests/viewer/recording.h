/*
 * recording.h - small recordings for tests of the reports, made of tests/data/NAME.sql.
 */
#ifndef TIDEMARK_TESTS_RECORDING_H
#define TIDEMARK_TESTS_RECORDING_H

#include "db.h"

struct db *recording(const char *name);

#endif
