/*
 * older.h - recordings of earlier versions, seen as if they were of today's.
 *
 * A version may add columns at the end of a table, and tables: lines in older.c say which. In a
 * file that was made before, the table then has a temporary view in front of it, with its name, its
 * columns, and NULL for each that it lacks; a table that it lacks is an empty view. Statements and
 * views of this build find that first. A file of this version gets none. Salvage needs nothing of
 * this: a record that ends early has NULL from there on.
 */
#ifndef TIDEMARK_SCHEMA_OLDER_H
#define TIDEMARK_SCHEMA_OLDER_H

#define OLDER_FIRST 3 /* version that is still read */

struct db;

/* `version` is the file's. To be called before the views of this build are made. */
int older_open(struct db *db, unsigned version);

#endif
