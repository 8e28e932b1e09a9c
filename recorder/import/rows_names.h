/* rows_names.h - the names of a table's columns, from the text of its CREATE TABLE. */
#ifndef TIDEMARK_IMPORT_ROWS_NAMES_H
#define TIDEMARK_IMPORT_ROWS_NAMES_H

#include "rows.h"

/* Fills columns, key and at. False: it is no such text, or the table is of a kind that is not read.
 * The text is not trusted. */
bool rows_names_read(const char *sql, size_t bytes, const char *const *columns,
                     struct rows_table *table);

#endif
