/*
 * repair_report.h - what tidemark repair found, and how it says so.
 */
#ifndef TIDEMARK_VIEWER_REPAIR_REPORT_H
#define TIDEMARK_VIEWER_REPAIR_REPORT_H

#include <stdbool.h>

#include "db.h"
#include "derive.h"
#include "report.h"
#include "salvage.h"

struct repair_findings {
    struct db *db;           /* the original, if SQLite opens it */
    int refused;             /* ERR_CORRUPT or ERR_NOTOURS; 0: SQLite finds nothing wrong */
    char first[640];         /* what it says then */
    struct salvage *looked;  /* the first reading, which wrote nothing */
    struct salvage *salvage; /* the last one */
    bool missing;            /* facts are not there, or cannot be made anew */
    bool no_log;             /* it is not finished, and its log is missing or empty */
    const char *disagrees;   /* a derived table that is not what the facts make it; NULL: none */
    bool written;            /* there is a new file, and */
    struct derive_result derived; /* how its derived tables were made */
};

/* Sets `missing` by what was read and made. */
void repair_look(struct repair_findings *findings);
/* Rows of table `lost`, so that reports of the new file say from where on blocks are missing. */
int repair_note_lost(struct db *db, const struct repair_findings *findings);
/* Prints all of it; returns the exit code. `name`: the new file, as it is or would be called. */
int repair_put(const struct repair_findings *findings, const struct command *command,
               const struct report_options *options, const char *path, const char *name,
               bool check);

#endif
